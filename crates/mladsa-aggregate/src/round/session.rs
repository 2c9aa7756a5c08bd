//! Session: state machine of one member for one task, driven by messages and a clock.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::authenticate::AuthenticatedKey;
use crate::epoch::message::{Equivocation, MessageKind, SignedMessage, Unverified};
use crate::epoch::quorum::two_thirds;
use crate::epoch::tree::EpochTree;
use crate::error::{JournalError, RootsError, RoundError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::combine::Combiner;
use crate::round::commitment::CommitmentSet;
use crate::round::definition::Round;
use crate::round::outcome;
use crate::round::signer::PendingResponse;
use crate::wire::framing::hash_lp;
use crate::wire::signer_set::SignerSet;
use crate::wire::task::{AttemptId, SigningTask};

/// Longer messages are ignored, unless they are outcomes. The largest opening has 6,788 bytes;
/// framing and signature with the longest names have less than 6,000.
const MAX_MESSAGE_LEN: usize = 16_384;

/// Number of attempts after the present one whose messages are kept.
const LOOKAHEAD: u8 = 1;

/// Number of intervals of an attempt after which messages are sent again.
const INTERVALS: u64 = 16;

/// Output of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Send these bytes to all other members. They can be lost, repeated and reordered.
    Send(Vec<u8>),
    /// The task is signed. The session continues to send the aggregate to members that ask.
    Completed(Box<Aggregate>),
    /// The attempt was abandoned; these members did not contribute in time.
    AttemptAbandoned(Vec<MemberId>),
    /// The contribution of this member is provably wrong.
    InvalidContribution(MemberId),
    /// A member has signed two different messages.
    Equivocation(Box<Equivocation>),
    /// No attempts are left. The aggregate can still arrive from another member.
    Failed(RoundError),
}

/// Session of one member for one task: runs attempts until the task is signed. It owns its
/// state, is `Send` and never blocks. The caller supplies the time, in any increasing unit, and
/// calls [`Self::tick`] at least 16 times in a timeout.
///
/// Each attempt has a leader, from a rotation over the members that the task determines. Every
/// member opens its key; the leader announces the signers of the attempt, in a signed message,
/// from the members that have opened. At the timeout the attempt is retired and the next one
/// begins. A leader leaves out the members that did not contribute to an earlier attempt, and
/// after an attempt that missed every leader takes other signers if it can. A member that
/// receives messages of a later attempt from more than a third of the members begins that
/// attempt.
///
/// Messages are sent again 16 times in an attempt, and those of other members are forwarded,
/// each time those of one member in turn, so that a message that one member has shown to one
/// honest member reaches all.
///
/// With fewer than a third of faulty members, and messages of honest members that arrive within
/// a part of the timeout, every honest member has the aggregate after at most 2 f + 1 attempts,
/// and one more for each attempt that misses:
/// [`EpochPlan::attempts_for`](crate::EpochPlan::attempts_for). After a crash, a new session for
/// the same task continues, because the journal admits no other messages.
pub struct Session {
    member: Arc<Member>,
    tree: Arc<EpochTree>,
    agreed: AgreedRoots,
    task: SigningTask,
    timeout: u64,
    // the members that can sign, and the rotation of leaders
    ids: Vec<MemberId>,
    rotation: usize,
    attempt: u8,
    began: Option<u64>,
    resend_at: u64,
    resends: usize,
    // first message of each member and kind, of this attempt and the next ones
    inbox: BTreeMap<(u8, MessageKind, MemberId), SignedMessage>,
    // last attempt of which each member has sent a message
    heard: BTreeMap<MemberId, u8>,
    keys: BTreeMap<MemberId, AuthenticatedKey>,
    // messages that were rejected in this attempt
    rejected: BTreeSet<(MessageKind, MemberId)>,
    // members that a leader leaves out, and those that are provably faulty
    silent: BTreeSet<MemberId>,
    faulty: BTreeSet<MemberId>,
    // number of attempts that have missed
    misses: usize,
    step: Step,
    outcome: Option<Vec<u8>>,
}

enum Step {
    Opening,
    Committing(CommitmentSet, Option<PendingResponse>),
    Revealing(CommitmentSet, Option<PendingResponse>),
    Responding(Combiner),
    Ended,
}

impl Session {
    /// A session with all members that have acknowledged the roots. The first [`Self::tick`]
    /// starts it, with the first attempt that the journal has not retired.
    #[must_use]
    pub fn new(
        member: Arc<Member>,
        tree: Arc<EpochTree>,
        agreed: AgreedRoots,
        task: SigningTask,
        timeout: u64,
    ) -> Self {
        let ids: Vec<_> = agreed.ids().copied().collect();
        let hash: [u8; 8] = hash_lp(b"MLADSA leader", &[agreed.digest(), task.id().as_bytes()]);
        Self {
            rotation: (u64::from_be_bytes(hash) % ids.len().max(1) as u64) as usize,
            ids,
            member,
            tree,
            agreed,
            task,
            timeout,
            attempt: 0,
            began: None,
            resend_at: 0,
            resends: 0,
            inbox: BTreeMap::new(),
            heard: BTreeMap::new(),
            keys: BTreeMap::new(),
            rejected: BTreeSet::new(),
            silent: BTreeSet::new(),
            faulty: BTreeSet::new(),
            misses: 0,
            step: Step::Opening,
            outcome: None,
        }
    }

    /// The number of the present attempt.
    #[must_use]
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether this member has no more steps to take.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.step, Step::Ended)
    }

    /// Advances the clock: starts the session, sends messages again, or abandons the attempt at
    /// the timeout.
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
            match session.began {
                None => session.begin(now, journal, events),
                Some(began) if now >= began.saturating_add(session.timeout) => {
                    let missing = session.missing();
                    session.abandon(missing, now, journal, events)
                }
                Some(_) if now >= session.resend_at => session.send_again(now, events),
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
        if let Some(outcome) = &self.outcome {
            // A member that still sends messages has no aggregate. A third of the members answer.
            let mut events = Vec::new();
            if now >= self.resend_at && Unverified::from_bytes(message).is_ok() {
                let position = self.position() + self.resends;
                self.resends += 1;
                self.resend_at = now.saturating_add(self.interval());
                if position % self.ids.len() <= self.max_faulty() {
                    events.push(SessionEvent::Send(outcome.clone()));
                }
            }
            return Ok(events);
        }
        if outcome::is_outcome(message) {
            let mut events = Vec::new();
            if let Some(aggregate) = outcome::verify(message, &self.agreed, &self.task) {
                self.complete(aggregate, message.to_vec(), &mut events);
            }
            return Ok(events);
        }
        self.run(now, journal, |session, journal, events| {
            session.store(message, events);
            session.follow(now, journal, events)
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
        result.map(|()| events)
    }

    fn interval(&self) -> u64 {
        (self.timeout / INTERVALS).max(1)
    }

    /// The greatest number of faulty members, fewer than a third.
    fn max_faulty(&self) -> usize {
        self.ids.len().saturating_sub(1) / 3
    }

    fn position(&self) -> usize {
        let own = self.ids.binary_search(self.member.id());
        own.unwrap_or_default()
    }

    fn leader(&self) -> Option<MemberId> {
        let at = self.rotation + usize::from(self.attempt);
        self.ids.get(at % self.ids.len().max(1)).copied()
    }

    /// Sends the messages of this member again, signed, and those of another one, in turn.
    fn send_again(&mut self, now: u64, events: &mut Vec<SessionEvent>) -> Result<(), RoundError> {
        self.resend_at = now.saturating_add(self.interval());
        self.resends += 1;
        let n = self.ids.len().max(1);
        let other = self.ids.get((self.position() + self.resends) % n);
        for ((attempt, _, id), message) in &mut self.inbox {
            let is_own = id == self.member.id();
            if *attempt == self.attempt && (is_own || Some(id) == other) {
                if is_own && !message.is_signed() {
                    *message = self.member.seal(message)?;
                }
                events.push(SessionEvent::Send(message.to_bytes()));
            }
        }
        Ok(())
    }

    /// Stores a relevant message in the inbox. A copy of a stored message is recognised before
    /// its signature is verified. A message without a signature can be of anyone: it replaces none,
    /// and a signed one replaces it.
    fn store(&mut self, message: &[u8], events: &mut Vec<SessionEvent>) {
        if message.len() > MAX_MESSAGE_LEN {
            return;
        }
        let Ok(message) = Unverified::from_bytes(message) else {
            return;
        };
        let content = message.content();
        let (attempt, id) = (content.attempt_id(), *content.id());
        let number = attempt.attempt();
        if attempt.task() != self.task.id().as_bytes()
            || number < self.attempt
            || self.agreed.plan().index(attempt).is_err()
        {
            return;
        }
        let key = (number, content.kind(), id);
        let known = self.inbox.get(&key);
        if known.is_some_and(|known| message.is_copy_of(known)) {
            return;
        }
        let Ok(message) = self.agreed.accept(message) else {
            return;
        };
        if message.is_signed() || self.agreed.authenticate(&message).is_ok() {
            let heard = self.heard.entry(id).or_default();
            *heard = number.max(*heard);
        } else if id == *self.member.id() {
            return;
        }
        match known {
            Some(known) if known.is_signed() || !message.is_signed() => {
                if let Some(evidence) = Equivocation::new(known, &message)
                    && self.faulty.insert(id)
                {
                    events.push(SessionEvent::Equivocation(Box::new(evidence)));
                }
            }
            _ if number - self.attempt <= LOOKAHEAD => drop(self.inbox.insert(key, message)),
            _ => {}
        }
    }

    /// Begins the attempt that more than a third of the members have begun.
    fn follow(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        let mut heard: Vec<u8> = self.heard.values().copied().collect();
        heard.sort_unstable_by(|a, b| b.cmp(a));
        match heard.get(self.max_faulty()) {
            Some(&later) if self.began.is_some() && later > self.attempt => {
                self.retire(later - 1, journal)?;
                self.attempt = later;
                self.begin(now, journal, events)
            }
            _ => Ok(()),
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

    /// Opens this member's key for the attempt, or for the first one that is not retired.
    fn begin(
        &mut self,
        now: u64,
        journal: &OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        self.began = Some(now);
        self.step = Step::Opening;
        self.keys.clear();
        self.rejected.clear();
        loop {
            let attempt = match self.attempt_id() {
                Ok(attempt) => attempt,
                Err(RoundError::AttemptsExhausted) => {
                    self.step = Step::Ended;
                    events.push(SessionEvent::Failed(RoundError::AttemptsExhausted));
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            if self.member.is_retired(&self.agreed, &attempt, journal) {
                self.attempt += 1;
                continue;
            }
            let present = self.attempt;
            self.inbox.retain(|(of, ..), _| *of >= present);
            self.resend_at = now.saturating_add(self.interval());
            let opening = self
                .member
                .open(&self.agreed, &self.tree, &attempt, journal)?;
            self.send(opening, events);
            return Ok(());
        }
    }

    /// Sends a message of this member, and stores it like those of the others.
    fn send(&mut self, message: SignedMessage, events: &mut Vec<SessionEvent>) {
        events.push(SessionEvent::Send(message.to_bytes()));
        let key = (self.attempt, message.kind(), *message.id());
        self.inbox.insert(key, message);
    }

    /// The members whose message the present step waits for.
    fn missing(&self) -> Vec<MemberId> {
        match &self.step {
            Step::Opening => self.leader().into_iter().collect(),
            Step::Committing(set, _) if set.hashes().is_ok() => Vec::new(),
            Step::Committing(set, _) | Step::Revealing(set, _) => set.missing().copied().collect(),
            Step::Responding(combiner) => combiner.missing().copied().collect(),
            Step::Ended => Vec::new(),
        }
    }

    fn retire(&self, attempt: u8, journal: &mut OneTimeKeyJournal) -> Result<(), RoundError> {
        let attempt = self.task.id().attempt(attempt)?;
        self.member.retire(&self.agreed, &attempt, journal)
    }

    /// Retires the attempt and begins the next one.
    fn abandon(
        &mut self,
        mut missing: Vec<MemberId>,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        self.retire(self.attempt, journal)?;
        missing.retain(|id| id != self.member.id());
        // After an equivocation honest members may have followed different messages.
        if !missing.iter().any(|id| self.faulty.contains(id)) {
            self.silent.extend(&missing);
        }
        events.push(SessionEvent::AttemptAbandoned(missing));
        self.attempt += 1;
        self.begin(now, journal, events)
    }

    fn complete(&mut self, aggregate: Aggregate, bytes: Vec<u8>, events: &mut Vec<SessionEvent>) {
        self.step = Step::Ended;
        self.outcome = Some(bytes);
        self.inbox.clear();
        events.push(SessionEvent::Completed(Box::new(aggregate)));
    }

    /// Takes every step for which all messages are in the inbox.
    fn advance(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        while self.began.is_some() {
            self.take_messages(events);
            if matches!(self.step, Step::Opening) {
                let attempt = self.attempt;
                if !self.choose_signers(now, journal, events)? {
                    return Ok(());
                }
                if self.attempt != attempt {
                    continue;
                }
            }
            if self.has_ended() || !self.missing().is_empty() {
                return Ok(());
            }
            match mem::replace(&mut self.step, Step::Ended) {
                Step::Committing(set, pending) => {
                    let own = pending.as_ref();
                    let own = own.map(|pending| self.member.reveal(pending, &set, journal));
                    match own.transpose() {
                        Ok(own) => {
                            self.step = Step::Revealing(set, pending);
                            own.into_iter().for_each(|own| self.send(own, events));
                        }
                        Err(error) => self.abandon_reused(error, now, journal, events)?,
                    }
                }
                Step::Revealing(set, pending) => {
                    let challenge = set.challenge()?;
                    let own = pending.map(|own| self.member.respond(own, &challenge, journal));
                    match own.transpose() {
                        Ok(own) => {
                            self.step = Step::Responding(Combiner::new(&challenge));
                            own.into_iter().for_each(|own| self.send(own, events));
                        }
                        Err(error) => self.abandon_reused(error, now, journal, events)?,
                    }
                }
                Step::Responding(combiner) => match combiner.finish() {
                    Ok(aggregate) => {
                        let openings = combiner.ids().filter_map(|id| {
                            let key = (self.attempt, MessageKind::Opening, *id);
                            self.inbox.get(&key).map(SignedMessage::body)
                        });
                        let outcome = outcome::encode(&aggregate, openings);
                        events.push(SessionEvent::Send(outcome.clone()));
                        self.complete(aggregate, outcome, events);
                    }
                    Err(error) if error.is_miss() => {
                        self.misses += 1;
                        self.abandon(Vec::new(), now, journal, events)?;
                    }
                    Err(error) => return Err(error),
                },
                Step::Opening | Step::Ended => {}
            }
        }
        Ok(())
    }

    /// Passes the messages of the present step from the inbox to the step.
    fn take_messages(&mut self, events: &mut Vec<SessionEvent>) {
        let (kind, ids) = match self.step {
            Step::Opening => {
                let ids = self.ids.iter().filter(|id| !self.keys.contains_key(id));
                (MessageKind::Opening, ids.copied().collect())
            }
            Step::Committing(..) => (MessageKind::CommitmentHash, self.missing()),
            Step::Revealing(..) => (MessageKind::Commitment, self.missing()),
            Step::Responding(_) => (MessageKind::Response, self.missing()),
            Step::Ended => return,
        };
        for id in ids {
            let Some(message) = self.inbox.get(&(self.attempt, kind, id)) else {
                continue;
            };
            if self.rejected.contains(&(kind, id)) {
                continue;
            }
            let taken = match &mut self.step {
                Step::Opening => self.agreed.authenticate(message).map(|key| {
                    self.keys.insert(id, key);
                }),
                Step::Committing(set, _) | Step::Revealing(set, _) => set.add(message),
                Step::Responding(combiner) => combiner.add(message),
                Step::Ended => Ok(()),
            };
            if let Err(error) = taken {
                if !message.is_signed() {
                    // Another one can be the message of this member.
                    self.inbox.remove(&(self.attempt, kind, id));
                    continue;
                }
                self.rejected.insert((kind, id));
                // A message for another round proves no fault: its sender counts as silent.
                if error != RoundError::OtherRound {
                    self.invalid(id, events);
                }
            }
        }
    }

    fn invalid(&mut self, id: MemberId, events: &mut Vec<SessionEvent>) {
        self.faulty.insert(id);
        events.push(SessionEvent::InvalidContribution(id));
    }

    /// Fixes the signers of the attempt: as the leader, or as the leader has announced. `false`
    /// until that is possible.
    fn choose_signers(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<bool, RoundError> {
        let Some(leader) = self.leader() else {
            return Ok(false);
        };
        let is_leader = leader == *self.member.id();
        let signers = if is_leader {
            self.own_choice(now)
        } else {
            self.announced(leader, events)
        };
        let Some(signers) = signers else {
            return Ok(false);
        };
        let keys: Vec<_> = signers
            .iter()
            .filter_map(|id| self.keys.get(id).cloned())
            .collect();
        if keys.len() < signers.len() {
            return Ok(false);
        }
        let round = Round::new(&self.agreed, &self.task, self.attempt, keys)?;
        let set = CommitmentSet::new(&round);
        if !signers.contains(self.member.id()) {
            self.step = Step::Committing(set, None);
            return Ok(true);
        }
        // The leader commits before it announces, so that after a crash it cannot announce other
        // signers: the journal admits one commitment.
        match self.member.commit(&round, journal) {
            Ok((pending, hash)) => {
                self.step = Step::Committing(set, Some(pending));
                if is_leader {
                    let (subject, body) = (round.subject().clone(), round.signer_set().as_bytes());
                    let kind = MessageKind::Signers;
                    let signers = self.member.message(kind, subject, &[0; 64], body.to_vec());
                    self.send(self.member.seal_for_channel(signers)?, events);
                }
                self.send(hash, events);
            }
            Err(error) => self.abandon_reused(error, now, journal, events)?,
        }
        Ok(true)
    }

    /// The signers that this member chooses as the leader: all that have opened and are not left
    /// out, when that are all that can be expected, or after a quarter of the timeout.
    fn own_choice(&mut self, now: u64) -> Option<Vec<MemberId>> {
        let registry = Arc::clone(self.agreed.registry());
        let is_enough = |ids: &Vec<MemberId>| registry.is_quorum(ids);
        let expected = |session: &Self| {
            let ids = session.ids.iter().filter(|id| {
                **id == *session.member.id()
                    || !(session.silent.contains(id) || session.faulty.contains(id))
            });
            ids.copied().collect::<Vec<_>>()
        };
        if !is_enough(&expected(self)) {
            self.silent.clear();
        }
        let mut ids = expected(self);
        let all = ids.len();
        ids.retain(|id| self.keys.contains_key(id));
        let gathered = self.began?.saturating_add(self.timeout / 4);
        if !is_enough(&ids) || (ids.len() < all && now < gathered) {
            return None;
        }
        // After a miss, a smaller quorum of other members: the cause of a miss is not known.
        if self.misses > 0 {
            let own = self.position();
            let enough = two_thirds(self.ids.len());
            let turn = self.misses + usize::from(self.attempt);
            let n = ids.len();
            ids.rotate_left(turn % n);
            while ids.len() > enough {
                let last = ids.iter().rposition(|id| Some(id) != self.ids.get(own));
                let removed = ids.remove(last?);
                if !is_enough(&ids) {
                    ids.push(removed);
                    break;
                }
            }
        }
        Some(ids)
    }

    /// The signers that the leader has announced. An announcement without a quorum, or without
    /// the leader, is provably wrong.
    fn announced(
        &mut self,
        leader: MemberId,
        events: &mut Vec<SessionEvent>,
    ) -> Option<Vec<MemberId>> {
        let kind = MessageKind::Signers;
        let message = self.inbox.get(&(self.attempt, kind, leader))?;
        if self.rejected.contains(&(kind, leader)) {
            return None;
        }
        let registry = self.agreed.registry();
        let signers = SignerSet::from_bytes(message.body(), registry.len()).map(|set| {
            let mut positions = set.positions(registry.len()).peekable();
            let ids = registry.ids().enumerate();
            ids.filter_map(|(at, id)| positions.next_if_eq(&at).map(|_| *id))
                .collect::<Vec<_>>()
        });
        match signers {
            Ok(signers) if signers.contains(&leader) && registry.is_quorum(&signers) => {
                Some(signers)
            }
            _ => {
                self.rejected.insert((kind, leader));
                self.invalid(leader, events);
                None
            }
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
