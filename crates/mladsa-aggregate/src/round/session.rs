//! Session: state machine of one member for one task, driven by messages and a clock.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::authenticate::AuthenticatedKey;
use crate::epoch::message::{Equivocation, MessageKind, SignedMessage, Unverified};
use crate::epoch::tree::EpochTree;
use crate::error::{JournalError, RootsError, RoundError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::combine::Combiner;
use crate::round::commitment::CommitmentSet;
use crate::round::definition::Round;
use crate::round::signer::PendingResponse;
use crate::wire::task::{AttemptId, SigningTask};

/// Longer messages are ignored. The largest opening has 6,788 bytes; framing and signature with
/// the longest names have less than 6,000.
const MAX_MESSAGE_LEN: usize = 16_384;

/// Number of attempts after the present one whose messages are kept.
const LOOKAHEAD: u8 = 3;

/// Output of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Send this message to all other members.
    Send(SignedMessage),
    /// The task is signed. The session has ended.
    Completed(Box<Aggregate>),
    /// The attempt was abandoned; these members are excluded from the next one.
    AttemptAbandoned(Vec<MemberId>),
    /// The contribution of this member is provably wrong.
    InvalidContribution(MemberId),
    /// A member has signed two different messages.
    Equivocation(Box<Equivocation>),
    /// The session has ended without a signature: too few members or attempts are left.
    Failed(RoundError),
}

/// Session of one member for one task: runs attempts until the task is signed. It owns its
/// state, is `Send` and never blocks. The caller supplies the time, in any increasing unit.
///
/// Every step ends when all signers have contributed, or at the timeout. Then the attempt is
/// retired, the silent members are excluded, and the next attempt begins. Members that have
/// excluded different members have different rounds and lose the attempt; the driver can
/// resolve this with [`Self::exclude`]. **Reliable delivery between all members is required**:
/// a lost message is not sent again.
///
/// After a crash, a new session for the same task and attempt sends the same messages again,
/// because the journal admits no others.
pub struct Session {
    member: Arc<Member>,
    tree: Arc<EpochTree>,
    agreed: AgreedRoots,
    task: SigningTask,
    timeout: u64,
    deadline: Option<u64>,
    attempt: u8,
    signers: Vec<MemberId>,
    // first message of each member and kind, of this attempt and later ones
    inbox: BTreeMap<(u8, MessageKind, MemberId), SignedMessage>,
    // members whose message was rejected in this step
    rejected: BTreeSet<MemberId>,
    step: Step,
}

enum Step {
    Opening(BTreeMap<MemberId, AuthenticatedKey>),
    Committing(CommitmentSet, PendingResponse),
    Responding(Combiner),
    Ended,
}

impl Session {
    /// A session that starts with the first attempt and all members that have acknowledged the
    /// roots. The first [`Self::tick`] starts it.
    #[must_use]
    pub fn new(
        member: Arc<Member>,
        tree: Arc<EpochTree>,
        agreed: AgreedRoots,
        task: SigningTask,
        timeout: u64,
    ) -> Self {
        Self {
            signers: agreed.ids().copied().collect(),
            member,
            tree,
            agreed,
            task,
            timeout,
            deadline: None,
            attempt: 0,
            inbox: BTreeMap::new(),
            rejected: BTreeSet::new(),
            step: Step::Opening(BTreeMap::new()),
        }
    }

    /// Starts with a later attempt and without some members, to resume after a crash.
    #[must_use]
    pub fn starting_at(mut self, attempt: u8, excluded: &[MemberId]) -> Self {
        self.attempt = attempt;
        self.signers.retain(|id| !excluded.contains(id));
        self
    }

    /// The number of the present attempt.
    #[must_use]
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether the session has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.step, Step::Ended)
    }

    /// Advances the clock: starts the session, or abandons the attempt at the timeout.
    ///
    /// # Errors
    /// [`RoundError::Journal`] and other failures of this member itself. Nothing was released,
    /// and the session has ended; a new one resumes the task.
    pub fn tick(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        self.run(now, journal, |session, journal, events| {
            match session.deadline {
                None => session.begin(now, journal, events),
                Some(deadline) if now >= deadline => {
                    let silent = session.missing();
                    session.abandon(silent, now, journal, events)
                }
                Some(_) => Ok(()),
            }
        })
    }

    /// Processes a message of another member. Malformed and unrelated messages are ignored.
    ///
    /// # Errors
    /// As [`Self::tick`].
    pub fn receive(
        &mut self,
        message: &[u8],
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        self.run(now, journal, |session, _, events| {
            session.store(message, events);
            Ok(())
        })
    }

    /// Abandons the present attempt and continues without these members.
    ///
    /// # Errors
    /// As [`Self::tick`].
    pub fn exclude(
        &mut self,
        ids: &[MemberId],
        now: u64,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        self.run(now, journal, |session, journal, events| {
            session.abandon(ids.to_vec(), now, journal, events)
        })
    }

    /// Runs `input` and then every step that has become possible. An error ends the session.
    fn run(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        input: impl FnOnce(
            &mut Self,
            &mut OneTimeKeyJournal,
            &mut Vec<SessionEvent>,
        ) -> Result<(), RoundError>,
    ) -> Result<Vec<SessionEvent>, RoundError> {
        let mut events = Vec::new();
        if self.has_ended() {
            return Ok(events);
        }
        let result = input(self, journal, &mut events);
        let result = result.and_then(|()| self.advance(now, journal, &mut events));
        if result.is_err() {
            self.step = Step::Ended;
        }
        if self.has_ended() {
            self.inbox.clear();
        }
        result.map(|()| events)
    }

    /// Stores a relevant message in the inbox. A copy of a stored message is recognised before
    /// its signature is verified.
    fn store(&mut self, message: &[u8], events: &mut Vec<SessionEvent>) {
        if message.len() > MAX_MESSAGE_LEN {
            return;
        }
        let Ok(message) = Unverified::from_bytes(message) else {
            return;
        };
        let content = message.content();
        let attempt = content.attempt_id();
        let ahead = attempt.attempt().checked_sub(self.attempt);
        if attempt.task() != self.task.id().as_bytes()
            || ahead.is_none_or(|ahead| ahead > LOOKAHEAD)
            || self.agreed.plan().index(attempt).is_err()
        {
            return;
        }
        let key = (attempt.attempt(), content.kind(), *content.id());
        let known = self.inbox.get(&key);
        if known.is_some_and(|known| message.is_copy_of(known)) {
            return;
        }
        let Ok(message) = self.agreed.accept(message) else {
            return;
        };
        match known {
            None => drop(self.inbox.insert(key, message)),
            Some(known) => {
                let evidence = Equivocation::new(known, &message).map(Box::new);
                events.extend(evidence.map(SessionEvent::Equivocation));
            }
        }
    }

    fn attempt_id(&self) -> Result<AttemptId, RoundError> {
        let attempt = self.task.id().attempt(self.attempt);
        let attempt = attempt.map_err(|_| RoundError::AttemptsExhausted)?;
        match self.agreed.plan().index(&attempt) {
            Err(RootsError::AttemptsExhausted) => Err(RoundError::AttemptsExhausted),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(attempt),
        }
    }

    /// Opens this member's key for the attempt.
    fn begin(
        &mut self,
        now: u64,
        journal: &OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        let attempt = match self.attempt_id() {
            Ok(attempt) => attempt,
            Err(RoundError::AttemptsExhausted) => {
                self.fail(RoundError::AttemptsExhausted, events);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let registry = self.agreed.registry();
        if !registry.is_quorum(&self.signers) {
            self.fail(RoundError::QuorumMissed, events);
            return Ok(());
        }
        self.next_step(now, Step::Opening(BTreeMap::new()));
        let opening = self
            .member
            .open(&self.agreed, &self.tree, &attempt, journal)?;
        self.send(opening, events);
        Ok(())
    }

    fn fail(&mut self, error: RoundError, events: &mut Vec<SessionEvent>) {
        self.step = Step::Ended;
        events.push(SessionEvent::Failed(error));
    }

    fn next_step(&mut self, now: u64, step: Step) -> Step {
        self.deadline = Some(now.saturating_add(self.timeout));
        self.rejected.clear();
        mem::replace(&mut self.step, step)
    }

    /// Sends a message of this member, and stores it like those of the others.
    fn send(&mut self, message: SignedMessage, events: &mut Vec<SessionEvent>) {
        let key = (self.attempt, message.kind(), *message.id());
        self.inbox.insert(key, message.clone());
        events.push(SessionEvent::Send(message));
    }

    fn missing(&self) -> Vec<MemberId> {
        match &self.step {
            Step::Opening(keys) => {
                let ids = self.signers.iter();
                ids.filter(|id| !keys.contains_key(id)).copied().collect()
            }
            Step::Committing(set, _) => set.missing().copied().collect(),
            Step::Responding(combiner) => combiner.missing().copied().collect(),
            Step::Ended => Vec::new(),
        }
    }

    /// Retires the attempt and begins the next one without `excluded`.
    fn abandon(
        &mut self,
        excluded: Vec<MemberId>,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        let attempt = self.attempt_id()?;
        self.member.retire(&self.agreed, &attempt, journal)?;
        self.signers.retain(|id| !excluded.contains(id));
        events.push(SessionEvent::AttemptAbandoned(excluded));
        self.attempt += 1;
        let attempt = self.attempt;
        self.inbox.retain(|(of, ..), _| *of >= attempt);
        if self.signers.contains(self.member.id()) {
            self.begin(now, journal, events)
        } else {
            self.fail(RoundError::Excluded, events);
            Ok(())
        }
    }

    /// Takes every step for which all messages are in the inbox.
    fn advance(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        while self.deadline.is_some() && !self.has_ended() {
            self.take_messages(events);
            if !self.missing().is_empty() {
                return Ok(());
            }
            match self.next_step(now, Step::Ended) {
                Step::Opening(keys) => self.commit(keys, now, journal, events)?,
                Step::Committing(set, pending) => {
                    let challenge = set.challenge()?;
                    match self.member.respond(pending, &challenge, journal) {
                        Ok(response) => {
                            self.step = Step::Responding(Combiner::new(&challenge));
                            self.send(response, events);
                        }
                        Err(error) => self.abandon_reused(error, now, journal, events)?,
                    }
                }
                Step::Responding(combiner) => match combiner.finish() {
                    Ok(aggregate) => events.push(SessionEvent::Completed(Box::new(aggregate))),
                    Err(error) if error.is_miss() => {
                        self.abandon(Vec::new(), now, journal, events)?;
                    }
                    Err(error) => return Err(error),
                },
                Step::Ended => {}
            }
        }
        Ok(())
    }

    /// Passes the messages of the present step from the inbox to the step.
    fn take_messages(&mut self, events: &mut Vec<SessionEvent>) {
        let kind = match self.step {
            Step::Opening(_) => MessageKind::Opening,
            Step::Committing(..) => MessageKind::Commitment,
            Step::Responding(_) => MessageKind::Response,
            Step::Ended => return,
        };
        for id in self.missing() {
            let Some(message) = self.inbox.get(&(self.attempt, kind, id)) else {
                continue;
            };
            if self.rejected.contains(&id) {
                continue;
            }
            let taken = match &mut self.step {
                Step::Opening(keys) => self.agreed.authenticate(message).map(|key| {
                    keys.insert(id, key);
                }),
                Step::Committing(set, _) => set.add(message),
                Step::Responding(combiner) => combiner.add(message),
                Step::Ended => Ok(()),
            };
            if let Err(error) = taken {
                self.rejected.insert(id);
                // A message for another round proves no fault: its sender counts as silent.
                if error != RoundError::OtherRound {
                    events.push(SessionEvent::InvalidContribution(id));
                }
            }
        }
    }

    fn commit(
        &mut self,
        keys: BTreeMap<MemberId, AuthenticatedKey>,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        let keys = keys.into_values();
        let round = Round::new(&self.agreed, &self.task, self.attempt, keys)?;
        match self.member.commit(&round, journal) {
            Ok((pending, commitment)) => {
                self.step = Step::Committing(CommitmentSet::new(&round), pending);
                self.send(commitment, events);
                Ok(())
            }
            Err(error) => self.abandon_reused(error, now, journal, events),
        }
    }

    /// Abandons the attempt if its key was used otherwise before a crash.
    fn abandon_reused(
        &mut self,
        error: RoundError,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        match error {
            RoundError::Journal(JournalError::KeyReused) => {
                self.abandon(Vec::new(), now, journal, events)
            }
            error => Err(error),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({}, attempt {})", self.member.id(), self.attempt)
    }
}
