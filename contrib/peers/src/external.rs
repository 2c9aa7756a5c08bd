//! Implementations that are no dependencies: programs made by `contrib/peers/peers/build.sh`, one for
//! each parameter set.
//!
//! A program reads the inputs from its standard input. It compares its keys, signatures and
//! verdicts with them, and writes a line with the operations it offers. Then it reads lines
//! `OPERATION FIRST END`. It does one untimed call on case END, times the cases FIRST..END and
//! writes a line: its processor time in nanoseconds, then the ticks of each call. It runs on the
//! core that this thread is pinned to.
//!
//! Of several copies of a program the fastest one is used. Copies differ by up to a half, and each
//! keeps its speed in every process, because the page cache keeps the file in the same memory.

use core::{cell::RefCell, ops::Range, time::Duration};
use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    rc::Rc,
    sync::Mutex,
};

use mldsa_core::Backend;

use crate::{Contender, Inputs, Op, Samples};

/// Programs, with the name of the implementation and its backend.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("mldsa-native-portable", "mldsa-native", "portable"),
    ("mldsa-native", "mldsa-native", BASELINE),
    ("wolfssl-avx512", "wolfssl", "avx512"),
    ("wolfssl-avx512-cache", "wolfssl", "avx512"),
    ("wolfssl-avx2", "wolfssl", "avx2"),
    ("wolfssl-avx2-cache", "wolfssl", "avx2"),
];

/// Backend of mldsa-native.
const BASELINE: &str = if cfg!(target_arch = "aarch64") {
    "neon"
} else {
    "avx2"
};

/// A running program with its inputs loaded.
pub(crate) struct Program {
    name: String,
    child: Child,
    /// Closed before the end of the program is awaited.
    commands: Option<ChildStdin>,
    times: BufReader<ChildStdout>,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.child.wait();
    }
}

/// Folder of the programs: `MLDSA_PEERS`, or `target/peers` of the checkout in which cargo runs this
/// program. Nothing is executed from a path that was compiled in.
fn folder() -> PathBuf {
    let checkout = || env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    env::var_os("MLDSA_PEERS").map_or_else(
        || Path::new(&checkout()).join("../../target/peers"),
        PathBuf::from,
    )
}

/// Programs that are not there or do not run on this CPU, for a note that names them.
#[must_use]
pub fn missing_peers() -> Vec<&'static str> {
    let missing = PROGRAMS
        .iter()
        .filter(|(name, _, backend)| !is_usable(name, backend));
    missing.map(|program| program.0).collect()
}

fn is_usable(name: &str, backend: &str) -> bool {
    let mut backends = Backend::available();
    backends.any(|available| available.name() == backend)
        && fs::exists(folder().join(format!("{name}-65"))).unwrap_or(false)
}

/// Copies of a program of which the fastest is used.
const COPIES: usize = 6;

/// The fastest copy of a program, by the sum of its shortest times for all operations. Copies stay
/// until all were timed, so that they are in different memory.
fn fastest_copy(name: &str, inputs: &Inputs) -> io::Result<PathBuf> {
    static KNOWN: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("no panic before");
    if let Some(path) = known.get(name) {
        return Ok(path.clone());
    }
    let mut copies = Vec::new();
    for n in 0..COPIES {
        let copy = folder().join(format!("{name}.{n}"));
        let _ = fs::remove_file(&copy);
        fs::copy(folder().join(name), &copy)?;
        let (mut program, offered) = Program::start(&copy, inputs)?;
        let mut time = 0;
        for op in offered {
            let mut samples = Samples::default();
            program.turn(op, 0..64, &mut samples);
            time += samples.min();
        }
        copies.push((time, copy));
    }
    copies.sort();
    for (_, slower) in copies.drain(1..) {
        fs::remove_file(slower)?;
    }
    let (_, fastest) = copies.swap_remove(0);
    known.insert(name.to_owned(), fastest.clone());
    Ok(fastest)
}

/// All operations of all programs that are there.
pub(crate) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    let programs = PROGRAMS
        .into_iter()
        .filter(|(name, _, backend)| is_usable(name, backend));
    programs
        .flat_map(|(name, peer, backend)| {
            let name = format!("{name}-{}", &inputs.set.name()[7..]);
            let started =
                fastest_copy(&name, inputs).and_then(|path| Program::start(&path, inputs));
            let (program, offered) = started.expect("a peer program");
            let program = Rc::new(RefCell::new(program));
            let contender = move |op| Contender::external(op, peer, backend, Rc::clone(&program));
            offered.into_iter().map(contender)
        })
        .collect()
}

impl Program {
    /// Starts a program. Returns the operations it offers too.
    fn start(path: &Path, inputs: &Inputs) -> io::Result<(Self, Vec<Op>)> {
        let mut child = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (commands, times) = (child.stdin.take(), child.stdout.take());
        let mut program = Self {
            name: path.display().to_string(),
            child,
            commands,
            times: BufReader::new(times.ok_or(io::ErrorKind::BrokenPipe)?),
        };
        program.write(&inputs.encoded())?;
        let offered = program.read()?;
        let offered = |op: &Op| offered.split_whitespace().any(|name| name == op.name());
        Ok((program, Op::SINGLE.into_iter().filter(offered).collect()))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let commands = self.commands.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        commands.write_all(bytes)?;
        commands.flush()
    }

    fn read(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.times.read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::Error::other(format!("{} has ended", self.name)));
        }
        Ok(line)
    }

    /// Times an operation on `cases`, after one untimed call on another case.
    pub(crate) fn turn(&mut self, op: Op, cases: Range<usize>, samples: &mut Samples) {
        let command = format!("{} {} {}\n", op.name(), cases.start, cases.end);
        let line = self.write(command.as_bytes()).and_then(|()| self.read());
        let line = line.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>());
        let mut next = || numbers.next().map(|number| number.expect("a number"));
        let processor = Duration::from_nanos(next().expect("a processor time"));
        let times: Vec<_> = core::iter::from_fn(next).collect();
        assert_eq!(times.len(), cases.len(), "{}", self.name);
        samples.add(times, 1, processor);
    }
}
