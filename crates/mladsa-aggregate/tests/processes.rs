//! The default-mode committee as operating-system processes with durable guards,
//! killed at every write and started again.
//!
//! Not the usual harness: this program is also the member that it starts. A member
//! exchanges files with the others and dies by `abort` when its guard reaches the
//! step that it was told.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod hostile;
mod peers;

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

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
        let open = || {
            let log = Killing::new(FileLog::open(&log)?, kill_at);
            Guard::open(
                log,
                Killing::new(FileMark::new(&mark), kill_at),
                member.seed(),
            )
        };
        match step {
            "init" => {
                // Started again after a kill, the store may be complete already.
                let medium = Killing::new(FileLog::create(&log)?, kill_at);
                let marks = Killing::new(FileMark::new(&mark), kill_at);
                if Guard::create(medium, marks, member.seed()).is_err() {
                    open()?;
                }
                let registration = member.register(Hedge::Deterministic)?;
                self.publish(n, "registration", &registration.to_bytes());
            }
            "root" => {
                let tree = member.epoch_tree(&self.registry()?, &plan(&["decision"]))?;
                let root = member.announce(&tree, &mut open()?, Hedge::Deterministic)?;
                self.publish(n, "root", &root.to_bytes());
            }
            "agree" => {
                let pinned = self.pinned(n)?;
                let word = member.acknowledge(&pinned, &mut open()?, Hedge::Deterministic)?;
                self.publish(n, "agree", &word.to_bytes());
            }
            "open" => {
                let agreed = self.agreed(n)?;
                let tree = member.epoch_tree(agreed.registry(), agreed.plan())?;
                let opening = member.open(&agreed, &tree, &label(), &open()?)?;
                self.publish(n, "opening", &opening.to_bytes());
            }
            "commit" => {
                let (_, commitment) = member.commit(&self.round(n)?, &mut open()?)?;
                self.publish(n, "commitment", &commitment.to_bytes());
            }
            "respond" => {
                let round = self.round(n)?;
                let mut guard = open()?;
                let challenge_set = self.challenge(&round, challenge)?;
                let pending = member.resume(&round, &guard)?;
                let response = member.respond(pending, &challenge_set, &mut guard)?;
                self.publish(n, &format!("response-{challenge}"), &response.to_bytes());
            }
            "retire" => member.retire(&self.agreed(n)?, &label(), &mut open()?)?,
            "hold" => {
                let _guard = open()?;
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

    fn registry(&self) -> Result<Arc<Registry>, Error> {
        let entries: Result<Vec<_>, _> = (0..N)
            .map(|n| Registration::from_bytes(&self.read(n, "registration")))
            .collect();
        Registry::new(&RHO, entries?)
    }

    fn pinned(&self, n: usize) -> Result<PinnedRoots, Error> {
        let roots: Result<Vec<_>, _> = (0..N)
            .map(|n| RootAnnouncement::from_bytes(&self.read(n, "root")))
            .collect();
        let mut store = FilePins::new(&self.0.join(format!("{n}")));
        PinnedRoots::pin(&mut store, &self.registry()?, &plan(&["decision"]), &roots?)
    }

    fn agreed(&self, n: usize) -> Result<AgreedRoots, Error> {
        let words: Result<Vec<_>, _> = (0..N)
            .map(|n| Acknowledgement::from_bytes(&self.read(n, "agree")))
            .collect();
        AgreedRoots::new(&self.pinned(n)?, &words?)
    }

    fn round(&self, n: usize) -> Result<Arc<Round>, Error> {
        let agreed = self.agreed(n)?;
        let keys: Result<Vec<_>, _> = (0..N)
            .map(|n| agreed.authenticate(&agreed.receive(&self.read(n, "opening"))?))
            .collect();
        Round::new(&agreed, &decision(&base("decision"), b"payload"), 0, keys?)
    }

    /// The challenge of everybody's commitment, or of a set in which the last
    /// member changed its own.
    fn challenge(&self, round: &Arc<Round>, which: &str) -> Result<Arc<Challenge>, Error> {
        let agreed = self.agreed(0)?;
        let mut set = CommitmentSet::new(round);
        for n in 0..N {
            let mut message = agreed.receive(&self.read(n, "commitment"))?;
            if which == "split" && n == N - 1 {
                message = hostile::other_commitment(&member(n), &message, &agreed);
            }
            set.add(&message)?;
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
        let (agreed, round) = (self.agreed(0).unwrap(), self.round(0).unwrap());
        let challenge = self.challenge(&round, "whole").unwrap();
        let mut combiner = Combiner::new(&challenge);
        for n in 0..N {
            let response = agreed.receive(&self.read(n, "response-whole")).unwrap();
            combiner.add(&response).unwrap();
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

/// Real files; the process ends at step `kill_at` of all that a guard does: before an
/// operation, in the middle of a write, or after the operation and before the next.
struct Killing<M> {
    files: M,
    kill_at: usize,
}

static STEPS: AtomicUsize = AtomicUsize::new(0);

impl<M> Killing<M> {
    fn new(files: M, kill_at: usize) -> Self {
        Self { files, kill_at }
    }

    fn step(&mut self) {
        if STEPS.fetch_add(1, Relaxed) == self.kill_at {
            std::process::abort();
        }
    }
}

impl LogMedium for Killing<FileLog> {
    fn read(&mut self) -> Result<Vec<u8>, MediumError> {
        self.files.read()
    }

    fn size(&mut self) -> Result<u64, MediumError> {
        self.files.size()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.step();
        let (first, second) = bytes.split_at(bytes.len() / 3);
        self.files.append(first)?;
        self.step();
        self.files.append(second)?;
        self.step();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<(), MediumError> {
        self.step();
        self.files.truncate(len)
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.files.flush()?;
        self.step();
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.step();
        self.files.replace(bytes)?;
        self.step();
        Ok(())
    }
}

impl MarkMedium for Killing<FileMark> {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        self.files.read()
    }

    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.files.stage(bytes)?;
        self.step();
        Ok(())
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        self.files.publish()?;
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
                let name = match step {
                    "init" => "registration",
                    "commit" => "commitment",
                    "respond" => "response-whole",
                    other => other,
                };
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
    for step in ["init", "root", "agree", "open", "commit", "respond"] {
        place.run_all(step);
    }
    let expected = place.combine();
    // A second response: the same again, another one never.
    let released = place.read(0, "response-whole");
    assert_eq!(place.run(0, "respond", "whole", NEVER), Some(0));
    assert_eq!(place.read(0, "response-whole"), released);
    assert_eq!(place.run(0, "respond", "split", NEVER), Some(3));
    let committed = place.read(0, "commitment");
    assert_eq!(place.run(0, "commit", "whole", NEVER), Some(0));
    assert_eq!(place.read(0, "commitment"), committed);

    let init = kill_everywhere("init", &[], |place, _| {
        for step in ["init", "root", "agree", "open", "commit", "respond"] {
            place.run_all(step);
        }
        assert_eq!(place.combine(), expected);
    });
    let root = kill_everywhere("root", &["init"], |place, _| {
        for step in ["root", "agree", "open", "commit", "respond"] {
            place.run_all(step);
        }
        assert_eq!(place.combine(), expected);
    });
    let agree = kill_everywhere("agree", &["init", "root"], |place, _| {
        for step in ["agree", "open", "commit", "respond"] {
            place.run_all(step);
        }
        assert_eq!(place.combine(), expected);
    });
    let commit = kill_everywhere("commit", &["init", "root", "agree", "open"], |place, _| {
        assert!(!place.file(0, "commitment").exists());
        place.run_all("commit");
        place.run_all("respond");
        assert_eq!(place.combine(), expected);
    });
    let asked_again = kill_everywhere(
        "respond",
        &["init", "root", "agree", "open", "commit"],
        |place, _| {
            assert!(!place.file(0, "response-whole").exists());
            place.run_all("respond");
            assert_eq!(place.combine(), expected);
            assert_eq!(place.run(0, "respond", "split", NEVER), Some(3));
        },
    );
    let asked_otherwise = kill_everywhere(
        "respond",
        &["init", "root", "agree", "open", "commit"],
        |place, at| {
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
        },
    );
    let retire = kill_everywhere(
        "retire",
        &["init", "root", "agree", "open", "commit"],
        |place, at| {
            // Retired or not, but not in between; and retired for ever in the end.
            let expected = if at < 2 { Some(0) } else { Some(3) };
            assert_eq!(place.run(0, "respond", "whole", NEVER), expected);
            assert_eq!(place.run(0, "retire", "whole", NEVER), Some(0));
            for step in ["respond", "commit"] {
                assert_eq!(place.run(0, step, "whole", NEVER), Some(3));
            }
        },
    );
    println!(
        "kills: init {init}, root {root}, agree {agree}, commit {commit}, respond {asked_again} + {asked_otherwise}, \
         retire {retire}"
    );
    assert!(init >= 6 && commit >= 6 && asked_again >= 6 && asked_otherwise == asked_again);
    assert!(root >= 6 && agree >= 6 && retire >= 6);
}

fn one_store_serves_one_process() {
    let place = Place::new("two");
    for step in ["init", "root", "agree", "open"] {
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
