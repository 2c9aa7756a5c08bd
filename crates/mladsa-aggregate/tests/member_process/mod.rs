//! The steps of a member in a process of its own, from files to files.
#![allow(unreachable_pub, reason = "a module of a test program")]

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mladsa_aggregate::errors::{JournalError, StorageError};
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
        self.path.join(format!("{}-{name}.{n}", self.epoch))
    }

    fn member(&self, n: usize) -> Member {
        member(n, &epoch(self.epoch))
    }

    /// One step of a member, in a process of its own.
    pub fn step(&self, n: usize, step: &str, challenge: &str, kill_at: usize) -> Result<(), Error> {
        let member = self.member(n);
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
            }
            "register" => {
                let registration = member.register(Randomness::Deterministic)?;
                self.publish(n, "register", &registration.to_bytes());
            }
            "open" => {
                let opening = member.open(&*self.committee()?, at(0, 0), &mut open()?)?;
                self.publish(n, "open", &opening.to_bytes());
            }
            "commit" => {
                let (_, hash) = member.commit(&self.round()?, &mut open()?)?;
                self.publish(n, "hash", &hash.to_bytes());
            }
            "reveal" => {
                let round = self.round()?;
                let mut journal = open()?;
                let pending = member.resume(&round, &journal)?;
                let hashes = self.hashes(&round, challenge)?;
                let commitment = member.reveal(&pending, &hashes, &mut journal)?;
                self.publish(n, "commitment", &commitment.to_bytes());
            }
            "respond" => {
                let round = self.round()?;
                let mut journal = open()?;
                let challenge_set = self.challenge(&round)?;
                let pending = member.resume(&round, &journal)?;
                let response = member.respond(pending, &challenge_set, &mut journal)?;
                self.publish(n, "response", &response.to_bytes());
            }
            "session" => {
                let (mut journal, member) = (open()?, Arc::new(member));
                let (own, task) = (*member.id(), task());
                let session = Session::new(member, self.committee()?, task, exchange::TIMEOUT);
                let (shared, staged) = (self.file(n, "session"), self.own(n, "next"));
                let shared = shared.with_extension("messages");
                let kill = || killing::step(kill_at);
                let certificate =
                    exchange::run(session, &own, &mut journal, &shared, &staged, kill)?;
                self.publish(n, "certificate", &certificate.to_bytes());
            }
            "retire" => member.retire(at(0, 0), &mut open()?)?,
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

    pub fn committee(&self) -> Result<Arc<SigningCommittee>, Error> {
        let entries: Result<Vec<_>, _> = ids(self.epoch)
            .into_iter()
            .map(|n| Ok::<_, Error>((Registration::from_bytes(&self.read(n, "register"))?, 1)))
            .collect();
        Ok(SigningCommittee::new(&epoch(self.epoch), entries?, 3)?)
    }

    fn message(&self, n: usize, name: &str) -> Result<Message, Error> {
        Ok(Message::receive(&self.read(n, name), &*self.committee()?)?)
    }

    pub fn round(&self) -> Result<Arc<Round>, Error> {
        let committee = self.committee()?;
        let keys: Result<Vec<_>, Error> = ids(self.epoch)
            .into_iter()
            .map(|n| Ok(committee.authenticate(&self.message(n, "open")?)?))
            .collect();
        Ok(Round::new(committee.view(), &task(), 0, keys?)?)
    }

    /// The hashes of all commitments, or a set in which the last member has changed its own.
    fn hashes(&self, round: &Arc<Round>, which: &str) -> Result<CommitmentSet, Error> {
        let mut set = CommitmentSet::new(round);
        for n in ids(self.epoch) {
            let mut message = self.message(n, "hash")?;
            if which == "split" && n == ids(self.epoch)[2] {
                message = hostile::changed(&message, &*self.committee()?);
            }
            set.add(&message)?;
        }
        Ok(set)
    }

    pub fn challenge(&self, round: &Arc<Round>) -> Result<Arc<Challenge>, Error> {
        let mut set = self.hashes(round, "whole")?;
        for n in ids(self.epoch) {
            set.add(&self.message(n, "commitment")?)?;
        }
        Ok(set.challenge()?)
    }

    pub fn combine(&self) -> Result<Aggregate, Error> {
        let challenge = self.challenge(&self.round()?)?;
        let mut combiner = Combiner::new(&challenge);
        for n in ids(self.epoch) {
            combiner.add(&self.message(n, "response")?)?;
        }
        Ok(combiner.finish()?)
    }
}

/// The task of all members.
pub fn task() -> SigningTask {
    SigningTask::decision(0, b"payload")
}

impl Drop for Place {
    fn drop(&mut self) {
        // The parent process removes the directory.
        if self.own {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
