//! The steps of a member in a process of its own, from files to files.
#![allow(unreachable_pub, reason = "a module of a test program")]

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, RoundError, StorageError};
use mladsa_aggregate::steps::*;
use mladsa_aggregate::storage::{FileLog, FileMark};
use mladsa_aggregate::*;
use mldsa_core::Randomness;

use crate::committee::*;
use crate::killing::{KillingLog, KillingMark};
use crate::{exchange, hostile, killing};

/// The members that sign in an epoch: in the second one, another member replaces the last.
pub fn ids(epoch: u64) -> [usize; 3] {
    if epoch == EPOCH { [0, 1, 2] } else { [0, 1, 3] }
}

/// Directory of exchanged files, with a subdirectory for each member, in one epoch.
pub struct Place {
    pub path: PathBuf,
    pub epoch: u64,
    /// Whether the directory is removed on drop.
    pub own: bool,
}

impl Place {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mladsa-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        // Fails if another user has made it.
        fs::create_dir(&path).unwrap();
        for n in 0..4 {
            fs::create_dir(path.join(format!("{n}"))).unwrap();
        }
        Self {
            path,
            epoch: EPOCH,
            own: true,
        }
    }

    /// A copy of all stored and exchanged files.
    pub fn copy(&self, name: &str) -> Self {
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

    fn own(&self, n: usize, name: &str) -> PathBuf {
        self.path.join(format!("{n}")).join(name)
    }

    pub fn file(&self, n: usize, name: &str) -> PathBuf {
        match name {
            "registration" => self.path.join(format!("{name}.{n}")),
            _ => self.path.join(format!("{}-{name}.{n}", self.epoch)),
        }
    }

    fn plan(&self) -> EpochPlan {
        EpochPlan::new(self.epoch, vec![task_id("decision")]).unwrap()
    }

    /// One step of a member, in a process of its own.
    pub fn step(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Result<(), Error> {
        let member = member(n);
        let (log, mark) = (self.own(n, "log"), self.own(n, "mark"));
        let kill_mark = || -> Result<KillingMark, StorageError> {
            Ok(KillingMark(FileMark::open(&mark)?, mark.clone(), kill_at))
        };
        let open = || -> Result<OneTimeKeyJournal, JournalError> {
            let log = KillingLog(FileLog::open(&log)?, kill_at);
            OneTimeKeyJournal::open(log, kill_mark()?, member.seed())
        };
        match step {
            "init" => {
                // After a kill, the journal may be complete already.
                let log = KillingLog(FileLog::create(&log)?, kill_at);
                if OneTimeKeyJournal::create(log, kill_mark()?, member.seed()).is_err() {
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
                let own = member.acknowledge(&pinned, &mut open()?, Randomness::Deterministic)?;
                self.publish(n, "agree", &own.to_bytes());
            }
            "open" => {
                let agreed = self.agreed(n)?;
                let tree = member.epoch_tree(agreed.registry(), agreed.plan())?;
                let opening = member.open(&agreed, &tree, &attempt(), &open()?)?;
                self.publish(n, "opening", &opening.to_bytes());
            }
            "commit" => {
                let (_, hash) = member.commit(&self.round(n)?, &mut open()?)?;
                self.publish(n, "hash", &hash.to_bytes());
            }
            "reveal" => {
                let round = self.round(n)?;
                let mut journal = open()?;
                let pending = member.resume(&round, &journal)?;
                let hashes = self.hashes(&round, challenge)?;
                let commitment = member.reveal(&pending, &hashes, &mut journal)?;
                self.publish(n, "commitment", &commitment.to_bytes());
            }
            "respond" => {
                let round = self.round(n)?;
                let mut journal = open()?;
                let challenge_set = self.challenge(&round)?;
                let pending = member.resume(&round, &journal)?;
                let response = member.respond(pending, &challenge_set, &mut journal)?;
                self.publish(n, "response", &response.to_bytes());
            }
            "session" => {
                let agreed = self.agreed(n)?;
                let tree = Arc::new(member.epoch_tree(agreed.registry(), agreed.plan())?);
                let (mut journal, member) = (open()?, Arc::new(member));
                let task = task("decision", b"payload");
                let session = Session::new(member, tree, agreed, task, exchange::TIMEOUT);
                let (shared, staged) = (self.file(n, "session"), self.own(n, "next"));
                let shared = shared.with_extension("messages");
                let kill = || killing::step(kill_at);
                let certificate = exchange::run(session, &mut journal, &shared, &staged, kill)?;
                self.publish(n, "certificate", &certificate.to_bytes());
            }
            "retire" => member.retire(&self.agreed(n)?, &attempt(), &mut open()?)?,
            "close" => open()?.close_epoch(self.epoch - 1)?,
            "hold" => {
                let _journal = open()?;
                println!("holding");
                // Wait until the parent closes the pipe.
                let _ = io::read_to_string(io::stdin());
            }
            other => panic!("unknown step {other}"),
        }
        Ok(())
    }

    /// Writes an exchanged file atomically.
    fn publish(&self, n: usize, name: &str, bytes: &[u8]) {
        let next = self.own(n, "next");
        fs::write(&next, bytes).unwrap();
        fs::rename(next, self.file(n, name)).unwrap();
    }

    pub fn read(&self, n: usize, name: &str) -> Vec<u8> {
        fs::read(self.file(n, name)).unwrap()
    }

    fn registry(&self) -> Result<Arc<Registry>, Error> {
        let entries: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| Registration::from_bytes(&self.read(n, "registration")))
            .collect();
        Ok(Registry::new(&RHO, entries?, &Threshold::TwoThirds)?)
    }

    fn pinned(&self, n: usize) -> Result<PinnedRoots, Error> {
        let roots: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| RootAnnouncement::from_bytes(&self.read(n, "root")))
            .collect();
        let mut store = FileWriteOnceStore::new(&self.path.join(format!("{n}")));
        let (registry, plan) = (self.registry()?, self.plan());
        Ok(PinnedRoots::pin(&mut store, &registry, &plan, &roots?)?)
    }

    pub fn agreed(&self, n: usize) -> Result<AgreedRoots, Error> {
        let all: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| Acknowledgement::from_bytes(&self.read(n, "agree")))
            .collect();
        let pinned = self.pinned(n)?;
        let identity = pinned.registry().identity(self.epoch);
        Ok(AgreedRoots::from_pin(&identity, &pinned, &all?)?)
    }

    pub fn round(&self, n: usize) -> Result<Arc<Round>, Error> {
        let agreed = self.agreed(n)?;
        let keys: Result<Vec<_>, RoundError> = ids(self.epoch)
            .into_iter()
            .map(|n| agreed.authenticate(&agreed.receive(&self.read(n, "opening"))?))
            .collect();
        Ok(Round::new(
            &agreed,
            &task("decision", b"payload"),
            0,
            keys?,
        )?)
    }

    /// The hashes of all commitments, or a set in which the last member has changed its own.
    fn hashes(&self, round: &Arc<Round>, which: &str) -> Result<CommitmentSet, Error> {
        let agreed = self.agreed(0)?;
        let mut set = CommitmentSet::new(round);
        for n in ids(self.epoch) {
            let mut message = agreed.receive(&self.read(n, "hash"))?;
            if which == "split" && n == ids(self.epoch)[2] {
                message = hostile::other_commitment(&member(n), &message, &agreed);
            }
            set.add(&message)?;
        }
        Ok(set)
    }

    pub fn challenge(&self, round: &Arc<Round>) -> Result<Arc<Challenge>, Error> {
        let agreed = self.agreed(0)?;
        let mut set = self.hashes(round, "whole")?;
        for n in ids(self.epoch) {
            set.add(&agreed.receive(&self.read(n, "commitment"))?)?;
        }
        Ok(set.challenge()?)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The parent process removes the directory.
        if self.own {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn attempt() -> AttemptId {
    attempt_id("decision", 0)
}
