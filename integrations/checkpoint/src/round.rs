//! One checkpoint: a session of each member, and a network in order.

use core::fmt;
use std::collections::VecDeque;
use std::fs;

use fips204::ml_dsa_87;
use fips204::traits::{SerDes as _, Verifier as _};
use mladsa_aggregate::errors::{EncodingError, JournalError, RoundError, VerifyError};
use mladsa_aggregate::steps::{MessageKind, SignedMessage};
use mladsa_aggregate::{
    Aggregate, Error, OneTimeKeyJournal, Session, SessionEvent, SigningTask,
};

use crate::committee::{Committee, DOMAIN};

/// What becomes of the first member, who is killed when it has committed and not responded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It is not killed.
    None,
    /// It comes back before the others give up.
    Short,
    /// It does not come back for this checkpoint.
    Long,
}

/// A signed checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    /// The signature, with who made it.
    pub aggregate: Aggregate,
    /// How many signed.
    pub signers: usize,
    /// Attempts that it took.
    pub attempts: u32,
    /// Bytes of the signature and of the bits that say whose it is.
    pub certificate: usize,
    /// Bytes of the openings that a verifier needs who has not followed the round.
    pub openings: usize,
    /// Messages that were sent, and their bytes.
    pub sent: (usize, usize),
}

/// What went wrong.
#[derive(Debug)]
pub enum Trouble {
    /// The scheme.
    Scheme(Error),
    /// The disk.
    Disk(std::io::Error),
    /// Something that a run claims, and that did not hold.
    Claim(&'static str),
}

macro_rules! from_scheme {
    ($($error:ty),*) => {$(
        impl From<$error> for Trouble {
            fn from(error: $error) -> Self {
                Self::Scheme(error.into())
            }
        }
    )*};
}

from_scheme!(Error, EncodingError, JournalError, RoundError, VerifyError);

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Disk(error)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme(error) => error.fmt(f),
            Self::Disk(error) => error.fmt(f),
            Self::Claim(claim) => f.write_str(claim),
        }
    }
}

impl core::error::Error for Trouble {}

/// After so much time without a message a member goes on without who is silent.
const TIMEOUT: u64 = 100;
/// Timeouts after which a checkpoint has failed: each ends an attempt.
const PATIENCE: usize = 64;

impl Committee {
    /// Signs a payload for the checkpoint at `slot`, which is for nothing else from then on.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn sign(
        &self,
        slot: u64,
        payload: Vec<u8>,
        absence: Absence,
    ) -> Result<Checkpoint, Trouble> {
        let task = SigningTask::decision(self.label(slot), DOMAIN, &payload)?;
        let mut round = Round {
            committee: self,
            task,
            absence,
            nodes: Vec::new(),
            wires: VecDeque::new(),
            sent: Vec::new(),
            now: 1,
        };
        round.run()?;
        round.check()
    }
}

struct Round<'a> {
    committee: &'a Committee,
    task: SigningTask,
    absence: Absence,
    nodes: Vec<Option<Node>>,
    wires: VecDeque<(usize, SignedMessage)>,
    sent: Vec<SignedMessage>,
    now: u64,
}

/// A member while it lives.
struct Node {
    session: Session,
    guard: OneTimeKeyJournal,
    done: Option<Aggregate>,
}

impl Round<'_> {
    fn node(&self, at: usize, attempt: u8) -> Result<Node, JournalError> {
        let member = &self.committee.members[at];
        let session = Session::new(
            member.member.clone(),
            member.tree.clone(),
            member.agreed.clone(),
            member.policy(),
            self.task.clone(),
            TIMEOUT,
        )
        .starting_at(attempt, &[]);
        let guard = member.guard()?;
        Ok(Node {
            session,
            guard,
            done: None,
        })
    }

    fn run(&mut self) -> Result<(), Trouble> {
        let n = self.committee.members.len();
        let nodes: Result<_, JournalError> = (0..n).map(|at| self.node(at, 0).map(Some)).collect();
        self.nodes = nodes?;
        // What the first member's log was before: a backup.
        let [log, _] = self.committee.members[0].files();
        let backup = fs::read(log)?;
        let mut killed = None;
        for _ in 0..PATIENCE {
            for at in 0..n {
                let now = self.now;
                self.act(at, |node| node.session.tick(now, &mut node.guard))?;
            }
            while let Some((to, message)) = self.wires.pop_front() {
                let (bytes, now) = (message.to_bytes(), self.now);
                let events = |node: &mut Node| node.session.receive(&bytes, now, &mut node.guard);
                let parts = self.act(to, events)?;
                let commits = to == 0 && parts.contains(&MessageKind::Commitment);
                if commits && self.absence != Absence::None && killed.is_none() {
                    if parts.contains(&MessageKind::Response) {
                        return Err(Trouble::Claim("the first member has responded already"));
                    }
                    killed = self.nodes[0].take().map(|node| node.session.attempt());
                }
            }
            if let (Some(attempt), Absence::Short, None) = (killed, self.absence, &self.nodes[0]) {
                self.restart(attempt, &backup)?;
                continue;
            }
            let living = self.nodes.iter().flatten();
            if living.into_iter().all(|node| node.done.is_some()) {
                let left = killed.is_some() == (self.absence != Absence::None);
                let there = self.nodes[0].is_some() == (self.absence != Absence::Long);
                let absent = (left && there).then_some(());
                return absent.ok_or(Trouble::Claim(
                    "the first member was away as it was meant to be",
                ));
            }
            self.now += TIMEOUT;
        }
        Err(Trouble::Claim("nobody signs any more"))
    }

    /// The first member comes back: not from a backup, and with what its guard has written down.
    fn restart(&mut self, attempt: u8, backup: &[u8]) -> Result<(), Trouble> {
        let member = &self.committee.members[0];
        let [log, _] = member.files();
        let now = fs::read(&log)?;
        fs::write(&log, backup)?;
        let refused = member.guard().is_err();
        fs::write(&log, now)?;
        if !refused {
            return Err(Trouble::Claim("a guard from a backup is one"));
        }
        let before: Vec<SignedMessage> = self.own().cloned().collect();
        self.nodes[0] = Some(self.node(0, attempt)?);
        // The others send again what it has not heard; no message is another one than before.
        let theirs = self
            .sent
            .iter()
            .filter(|message| *message.id() != member.id());
        self.wires
            .extend(theirs.map(|message| (0, message.clone())));
        let now = self.now;
        self.act(0, |node| node.session.tick(now, &mut node.guard))?;
        while let Some((to, message)) = self.wires.pop_front() {
            let (bytes, now) = (message.to_bytes(), self.now);
            self.act(to, |node| {
                node.session.receive(&bytes, now, &mut node.guard)
            })?;
        }
        let again: Vec<SignedMessage> = self.own().skip(before.len()).cloned().collect();
        let same = |kind: MessageKind| {
            let of = |messages: &[SignedMessage]| messages.iter().find(|m| m.kind() == kind).cloned();
            of(&before).is_some() && of(&before) == of(&again)
        };
        if !same(MessageKind::Opening) || !same(MessageKind::Commitment) {
            return Err(Trouble::Claim("after a crash something else was sent"));
        }
        Ok(())
    }

    /// What the first member has sent.
    fn own(&self) -> impl Iterator<Item = &SignedMessage> {
        let id = self.committee.members[0].id();
        self.sent.iter().filter(move |message| *message.id() == id)
    }

    /// Lets a member act, if it lives, and sends what it says. Returns what that was.
    fn act(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Node) -> Result<Vec<SessionEvent>, RoundError>,
    ) -> Result<Vec<MessageKind>, Trouble> {
        let Some(node) = &mut self.nodes[at] else {
            return Ok(Vec::new());
        };
        let mut parts = Vec::new();
        for event in act(node)? {
            match event {
                SessionEvent::Send(message) => {
                    parts.push(message.kind());
                    let others = (0..self.committee.members.len()).filter(|to| *to != at);
                    self.wires.extend(others.map(|to| (to, message.clone())));
                    self.sent.push(message);
                }
                SessionEvent::Completed(aggregate) => node.done = Some(*aggregate),
                SessionEvent::AttemptAbandoned(_) => {}
                SessionEvent::Failed(error) => return Err(error.into()),
                _ => {
                    return Err(Trouble::Claim("an honest member is blamed"));
                }
            }
        }
        Ok(parts)
    }

    /// As a verifier who was not there.
    fn check(self) -> Result<Checkpoint, Trouble> {
        let mut made = self
            .nodes
            .into_iter()
            .flatten()
            .filter_map(|node| node.done);
        let aggregate = made.next().ok_or(Trouble::Claim("nobody has signed"))?;
        if made.any(|other| other != aggregate) {
            return Err(Trouble::Claim("the members have different signatures"));
        }
        // The last member has agreed to the roots, as any verifier has who follows the epoch.
        let verifier = &self.committee.members[self.committee.members.len() - 1];
        let aggregate = Aggregate::from_bytes(&aggregate.to_bytes())?;
        let signers = aggregate.signers(verifier.agreed.registry())?;
        let mut openings: Vec<SignedMessage> = Vec::new();
        for id in &signers {
            let theirs = |message: &&SignedMessage| {
                message.id() == id
                    && message.kind() == MessageKind::Opening
                    && message.attempt_id() == aggregate.attempt_id()
            };
            openings.extend(self.sent.iter().find(theirs).cloned());
        }
        let keys = verifier.agreed.authenticate_each(&openings);
        let keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
        let policy = verifier.policy();
        let round = aggregate.verify(&verifier.agreed, &keys, &self.task, &policy)?;

        // Nothing but FIPS 204 from here on, by somebody else's code.
        let signature: &[u8] = aggregate.signature().as_ref();
        let plain = |message: &[u8]| {
            let key = round.aggregate_key().as_bytes().as_slice().try_into().ok()?;
            let key = ml_dsa_87::PublicKey::try_from_bytes(key).ok()?;
            Some(key.verify(message, &signature.try_into().ok()?, round.context()))
        };
        let another = [round.message(), b"."].concat();
        if plain(round.message()) != Some(true) || plain(&another) != Some(false) {
            return Err(Trouble::Claim(
                "it is no ML-DSA-87 signature of this and nothing else",
            ));
        }

        let left_out = self.absence == Absence::Long;
        let missing = self.committee.members.len() - signers.len();
        if missing != usize::from(left_out) {
            return Err(Trouble::Claim(
                "others have signed than those who were there",
            ));
        }
        Ok(Checkpoint {
            attempts: u32::from(aggregate.attempt_id().attempt()) + 1,
            signers: signers.len(),
            certificate: signature.len() + self.committee.members.len().div_ceil(8),
            openings: signers.len() * verifier.agreed.plan().opening_len(),
            sent: (
                self.sent.len(),
                self.sent.iter().map(|m| m.to_bytes().len()).sum(),
            ),
            aggregate,
        })
    }
}
