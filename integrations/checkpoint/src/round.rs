//! One checkpoint: a session per member, connected by an in-order network.

use std::collections::VecDeque;
use std::fs;

use anyhow::{Context as _, bail, ensure};
use fips204::ml_dsa_87;
use fips204::traits::{SerDes as _, Verifier as _};
use mladsa_aggregate::errors::{JournalError, RoundError};
use mladsa_aggregate::steps::{MessageKind, SignedMessage};
use mladsa_aggregate::{Aggregate, OneTimeKeyJournal, Session, SessionEvent, SigningTask};

use crate::committee::{Committee, DOMAIN};

/// Fault of the first member, which is killed after its commitment and before its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// Restarted before the others time out.
    Restart,
    /// Not restarted for this checkpoint.
    Offline,
}

/// Signed checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    /// Signature with its signers.
    pub aggregate: Aggregate,
    /// Number of signers.
    pub signers: usize,
    /// Number of attempts.
    pub attempts: u32,
    /// Bytes of the signature and of the signer bitmap.
    pub certificate: usize,
    /// Bytes of the openings that a verifier needs if it has not followed the round.
    pub openings: usize,
    /// Number of messages sent, and their bytes.
    pub sent: (usize, usize),
}

/// Clock ticks of an attempt.
const TIMEOUT: u64 = 100;
/// Timeouts after which a checkpoint has failed; each ends an attempt.
const MAX_TIMEOUTS: usize = 64;

impl Committee {
    /// Signs a payload for the checkpoint at `slot`.
    ///
    /// # Errors
    /// Errors of the scheme, file system errors, and assertions that do not hold.
    pub fn sign(&self, slot: u64, payload: Vec<u8>, fault: Fault) -> anyhow::Result<Checkpoint> {
        let task = SigningTask::decision(self.label(slot), DOMAIN, &payload)?;
        let mut round = Round {
            committee: self,
            task,
            fault,
            nodes: Vec::new(),
            in_flight: VecDeque::new(),
            sent: Vec::new(),
            size: (0, 0),
            now: 1,
        };
        round.run()?;
        round.check()
    }
}

struct Round<'a> {
    committee: &'a Committee,
    task: SigningTask,
    fault: Fault,
    /// `None` for a killed member.
    nodes: Vec<Option<Node>>,
    in_flight: VecDeque<(usize, Vec<u8>)>,
    // the signed messages, and the number and bytes of all
    sent: Vec<SignedMessage>,
    size: (usize, usize),
    now: u64,
}

/// Running member.
struct Node {
    session: Session,
    guard: OneTimeKeyJournal,
    done: Option<Aggregate>,
}

impl Round<'_> {
    fn node(&self, at: usize) -> Result<Node, JournalError> {
        let member = &self.committee.members[at];
        let session = Session::new(
            member.member.clone(),
            member.tree.clone(),
            member.agreed.clone(),
            self.task.clone(),
            TIMEOUT,
        );
        let guard = member.guard()?;
        Ok(Node {
            session,
            guard,
            done: None,
        })
    }

    fn run(&mut self) -> anyhow::Result<()> {
        let n = self.committee.members.len();
        let nodes: Result<_, _> = (0..n).map(|at| self.node(at).map(Some)).collect();
        self.nodes = nodes?;
        // Backup of the first member's log from before the round.
        let [log, _] = self.committee.members[0].files();
        let backup = fs::read(log)?;
        let mut killed = false;
        for _ in 0..MAX_TIMEOUTS {
            for at in 0..n {
                let now = self.now;
                self.act(at, |node| node.session.tick(now, &mut node.guard))?;
            }
            while let Some((to, message)) = self.in_flight.pop_front() {
                let parts = self.receive(to, &message)?;
                let commits = to == 0 && parts.contains(&MessageKind::Commitment);
                if commits && self.fault != Fault::None && !killed {
                    ensure!(
                        !parts.contains(&MessageKind::Response),
                        "the first member responded before it was killed"
                    );
                    killed = self.nodes[0].take().is_some();
                }
            }
            if let (true, Fault::Restart, None) = (killed, self.fault, &self.nodes[0]) {
                self.restart(&backup)?;
                continue;
            }
            if self.nodes.iter().flatten().all(|node| node.done.is_some()) {
                let was_killed = killed == (self.fault != Fault::None);
                let is_running = self.nodes[0].is_some() == (self.fault != Fault::Offline);
                ensure!(was_killed && is_running, "the fault did not take place");
                return Ok(());
            }
            self.now += TIMEOUT;
        }
        bail!("no signature after {MAX_TIMEOUTS} timeouts")
    }

    /// Restarts the first member: a restored backup of its log is rejected, the current log is
    /// accepted, and every message sent again is identical.
    fn restart(&mut self, backup: &[u8]) -> anyhow::Result<()> {
        let member = &self.committee.members[0];
        let [log, _] = member.files();
        let current = fs::read(&log)?;
        fs::write(&log, backup)?;
        let restored = member.guard();
        fs::write(&log, current)?;
        ensure!(restored.is_err(), "a restored guard was accepted");
        let before: Vec<SignedMessage> = self.own().cloned().collect();
        self.nodes[0] = Some(self.node(0)?);
        // The other members send their messages again.
        let id = self.committee.members[0].id();
        let theirs = self.sent.iter().filter(|message| *message.id() != id);
        self.in_flight
            .extend(theirs.map(|message| (0, message.to_bytes())));
        let now = self.now;
        self.act(0, |node| node.session.tick(now, &mut node.guard))?;
        while let Some((to, message)) = self.in_flight.pop_front() {
            self.receive(to, &message)?;
        }
        let again: Vec<SignedMessage> = self.own().skip(before.len()).cloned().collect();
        for part in [MessageKind::Opening, MessageKind::Commitment] {
            let find =
                |messages: &[SignedMessage]| messages.iter().find(|m| m.kind() == part).cloned();
            ensure!(
                find(&before).is_some() && find(&before) == find(&again),
                "a restarted member sent a different message"
            );
        }
        Ok(())
    }

    /// Messages sent by the first member.
    fn own(&self) -> impl Iterator<Item = &SignedMessage> {
        let id = self.committee.members[0].id();
        self.sent.iter().filter(move |message| *message.id() == id)
    }

    fn receive(&mut self, at: usize, message: &[u8]) -> anyhow::Result<Vec<MessageKind>> {
        let now = self.now;
        self.act(at, |node| {
            node.session.receive(message, now, &mut node.guard)
        })
    }

    /// Runs a step of a member, if it is running, and sends its messages. Returns their parts.
    fn act(
        &mut self,
        at: usize,
        step: impl FnOnce(&mut Node) -> Result<Vec<SessionEvent>, RoundError>,
    ) -> anyhow::Result<Vec<MessageKind>> {
        let Some(node) = &mut self.nodes[at] else {
            return Ok(Vec::new());
        };
        let mut parts = Vec::new();
        for event in step(node)? {
            match event {
                SessionEvent::Send(bytes) => {
                    let others = (0..self.committee.members.len()).filter(|to| *to != at);
                    self.in_flight.extend(others.map(|to| (to, bytes.clone())));
                    self.size.0 += 1;
                    self.size.1 += bytes.len();
                    // The outcome is not a signed message.
                    if let Ok(message) = self.committee.members[at].agreed.receive(&bytes) {
                        parts.push(message.kind());
                        self.sent.push(message);
                    }
                }
                SessionEvent::Completed(certificate) => {
                    node.done = Some(certificate.aggregate().clone());
                }
                SessionEvent::AttemptAbandoned(_) => {}
                SessionEvent::Failed(error) => return Err(error.into()),
                _ => bail!("an honest member was blamed"),
            }
        }
        Ok(parts)
    }

    /// Verifies the result as a verifier that did not take part.
    fn check(self) -> anyhow::Result<Checkpoint> {
        let nodes = self.nodes.into_iter().flatten();
        let mut done = nodes.filter_map(|node| node.done);
        let aggregate = done.next().context("no signature")?;
        ensure!(
            done.all(|other| other == aggregate),
            "the members have different signatures"
        );
        // The last member has agreed to the roots, as every verifier of the epoch has.
        let verifier = &self.committee.members[self.committee.members.len() - 1];
        let aggregate = Aggregate::from_bytes(&aggregate.to_bytes())?;
        let signers = aggregate.signers(verifier.agreed.registry())?;
        let mut openings: Vec<SignedMessage> = Vec::new();
        for id in &signers {
            let opening = |message: &&SignedMessage| {
                message.id() == id
                    && message.kind() == MessageKind::Opening
                    && message.attempt_id() == aggregate.attempt_id()
            };
            openings.extend(self.sent.iter().find(opening).cloned());
        }
        let keys = verifier.agreed.authenticate_each(&openings);
        let keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
        let round = aggregate.verify(&verifier.agreed, &keys, &self.task)?;

        // An independent FIPS 204 implementation accepts the signature, and no other message.
        let signature: &[u8] = aggregate.signature().as_ref();
        let independent = |message: &[u8]| {
            let key = round
                .aggregate_key()
                .as_bytes()
                .as_slice()
                .try_into()
                .ok()?;
            let key = ml_dsa_87::PublicKey::try_from_bytes(key).ok()?;
            Some(key.verify(message, &signature.try_into().ok()?, round.context()))
        };
        let other = [round.message(), b"."].concat();
        ensure!(
            independent(round.message()) == Some(true) && independent(&other) == Some(false),
            "fips204 disagrees"
        );

        let missing = self.committee.members.len() - signers.len();
        ensure!(
            missing == usize::from(self.fault == Fault::Offline),
            "{missing} members have not signed"
        );
        Ok(Checkpoint {
            attempts: u32::from(aggregate.attempt_id().attempt()) + 1,
            signers: signers.len(),
            certificate: signature.len() + self.committee.members.len().div_ceil(8),
            openings: signers.len() * verifier.agreed.plan().opening_len(),
            sent: self.size,
            aggregate,
        })
    }
}
