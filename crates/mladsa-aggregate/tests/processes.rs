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
mod peer;

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::fs;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use committee::*;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

/// Who signs in an epoch: in the second another one has taken the place of the last.
fn ids(epoch: u64) -> [usize; 3] {
    if epoch == EPOCH { [0, 1, 2] } else { [0, 1, 3] }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some("member") {
        let [directory, epoch, number, step, challenge, kill_at] = &args[2..] else {
            return ExitCode::from(9);
        };
        let kill_at = kill_at.parse().unwrap();
        let place = Place {
            path: PathBuf::from(directory),
            epoch: epoch.parse().unwrap(),
            own: false,
        };
        return match place.step(number.parse().unwrap(), step, challenge, kill_at) {
            Ok(()) => ExitCode::SUCCESS,
            Err(Error::OneTimeViolation) => ExitCode::from(3),
            Err(Error::GuardInUse) => ExitCode::from(4),
            Err(Error::RootsNotAgreed) => ExitCode::from(5),
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

/// A directory for what is exchanged, with one below it for each member, and the
/// epoch that it is about.
struct Place {
    path: PathBuf,
    epoch: u64,
    // whether it goes with this value
    own: bool,
}

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mladsa-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        for n in 0..4 {
            fs::create_dir_all(path.join(format!("{n}"))).unwrap();
        }
        Self {
            path,
            epoch: EPOCH,
            own: true,
        }
    }

    /// A copy of everything that the members have and have sent.
    fn copy(&self, name: &str) -> Self {
        let mut copy = Self::new(name);
        copy.epoch = self.epoch;
        for below in ["", "0", "1", "2", "3"] {
            for entry in fs::read_dir(self.path.join(below)).unwrap() {
                let from = entry.unwrap().path();
                if from.is_file() {
                    let name = from.file_name().unwrap();
                    fs::copy(&from, copy.path.join(below).join(name)).unwrap();
                }
            }
        }
        copy
    }

    /// A copy in which everybody has taken these steps too.
    fn after(&self, name: &str, steps: &[&str]) -> Self {
        let place = self.copy(name);
        for step in steps {
            place.run_all(step);
        }
        place
    }

    fn own(&self, n: usize, name: &str) -> PathBuf {
        self.path.join(format!("{n}")).join(name)
    }

    fn file(&self, n: usize, name: &str) -> PathBuf {
        match name {
            "registration" => self.path.join(format!("{name}.{n}")),
            _ => self.path.join(format!("{}-{name}.{n}", self.epoch)),
        }
    }

    fn plan(&self) -> EpochPlan {
        EpochPlan::new(self.epoch, vec![base("decision")]).unwrap()
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
                let registration = member.register(Randomness::Deterministic)?;
                self.publish(n, "registration", &registration.to_bytes());
            }
            "root" => {
                let tree = member.epoch_tree(&self.registry()?, &self.plan())?;
                let root = member.announce(&tree, &mut open()?, Randomness::Deterministic)?;
                self.publish(n, "root", &root.to_bytes());
            }
            "agree" => {
                let pinned = self.pinned(n)?;
                let word = member.acknowledge(&pinned, &mut open()?, Randomness::Deterministic)?;
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
            "close" => open()?.close_epoch(self.epoch - 1)?,
            "hold" => {
                let _guard = open()?;
                println!("holding");
                // Wait until the parent closes the pipe.
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
        let entries: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| Registration::from_bytes(&self.read(n, "registration")))
            .collect();
        Registry::new(&RHO, entries?)
    }

    fn pinned(&self, n: usize) -> Result<PinnedRoots, Error> {
        let roots: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| RootAnnouncement::from_bytes(&self.read(n, "root")))
            .collect();
        let mut store = FilePins::new(&self.path.join(format!("{n}")));
        PinnedRoots::pin(&mut store, &self.registry()?, &self.plan(), &roots?)
    }

    fn agreed(&self, n: usize) -> Result<AgreedRoots, Error> {
        let words: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| Acknowledgement::from_bytes(&self.read(n, "agree")))
            .collect();
        AgreedRoots::new(&self.pinned(n)?, &words?)
    }

    fn round(&self, n: usize) -> Result<Arc<Round>, Error> {
        let agreed = self.agreed(n)?;
        let keys: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| agreed.authenticate(&agreed.receive(&self.read(n, "opening"))?))
            .collect();
        Round::new(&agreed, &decision(&base("decision"), b"payload"), 0, keys?)
    }

    /// The challenge of everybody's commitment, or of a set in which the last
    /// member changed its own.
    fn challenge(&self, round: &Arc<Round>, which: &str) -> Result<Arc<Challenge>, Error> {
        let agreed = self.agreed(0)?;
        let mut set = CommitmentSet::new(round);
        for n in ids(self.epoch) {
            let mut message = agreed.receive(&self.read(n, "commitment"))?;
            if which == "split" && n == ids(self.epoch)[2] {
                message = hostile::other_commitment(&member(n), &message, &agreed);
            }
            set.add(&message)?;
        }
        set.challenge()
    }

    fn spawn(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .arg("member")
            .arg(&self.path)
            .args([&self.epoch.to_string(), &n.to_string()])
            .args([step, challenge, &kill_at.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
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
        let children: Vec<Child> = ids(self.epoch)
            .into_iter()
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
        for n in ids(self.epoch) {
            let response = agreed.receive(&self.read(n, "response-whole")).unwrap();
            combiner.add(&response).unwrap();
        }
        let aggregate = combiner.finish().unwrap();
        aggregate.to_bytes()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Members leave the exchange to the process that started them.
        if self.own {
            let _ = fs::remove_dir_all(&self.path);
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

/// Kills member 0 at every step of `step`, each time in a copy of `before`; `after` then
/// looks at what a restart finds. Returns the number of kills.
fn kill_everywhere(step: &str, before: &Place, after: impl Fn(&Place, usize)) -> usize {
    for kill_at in 0.. {
        let place = before.copy("killed");
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
            Some(0) => {
                assert!(kill_at >= 6, "{step}: {kill_at}");
                return kill_at;
            }
            Some(code) => panic!("{step} killed at {kill_at}: exit code {code}"),
        }
    }
    unreachable!()
}

const STEPS_OF_AN_EPOCH: [&str; 5] = ["root", "agree", "open", "commit", "respond"];

/// Kills in every step of an epoch, after each of which the same aggregate comes out.
/// Returns it with its place.
fn epoch_survives_kills(begun: &Place) -> Place {
    let name = |step: &str| format!("{}-{step}", begun.epoch);
    let mut stages = vec![begun.copy(&name("begun"))];
    for step in STEPS_OF_AN_EPOCH {
        stages.push(stages.last().unwrap().after(&name(step), &[step]));
    }
    let expected = stages[5].combine();
    let (aggregate, round) = (
        Aggregate::from_bytes(&expected).unwrap(),
        stages[5].round(0).unwrap(),
    );
    let pk = round.key().as_bytes();
    let signature = aggregate.signature().as_ref();
    peer::check(pk, round.message(), round.ctx(), signature);
    let mut kills = String::new();
    for (at, step) in STEPS_OF_AN_EPOCH.into_iter().enumerate() {
        // An opening writes nothing.
        if step == "open" {
            continue;
        }
        let killed = kill_everywhere(step, &stages[at], |place, _| {
            for step in &STEPS_OF_AN_EPOCH[at..] {
                place.run_all(step);
            }
            assert_eq!(place.combine(), expected);
            assert_eq!(place.run(0, "respond", "split", NEVER), Some(3));
        });
        kills += &format!(" {step} {killed}");
    }
    let asked_otherwise = kill_everywhere("respond", &stages[4], |place, at| {
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
    let retire = kill_everywhere("retire", &stages[4], |place, at| {
        // Retired or not, but not in between; and retired for ever in the end.
        let expected = if at < 2 { Some(0) } else { Some(3) };
        assert_eq!(place.run(0, "respond", "whole", NEVER), expected);
        assert_eq!(place.run(0, "retire", "whole", NEVER), Some(0));
        for step in ["respond", "commit"] {
            assert_eq!(place.run(0, step, "whole", NEVER), Some(3));
        }
    });
    println!(
        "kills in epoch {}:{kills} respond otherwise {asked_otherwise} retire {retire}",
        begun.epoch
    );
    stages.pop().unwrap()
}

fn committee_survives_kills_at_every_write() {
    let begin = Place::new("fresh");
    let everybody = begin.after("registered", &["init"]);
    let first = epoch_survives_kills(&everybody);
    let killed = kill_everywhere("init", &begin, |place, _| {
        place.run_all("init");
        for step in STEPS_OF_AN_EPOCH {
            place.run_all(step);
        }
        assert_eq!(place.combine(), first.combine());
    });
    println!("kills: init {killed}");
    // A second response: the same again, another one never.
    let released = first.read(0, "response-whole");
    assert_eq!(first.run(0, "respond", "whole", NEVER), Some(0));
    assert_eq!(first.read(0, "response-whole"), released);
    assert_eq!(first.run(0, "respond", "split", NEVER), Some(3));
    let committed = first.read(0, "commitment");
    assert_eq!(first.run(0, "commit", "whole", NEVER), Some(0));
    assert_eq!(first.read(0, "commitment"), committed);

    // The second epoch, with a member that comes and one that has gone.
    let mut second = first.copy("second");
    second.epoch += 1;
    assert_eq!(second.run(3, "init", "whole", NEVER), Some(0));
    let second = epoch_survives_kills(&second);
    // The end of the first, while the second is under way.
    let killed = kill_everywhere("close", &second, |place, at| {
        let mut old = place.copy("old");
        old.epoch -= 1;
        let split = old.run(0, "respond", "split", NEVER);
        assert_eq!(split, if at < 2 { Some(3) } else { Some(5) });
        assert_eq!(place.run(0, "close", "whole", NEVER), Some(0));
        place.run_all("respond");
        assert_eq!(place.combine(), second.combine());
        assert_eq!(place.run(0, "respond", "split", NEVER), Some(3));
        let mut old = place.copy("old");
        old.epoch -= 1;
        for challenge in ["whole", "split"] {
            assert_eq!(old.run(0, "respond", challenge, NEVER), Some(5));
        }
    });
    println!("kills: close {killed}");
}

fn one_store_serves_one_process() {
    let place = Place::new("two");
    for step in ["init", "root", "agree", "open"] {
        place.run_all(step);
    }
    let mut holder = place.spawn(0, "hold", "whole", NEVER);
    // The child writes a line once it holds the journal. If it dies instead, the pipe
    // closes, and the read ends with an empty line.
    let mut line = String::new();
    io::BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "holding\n", "the child exited without the journal");
    assert_eq!(place.run(0, "commit", "whole", NEVER), Some(4));
    assert!(!place.file(0, "commitment").exists());
    drop(holder.stdin.take());
    assert_eq!(holder.wait().unwrap().code(), Some(0));
    assert_eq!(place.run(0, "commit", "whole", NEVER), Some(0));
}
