//! The default-mode committee as operating-system processes with durable guards,
//! killed at every write and started again.
//!
//! Not the usual harness: this program is also the member that it starts. A member
//! exchanges files with the others and dies by `abort` when its guard reaches the
//! step that it was told.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod peers;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use committee::*;
use mladsa_aggregate::*;
use mldsa_core::Hedge;

const N: usize = 3;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some("member") {
        let [directory, number, step, challenge, kill_at] = &args[2..] else {
            return ExitCode::from(9);
        };
        let kill_at = kill_at.parse().unwrap();
        let place = Place(PathBuf::from(directory));
        return match place.step(number.parse().unwrap(), step, challenge, kill_at) {
            Ok(()) => ExitCode::SUCCESS,
            Err(Error::OneTimeViolation) => ExitCode::from(3),
            Err(Error::GuardInUse) => ExitCode::from(4),
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        };
    }
    committee_survives_kills_at_every_write();
    one_store_serves_one_process();
    println!("processes: ok");
    ExitCode::SUCCESS
}

const NEVER: usize = usize::MAX;

/// A directory for what is exchanged, with one below it for each member.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mladsa-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        for n in 0..N {
            fs::create_dir(path.join(format!("{n}"))).unwrap();
        }
        Self(path)
    }

    fn own(&self, n: usize, name: &str) -> PathBuf {
        self.0.join(format!("{n}")).join(name)
    }

    fn file(&self, n: usize, name: &str) -> PathBuf {
        self.0.join(format!("{name}.{n}"))
    }

    /// What a member does in one process.
    fn step(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Result<(), Error> {
        let member = member(n);
        let (log, mark) = (self.own(n, "log"), self.own(n, "mark"));
        let killing = |files| Killing {
            files,
            at: 0,
            kill_at,
        };
        match step {
            "init" => {
                // Started again after a kill, the store may be complete already.
                let medium = killing(FileMedium::create(&log, &mark)?);
                if FileGuard::create_on(medium, member.seed()).is_err() {
                    FileGuard::open(&log, &mark, member.seed())?;
                }
                let registration = member.register(Hedge::Deterministic)?;
                self.publish(n, "registration", &registration.to_bytes());
                let plan = plan(&["decision"]);
                let tree = member.epoch_tree(&Matrix::expand(&RHO), &plan)?;
                let root = member.announce(&tree, Hedge::Deterministic)?;
                self.publish(n, "root", &root.to_bytes());
            }
            "open" => {
                let pinned = self.pinned(n)?;
                let plan = plan(&["decision"]);
                let tree = member.epoch_tree(pinned.registry().matrix(), &plan)?;
                let opening = member.open(&pinned, &tree, &label())?;
                self.publish(n, "opening", &opening.to_bytes());
            }
            "commit" => {
                let round = self.round(n)?;
                let medium = killing(FileMedium::open(&log, &mark)?);
                let mut guard = FileGuard::open_on(medium, member.seed())?;
                let (_, commitment) = member.commit(&round, &mut guard)?;
                self.publish(n, "commitment", commitment.as_bytes());
            }
            "respond" => {
                let round = self.round(n)?;
                let medium = killing(FileMedium::open(&log, &mark)?);
                let mut guard = FileGuard::open_on(medium, member.seed())?;
                let challenge_set = self.challenge(&round, challenge)?;
                let pending = member.resume(&round, &mut guard)?;
                let response = pending.respond(&challenge_set, &mut guard)?;
                self.publish(n, &format!("response-{challenge}"), response.as_bytes());
            }
            "retire" => {
                let medium = killing(FileMedium::open(&log, &mark)?);
                let mut guard = FileGuard::open_on(medium, member.seed())?;
                member.retire(&label(), &mut guard)?;
            }
            "hold" => {
                let _guard = FileGuard::open(&log, &mark, member.seed())?;
                self.publish(n, "held", b"");
                // Until the parent closes the pipe.
                let _ = io::read_to_string(io::stdin());
            }
            other => panic!("unknown step {other}"),
        }
        Ok(())
    }

    /// Writes a file that others read, whole or not at all.
    fn publish(&self, n: usize, name: &str, bytes: &[u8]) {
        let next = self.own(n, "next");
        fs::write(&next, bytes).unwrap();
        fs::rename(next, self.file(n, name)).unwrap();
    }

    fn read(&self, n: usize, name: &str) -> Vec<u8> {
        fs::read(self.file(n, name)).unwrap()
    }

    fn pinned(&self, n: usize) -> Result<PinnedRoots, Error> {
        let entries: Result<Vec<_>, _> = (0..N)
            .map(|n| Registration::from_bytes(&self.read(n, "registration")))
            .collect();
        let registry = Registry::new(&RHO, entries?)?;
        let roots: Result<Vec<_>, _> = (0..N)
            .map(|n| RootAnnouncement::from_bytes(&self.read(n, "root")))
            .collect();
        let mut store = FileRootStore::new(&self.0.join(format!("{n}")));
        PinnedRoots::pin(&mut store, &registry, &plan(&["decision"]), &roots?)
    }

    fn public_keys(&self, pinned: &PinnedRoots) -> Result<Vec<AuthenticatedKey>, Error> {
        (0..N)
            .map(|n| {
                let opening = Opening::from_bytes(&self.read(n, "opening"))?;
                pinned.authenticate(&id(n), &label(), &opening)
            })
            .collect()
    }

    fn round(&self, n: usize) -> Result<Round, Error> {
        let pinned = self.pinned(n)?;
        let decision = Decision {
            ctx: b"PROC",
            label: &label(),
            kind: Kind::Decision,
            payload: b"payload",
        };
        Round::new(&pinned, &decision, self.public_keys(&pinned)?)
    }

    /// The challenge of everybody's commitment, or of a set in which the last
    /// member changed its own.
    fn challenge<'r>(&self, round: &'r Round, which: &str) -> Result<Challenge<'r>, Error> {
        let mut set = CommitmentSet::new(round);
        for n in 0..N {
            let mut bytes = self.read(n, "commitment");
            if which == "split" && n == N - 1 {
                bytes[0] ^= 1;
            }
            set.add(&id(n), Commitment::from_bytes(round, &bytes)?)?;
        }
        set.challenge()
    }

    fn spawn(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .arg("member")
            .arg(&self.0)
            .args([&n.to_string(), step, challenge, &kill_at.to_string()])
            .stdin(Stdio::piped())
            .stderr(if kill_at == NEVER {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .spawn()
            .unwrap()
    }

    /// The exit code, or `None` for a process that was killed.
    fn run(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Option<i32> {
        self.spawn(n, step, challenge, kill_at)
            .wait()
            .unwrap()
            .code()
    }

    /// All members at once, each in its process.
    fn run_all(&self, step: &str) {
        let children: Vec<Child> = (0..N)
            .map(|n| self.spawn(n, step, "whole", NEVER))
            .collect();
        for mut child in children {
            assert_eq!(child.wait().unwrap().code(), Some(0), "{step}");
        }
    }

    fn combine(&self) -> Vec<u8> {
        let round = self.round(0).unwrap();
        let challenge = self.challenge(&round, "whole").unwrap();
        let mut combiner = Combiner::new(&challenge);
        for n in 0..N {
            let bytes = self.read(n, "response-whole");
            let response = Response::from_bytes(&round, &bytes).unwrap();
            combiner.add(&id(n), response).unwrap();
        }
        let aggregate = combiner.finish().unwrap();
        let pk = round.key().as_bytes();
        let signature = aggregate.signature().as_ref();
        peers::check(pk, round.message(), round.ctx(), signature);
        aggregate.to_bytes()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Members leave the exchange to the process that started them.
        if std::env::args().len() == 1 || std::env::args().nth(1).as_deref() != Some("member") {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn label() -> ContentLabel {
    base("decision").attempt(0).unwrap()
}

/// Real files; the process ends at step `kill_at`: before an operation, in the
/// middle of a write, or after the operation and before the next.
struct Killing {
    files: FileMedium,
    at: usize,
    kill_at: usize,
}

impl Killing {
    fn step(&mut self) {
        if self.at == self.kill_at {
            std::process::abort();
        }
        self.at += 1;
    }
}

impl GuardMedium for Killing {
    fn read_log(&mut self) -> io::Result<Vec<u8>> {
        self.files.read_log()
    }

    fn append_log(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.step();
        let (first, second) = bytes.split_at(bytes.len() / 3);
        self.files.append_log(first)?;
        self.step();
        self.files.append_log(second)?;
        self.step();
        Ok(())
    }

    fn truncate_log(&mut self, len: u64) -> io::Result<()> {
        self.step();
        self.files.truncate_log(len)
    }

    fn flush_log(&mut self) -> io::Result<()> {
        self.files.flush_log()?;
        self.step();
        Ok(())
    }

    fn read_mark(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.files.read_mark()
    }

    fn write_mark(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.files.write_mark(bytes)?;
        self.step();
        Ok(())
    }

    fn publish_mark(&mut self) -> io::Result<()> {
        self.files.publish_mark()?;
        self.step();
        Ok(())
    }
}

/// Kills member 0 at every step of `step`, each time in a new committee prepared
/// by `before`; `after` then looks at what a restart finds. Returns the number of
/// kills.
fn kill_everywhere(step: &str, before: &[&str], after: impl Fn(&Place, usize)) -> usize {
    for kill_at in 0.. {
        let place = Place::new(&format!("{step}-{kill_at}"));
        for step in before {
            place.run_all(step);
        }
        match place.run(0, step, "whole", kill_at) {
            // Killed: no exit code, and nothing was published.
            None => {
                let name = if step == "init" { "registration" } else { step };
                assert!(!place.file(0, name).exists());
                after(&place, kill_at);
            }
            // There are no more steps.
            Some(0) => return kill_at,
            Some(code) => panic!("{step} killed at {kill_at}: exit code {code}"),
        }
    }
    unreachable!()
}

fn committee_survives_kills_at_every_write() {
    // What comes out when nobody is killed.
    let place = Place::new("whole");
    for step in ["init", "open", "commit", "respond"] {
        place.run_all(step);
    }
    let expected = place.combine();
    // A second response: the same again, another one never.
    let released = place.read(0, "response-whole");
    assert_eq!(place.run(0, "respond", "whole", NEVER), Some(0));
    assert_eq!(place.read(0, "response-whole"), released);
    assert_eq!(place.run(0, "respond", "split", NEVER), Some(3));
    assert_eq!(place.run(0, "commit", "whole", NEVER), Some(3));

    let init = kill_everywhere("init", &[], |place, _| {
        for step in ["init", "open", "commit", "respond"] {
            place.run_all(step);
        }
        assert_eq!(place.combine(), expected);
    });
    let commit = kill_everywhere("commit", &["init", "open"], |place, _| {
        assert!(!place.file(0, "commitment").exists());
        place.run_all("commit");
        place.run_all("respond");
        assert_eq!(place.combine(), expected);
    });
    let asked_again = kill_everywhere("respond", &["init", "open", "commit"], |place, _| {
        assert!(!place.file(0, "response-whole").exists());
        place.run_all("respond");
        assert_eq!(place.combine(), expected);
        assert_eq!(place.run(0, "respond", "split", NEVER), Some(3));
    });
    let asked_otherwise = kill_everywhere("respond", &["init", "open", "commit"], |place, at| {
        // After the restart another challenge comes first: answered if and only if
        // the first one had not reached the log, and never both.
        let split = place.run(0, "respond", "split", NEVER);
        let whole = place.run(0, "respond", "whole", NEVER);
        let expected = if at < 2 {
            (Some(0), Some(3))
        } else {
            (Some(3), Some(0))
        };
        assert_eq!((split, whole), expected, "killed at {at}");
        let files = ["response-split", "response-whole"];
        let released = files.iter().filter(|name| place.file(0, name).exists());
        assert_eq!(released.count(), 1);
    });
    let retire = kill_everywhere("retire", &["init", "open", "commit"], |place, at| {
        // Retired or not, but not in between; and retired for ever in the end.
        let expected = if at < 2 { Some(0) } else { Some(3) };
        assert_eq!(place.run(0, "respond", "whole", NEVER), expected);
        assert_eq!(place.run(0, "retire", "whole", NEVER), Some(0));
        for step in ["respond", "commit"] {
            assert_eq!(place.run(0, step, "whole", NEVER), Some(3));
        }
    });
    println!(
        "kills: init {init}, commit {commit}, respond {asked_again} + {asked_otherwise}, \
         retire {retire}"
    );
    assert!(init >= 6 && commit >= 6 && asked_again >= 6 && asked_otherwise == asked_again);
    assert!(retire >= 6);
}

fn one_store_serves_one_process() {
    let place = Place::new("two");
    for step in ["init", "open"] {
        place.run_all(step);
    }
    let mut holder = place.spawn(0, "hold", "whole", NEVER);
    while !Path::exists(&place.file(0, "held")) {
        std::thread::sleep(core::time::Duration::from_millis(5));
    }
    assert_eq!(place.run(0, "commit", "whole", NEVER), Some(4));
    assert!(!place.file(0, "commitment").exists());
    drop(holder.stdin.take());
    assert_eq!(holder.wait().unwrap().code(), Some(0));
    assert_eq!(place.run(0, "commit", "whole", NEVER), Some(0));
}
