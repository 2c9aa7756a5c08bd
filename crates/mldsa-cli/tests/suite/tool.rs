//! Runs the built `mldsa`.

use core::time::Duration;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

/// After how long a process counts as hanging.
pub(crate) fn hang_limit() -> Duration {
    let seconds = std::env::var("MLDSA_TEST_HANG_SECONDS").ok();
    Duration::from_secs(seconds.map_or(600, |seconds| seconds.parse().unwrap()))
}

/// The arguments of a command: literals are split at spaces, other expressions are one argument
/// each, and `..list` inserts a list.
macro_rules! args {
    (@ [$($done:expr),*]) => { [$($done),*].concat() };
    (@ [$($done:expr),*] $words:literal $(, $($rest:tt)*)?) => {
        $crate::tool::args!(@ [
            $($done,)* $words.split(' ').collect::<Vec<&str>>()
        ] $($($rest)*)?)
    };
    (@ [$($done:expr),*] ..$args:expr $(, $($rest:tt)*)?) => {
        $crate::tool::args!(@ [
            $($done,)* $args.iter().map(|arg| AsRef::<str>::as_ref(arg)).collect::<Vec<&str>>()
        ] $($($rest)*)?)
    };
    (@ [$($done:expr),*] $arg:expr $(, $($rest:tt)*)?) => {
        $crate::tool::args!(@ [$($done,)* vec![AsRef::<str>::as_ref($arg)]] $($($rest)*)?)
    };
    ($($args:tt)*) => { $crate::tool::args!(@ [] $($args)*) };
}
pub(crate) use args;

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }
}

/// Runs the tool with `input` on standard input.
pub(crate) fn mldsa(args: &[&str], input: &[u8]) -> Run {
    run_in(Path::new("."), args, input)
}

fn run_in(directory: &Path, args: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // The tool may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap().into()
    })
}

/// An empty folder of its own for a test in this process, deleted at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf, #[expect(dead_code)] TempDir);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix(name).tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.unwrap();
        Self(folder.path().to_owned(), folder)
    }

    /// The path of a file, as an argument.
    pub(crate) fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.at(name)
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    #[cfg(unix)]
    pub(crate) fn mkfifo(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.0.join(name)).status();
        assert!(made.unwrap().success());
    }

    /// Runs the tool in the folder, with arguments separated by spaces.
    pub(crate) fn run(&self, args: &str, input: &[u8]) -> Run {
        let args: Vec<&str> = args.split_whitespace().collect();
        run_in(&self.0, &args, input)
    }

    /// [`run`](Self::run) that has to succeed.
    pub(crate) fn good_with(&self, args: &str, input: &[u8]) -> Run {
        let run = self.run(args, input);
        assert_eq!(run.code, 0, "{args}: {}", run.stderr);
        run
    }

    pub(crate) fn good(&self, args: &str) -> Run {
        self.good_with(args, b"")
    }

    /// [`run`](Self::run) that has to fail with a reason and without a result.
    pub(crate) fn unusable(&self, args: &str, input: &[u8], why: &str) {
        let run = self.run(args, input);
        assert_eq!(run.code, 2, "{args}: {} {}", run.stdout, run.stderr);
        assert!(run.stdout.is_empty());
        assert!(run.stderr.contains(why), "{args}: {}", run.stderr);
    }
}

/// Runs the tool, which has to succeed.
pub(crate) fn good(args: &[&str], input: &[u8]) -> Run {
    let run = mldsa(args, input);
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run
}
