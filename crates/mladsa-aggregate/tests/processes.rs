//! A committee of processes with durable journals, killed at every write and restarted.
//!
//! Without the standard harness, because this program is also the member process that it starts.
//! Members exchange files; a member aborts when its journal reaches a given step.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod exchange;
mod hostile;
mod killing;
mod member_process;
mod peer;

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use member_process::{Place, ids, task};
use mladsa_aggregate::errors::{JournalError, RoundError, StorageError};
use mladsa_aggregate::*;

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
            Err(error) if error == KEY_REUSED => ExitCode::from(3),
            Err(Error::Journal(JournalError::Storage(StorageError::InUse))) => ExitCode::from(4),
            Err(Error::Round(RoundError::Journal(JournalError::EpochConflict))) => {
                ExitCode::from(5)
            }
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
const KEY_REUSED: Error = Error::Round(RoundError::Journal(JournalError::KeyReused));

impl Place {
    /// A copy in which all members have taken these steps too.
    fn after(&self, name: &str, steps: &[&str]) -> Self {
        let place = self.copy(name);
        for step in steps {
            place.run_all(step);
        }
        place
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

    /// The exit code; `None` for a killed process.
    fn run(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Option<i32> {
        self.spawn(n, step, challenge, kill_at)
            .wait()
            .unwrap()
            .code()
    }

    /// All members at the same time, each in a process.
    fn run_all(&self, step: &str) {
        let children: Vec<Child> = ids(self.epoch)
            .into_iter()
            .map(|n| self.spawn(n, step, "whole", NEVER))
            .collect();
        for mut child in children {
            assert_eq!(child.wait().unwrap().code(), Some(0), "{step}");
        }
    }

    fn aggregate(&self) -> Vec<u8> {
        self.combine().unwrap().to_bytes()
    }
}

/// Kills member 0 at every step of `step`, each time in a copy of `before`; `after` then checks the
/// state that a restart finds. Returns the number of kills.
fn kill_everywhere(step: &str, before: &Place, after: impl Fn(&Place, usize)) -> usize {
    for kill_at in 0.. {
        let place = before.copy("killed");
        match place.run(0, step, "whole", kill_at) {
            // Killed: no exit code, and nothing was published.
            None => {
                let name = match step {
                    "commit" => "hash",
                    "reveal" => "commitment",
                    "respond" => "response",
                    other => other,
                };
                assert!(!place.file(0, name).exists());
                after(&place, kill_at);
            }
            // The step has fewer kill points.
            Some(0) => {
                assert!(kill_at >= 5, "{step}: {kill_at}");
                return kill_at;
            }
            Some(code) => panic!("{step} killed at {kill_at}: exit code {code}"),
        }
    }
    unreachable!()
}

const STEPS_OF_AN_EPOCH: [&str; 5] = ["register", "open", "commit", "reveal", "respond"];

/// Kills in every step of an epoch; after each kill the aggregate has the same bytes. Returns the
/// directory of the completed epoch.
fn epoch_survives_kills(begun: &Place) -> Place {
    let name = |step: &str| format!("{}-{step}", begun.epoch);
    let mut stages = vec![begun.copy(&name("begun"))];
    for step in STEPS_OF_AN_EPOCH {
        stages.push(stages.last().unwrap().after(&name(step), &[step]));
    }
    let expected = stages[5].aggregate();
    let (aggregate, round) = (
        Aggregate::from_bytes(&expected).unwrap(),
        stages[5].round().unwrap(),
    );
    let pk = round.aggregate_key().as_bytes();
    let signature = aggregate.signature().as_ref();
    peer::check(pk, round.message(), round.context(), signature);
    let mut kills = String::new();
    for (at, step) in STEPS_OF_AN_EPOCH.into_iter().enumerate() {
        // A registration writes nothing.
        if step == "register" {
            continue;
        }
        let killed = kill_everywhere(step, &stages[at], |place, _| {
            for step in &STEPS_OF_AN_EPOCH[at..] {
                place.run_all(step);
            }
            assert_eq!(place.aggregate(), expected);
            assert_eq!(place.run(0, "reveal", "split", NEVER), Some(3));
        });
        kills += &format!(" {step} {killed}");
    }
    let other_hashes = kill_everywhere("reveal", &stages[3], |place, at| {
        // After the restart other hashes arrive first: answered if and only if the first ones are
        // not in the log, and never both.
        let split = place.run(0, "reveal", "split", NEVER);
        let whole = place.run(0, "reveal", "whole", NEVER);
        let expected = if at < 2 {
            (Some(0), Some(3))
        } else {
            (Some(3), Some(0))
        };
        assert_eq!((split, whole), expected, "killed at {at}");
    });
    let retire = kill_everywhere("retire", &stages[4], |place, at| {
        // Retired or not after the kill, and retired in the end.
        let expected = if at < 2 { Some(0) } else { Some(3) };
        assert_eq!(place.run(0, "respond", "whole", NEVER), expected);
        assert_eq!(place.run(0, "retire", "whole", NEVER), Some(0));
        for step in ["respond", "reveal", "commit"] {
            assert_eq!(place.run(0, step, "whole", NEVER), Some(3));
        }
    });
    let session = session_survives_kills(&stages[1]);
    println!(
        "kills in epoch {}:{kills} session {session} other hashes {other_hashes} retire {retire}",
        begun.epoch
    );
    stages.pop().unwrap()
}

/// Kills member 0 at every step of a session, which then continues with its journal. All members have
/// one certificate. Returns the number of kills.
fn session_survives_kills(before: &Place) -> usize {
    for kill_at in 0.. {
        let place = before.copy("session");
        let [_, second, third] = ids(place.epoch);
        let others = [second, third].map(|n| place.spawn(n, "session", "whole", NEVER));
        let killed = place.run(0, "session", "whole", kill_at);
        if killed.is_none() {
            assert_eq!(place.run(0, "session", "whole", NEVER), Some(0));
        }
        for mut other in others {
            assert_eq!(other.wait().unwrap().code(), Some(0));
        }
        let certificate = place.read(0, "certificate");
        for n in [second, third] {
            assert_eq!(place.read(n, "certificate"), certificate);
        }
        let certificate = AggregateCertificate::from_bytes(&certificate).unwrap();
        let committee = place.committee().unwrap();
        certificate.verify(committee.view(), &task()).unwrap();
        if killed == Some(0) {
            assert!(kill_at > 10, "{kill_at}");
            return kill_at;
        }
    }
    unreachable!()
}

fn committee_survives_kills_at_every_write() {
    let begin = Place::new("fresh");
    let registered = begin.after("registered", &["init"]);
    let first = epoch_survives_kills(&registered);
    let killed = kill_everywhere("init", &begin, |place, _| {
        place.run_all("init");
        for step in STEPS_OF_AN_EPOCH {
            place.run_all(step);
        }
        assert_eq!(place.aggregate(), first.aggregate());
    });
    println!("kills: init {killed}");
    // A repeated response is the same; another one is never released.
    let released = first.read(0, "response");
    assert_eq!(first.run(0, "respond", "whole", NEVER), Some(0));
    assert_eq!(first.read(0, "response"), released);
    assert_eq!(first.run(0, "reveal", "split", NEVER), Some(3));
    let committed = first.read(0, "commitment");
    assert_eq!(first.run(0, "commit", "whole", NEVER), Some(0));
    assert_eq!(first.read(0, "commitment"), committed);

    // The second epoch, in which one member replaces another.
    let mut second = first.copy("second");
    second.epoch += 1;
    assert_eq!(second.run(3, "init", "whole", NEVER), Some(0));
    let second = epoch_survives_kills(&second);
    // The first epoch is closed during the second.
    let killed = kill_everywhere("close", &second, |place, at| {
        let mut old = place.copy("old");
        old.epoch -= 1;
        let split = old.run(0, "reveal", "split", NEVER);
        assert_eq!(split, if at < 2 { Some(3) } else { Some(5) });
        assert_eq!(place.run(0, "close", "whole", NEVER), Some(0));
        place.run_all("respond");
        assert_eq!(place.aggregate(), second.aggregate());
        assert_eq!(place.run(0, "reveal", "split", NEVER), Some(3));
        let mut old = place.copy("old");
        old.epoch -= 1;
        for hashes in ["whole", "split"] {
            assert_eq!(old.run(0, "reveal", hashes, NEVER), Some(5));
        }
    });
    println!("kills: close {killed}");
}

fn one_store_serves_one_process() {
    let place = Place::new("two");
    for step in ["init", "register", "open"] {
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
