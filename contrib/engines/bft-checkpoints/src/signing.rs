//! Sessions of one validator: one for each checkpoint, driven by messages and a clock.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

use anyhow::Context as _;
use mladsa_aggregate::{
    Epoch, MasterSeed, Member, OneTimeKeyJournal, Session, SessionEvent, SigningCommittee,
    SigningTask,
};

use crate::block::name;
use crate::options::Role;

/// Message of a session: `BE64(epoch) || BE32(slot) || bytes`, and the validators that receive it.
pub(crate) struct Outgoing {
    pub(crate) to: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

struct Running {
    session: Session,
    task: SigningTask,
    committee: Arc<SigningCommittee>,
    begun: Instant,
    sent: usize,
}

/// One copy of the secrets of a validator. An honest validator has one.
struct Store {
    journal: OneTimeKeyJournal,
    sessions: BTreeMap<(u64, u32), Running>,
}

pub(crate) struct Signing {
    n: usize,
    validators: usize,
    seed: [u8; 32],
    timeout: u64,
    start: Instant,
    directory: PathBuf,
    copies: Vec<Store>,
}

impl Signing {
    /// Creates the journals in the directory of validator `n` in its `first` process, and opens them in
    /// later ones: the seed of a journal that is lost signs nothing more.
    pub(crate) fn open(
        n: usize,
        validators: usize,
        role: Role,
        directory: &Path,
        timeout: u64,
        first: bool,
    ) -> anyhow::Result<Self> {
        let seed = seed(n);
        let copies = match role {
            Role::Silent => 0,
            Role::Honest => 1,
            Role::Copied => 2,
        };
        let open = |copy| -> anyhow::Result<Store> {
            let [log, mark] =
                ["log", "mark"].map(|name| directory.join(format!("journal-{copy}.{name}")));
            let seed = MasterSeed::from_bytes(&seed);
            let journal = if first {
                OneTimeKeyJournal::create_files(&log, &mark, &seed)
            } else {
                OneTimeKeyJournal::open_files(&log, &mark, &seed)
            };
            Ok(Store {
                journal: journal.with_context(|| format!("{}", log.display()))?,
                sessions: BTreeMap::new(),
            })
        };
        Ok(Self {
            n,
            validators,
            seed,
            timeout,
            start: Instant::now(),
            directory: directory.into(),
            copies: (0..copies).map(open).collect::<Result<_, _>>()?,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Begins the session of a checkpoint, if this validator is a member of its committee.
    pub(crate) fn begin(
        &mut self,
        committee: &Arc<SigningCommittee>,
        slot: u32,
        payload: &[u8],
    ) -> anyhow::Result<()> {
        let own = name(self.n)?;
        if !committee.members().any(|(id, _)| *id == own) {
            return Ok(());
        }
        let epoch = committee.epoch();
        let member = Arc::new(member(self.n, &self.seed, epoch)?);
        for (number, copy) in self.copies.iter_mut().enumerate() {
            // The second copy of an equivocating validator decides something else.
            let payload = [payload, &vec![0; number]].concat();
            let task = SigningTask::decision(slot, &payload);
            let (member, committee) = (Arc::clone(&member), Arc::clone(committee));
            let running = Running {
                session: Session::new(member, Arc::clone(&committee), task.clone(), self.timeout),
                task,
                committee,
                begun: Instant::now(),
                sent: 0,
            };
            copy.sessions.insert((epoch.number(), slot), running);
        }
        publish(
            &self.directory,
            &format!("{}-{slot}.begun", epoch.number()),
            b"",
        )?;
        Ok(())
    }

    /// Passes a message of validator `from` to its session.
    pub(crate) fn receive(&mut self, from: usize, bytes: &[u8]) -> anyhow::Result<Vec<Outgoing>> {
        let Some((epoch, rest)) = bytes.split_first_chunk() else {
            return Ok(Vec::new());
        };
        let Some((slot, message)) = rest.split_first_chunk() else {
            return Ok(Vec::new());
        };
        let at = (u64::from_be_bytes(*epoch), u32::from_be_bytes(*slot));
        let (now, sender) = (self.now(), name(from)?);
        self.each(|copy, handle| {
            if let Some(running) = copy.sessions.get_mut(&at) {
                let journal = &mut copy.journal;
                let events = running.session.receive(&sender, message, now, journal);
                handle(at, running, report(at, events))?;
            }
            Ok(())
        })
    }

    /// Advances the clocks of all sessions.
    pub(crate) fn tick(&mut self) -> anyhow::Result<Vec<Outgoing>> {
        let now = self.now();
        self.each(|copy, handle| {
            for (at, running) in &mut copy.sessions {
                let events = running.session.tick(now, &mut copy.journal);
                handle(*at, running, report(*at, events))?;
            }
            Ok(())
        })
    }

    /// Runs `input` for each copy, and handles the events of its sessions.
    fn each(
        &mut self,
        input: impl Fn(
            &mut Store,
            &mut dyn FnMut((u64, u32), &mut Running, Vec<SessionEvent>) -> anyhow::Result<()>,
        ) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Outgoing>> {
        let (n, validators, copies) = (self.n, self.validators, self.copies.len());
        let (directory, mut outgoing) = (&self.directory, Vec::new());
        for (number, copy) in self.copies.iter_mut().enumerate() {
            input(copy, &mut |at, running, events| {
                for event in events {
                    match event {
                        SessionEvent::Send { to, message } => {
                            // Each copy of an equivocating validator shows itself to its part of the
                            // others.
                            let mut receivers = Vec::new();
                            for other in (0..validators).filter(|other| *other != n) {
                                let receives = match to {
                                    None => true,
                                    Some(id) => id == name(other)?,
                                };
                                if receives && other % copies == number {
                                    receivers.push(other);
                                }
                            }
                            running.sent += receivers.len() * message.len();
                            let (epoch, slot) = (at.0.to_be_bytes(), at.1.to_be_bytes());
                            outgoing.push(Outgoing {
                                to: receivers,
                                bytes: [&epoch[..], &slot, &message].concat(),
                            });
                        }
                        SessionEvent::Completed(certificate) if number == 0 => {
                            let cost =
                                format!("{} {}", running.begun.elapsed().as_millis(), running.sent);
                            let checkpoint = format!("{}-{}", at.0, at.1);
                            publish(directory, &format!("{checkpoint}.cost"), cost.as_bytes())?;
                            let payload = format!("{checkpoint}.payload");
                            publish(directory, &payload, running.task.payload())?;
                            let committee = format!("{}.committee", at.0);
                            publish(directory, &committee, &running.committee.to_bytes())?;
                            let bytes = certificate.to_bytes();
                            publish(directory, &format!("{checkpoint}.certificate"), &bytes)?;
                        }
                        SessionEvent::ConflictingMessages(evidence) => {
                            let file = format!("{}-{}.evidence", at.0, at.1);
                            publish(directory, &file, &evidence.to_bytes())?;
                        }
                        SessionEvent::InvalidContribution(id) => {
                            publish(
                                directory,
                                &format!("{}-{}.blamed", at.0, at.1),
                                id.as_bytes(),
                            )?;
                        }
                        // The session still takes a certificate.
                        SessionEvent::Failed(error) => _ = report(at, Err(error)),
                        _ => {}
                    }
                }
                Ok(())
            })?;
        }
        Ok(outgoing)
    }
}

/// The events of a session, or none and a report: one session that has ended does not end the others.
fn report(
    (epoch, slot): (u64, u32),
    events: Result<Vec<SessionEvent>, impl Display>,
) -> Vec<SessionEvent> {
    events.unwrap_or_else(|error| {
        eprintln!("epoch {epoch}, slot {slot}: {error}");
        Vec::new()
    })
}

/// Master seed of validator `n`. It is fixed, so that the processes need no setup: an example.
pub(crate) fn seed(n: usize) -> [u8; 32] {
    let mut seed = [0x5a; 32];
    seed[..8].copy_from_slice(&(n as u64).to_be_bytes());
    seed
}

/// Validator `n` in an epoch.
pub(crate) fn member(n: usize, seed: &[u8; 32], epoch: &Arc<Epoch>) -> anyhow::Result<Member> {
    Ok(Member::new(name(n)?, MasterSeed::from_bytes(seed), epoch)?)
}

/// Writes a file that appears with its whole content.
fn publish(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let staged = directory.join("staged");
    fs::write(&staged, bytes)?;
    fs::rename(staged, directory.join(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use mladsa_aggregate::AttemptId;
    use mldsa_core::Randomness;
    use tempfile::TempDir;

    use super::*;
    use crate::block::{committee, parameters};

    const VALIDATORS: usize = 4;
    const TIMEOUT: u64 = 60_000;

    fn open(directory: &Path, n: usize, first: bool) -> anyhow::Result<Signing> {
        Signing::open(n, VALIDATORS, Role::Honest, directory, TIMEOUT, first)
    }

    /// A validator whose journal is lost gets no new one for the same seed.
    #[test]
    fn only_the_first_process_creates_journals() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        assert!(open(at, 0, false).is_err());
        open(at, 0, true).unwrap();
        open(at, 0, false).unwrap();
        assert!(open(at, 0, true).is_err());
        fs::remove_file(at.join("journal-0.mark")).unwrap();
        assert!(open(at, 0, false).is_err());
        fs::remove_file(at.join("journal-0.log")).unwrap();
        assert!(open(at, 0, false).is_err());
    }

    /// A validator that has no attempts left runs on, and takes the certificate of the others.
    #[test]
    fn exhausted_sessions_take_a_certificate() {
        let epoch = parameters(1, VALIDATORS).unwrap();
        let registrations = (0..VALIDATORS).map(|n| {
            let member = member(n, &seed(n), &epoch).unwrap();
            member.register(Randomness::Deterministic).unwrap()
        });
        let committee = committee(&epoch, registrations, VALIDATORS).unwrap();
        let directories: Vec<TempDir> = (0..VALIDATORS)
            .map(|_| tempfile::tempdir().unwrap())
            .collect();
        let mut all: Vec<_> = (0..VALIDATORS)
            .map(|n| open(directories[n].path(), n, true).unwrap())
            .collect();
        // The first session binds the journal to the committee, and a second one begins without attempts.
        let own = member(0, &seed(0), &epoch).unwrap();
        all[0].begin(&committee, 0, b"payload").unwrap();
        all[0].tick().unwrap();
        for number in 0..epoch.attempts() {
            let attempt = AttemptId { slot: 0, number };
            own.retire(attempt, &mut all[0].copies[0].journal).unwrap();
        }
        for signing in &mut all {
            signing.begin(&committee, 0, b"payload").unwrap();
        }
        assert!(all[0].tick().unwrap().is_empty());
        assert!(all[0].tick().unwrap().is_empty());
        // The others sign without validator 0.
        let certificate = directories[1].path().join("1-0.certificate");
        while !certificate.exists() {
            for from in 1..VALIDATORS {
                let mut messages: Vec<_> = all[from]
                    .tick()
                    .unwrap()
                    .into_iter()
                    .map(|outgoing| (from, outgoing))
                    .collect();
                while let Some((from, Outgoing { to, bytes })) = messages.pop() {
                    for to in to.into_iter().filter(|to| *to != 0) {
                        let answers = all[to].receive(from, &bytes).unwrap();
                        messages.extend(answers.into_iter().map(|answer| (to, answer)));
                    }
                }
            }
        }
        let bytes = fs::read(certificate).unwrap();
        let message = [&1u64.to_be_bytes()[..], &0u32.to_be_bytes(), &bytes].concat();
        all[0].receive(1, &message).unwrap();
        let taken = directories[0].path().join("1-0.certificate");
        assert_eq!(fs::read(taken).unwrap(), bytes);
    }
}
