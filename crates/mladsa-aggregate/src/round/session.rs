//! A member's whole way through a decision: messages and a clock in, messages out.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

use crate::epoch::agreed::{AgreedRoots, AuthenticatedKey};
use crate::epoch::message::{Equivocation, Message, Part};
use crate::epoch::policy::Policy;
use crate::epoch::tree::EpochTree;
use crate::error::Error;
use crate::guard::journal::Guard;
use crate::keys::member::Member;
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::cohort::{Decision, Kind, Round};
use crate::round::combine::Combiner;
use crate::round::commitment::CommitmentSet;
use crate::round::signer::Pending;
use crate::wire::label::{BaseLabel, ContentLabel};

/// A [`Decision`] that owns its parts.
#[derive(Clone, Debug)]
pub struct Topic {
    /// The domain.
    pub ctx: Vec<u8>,
    /// The base label.
    pub label: BaseLabel,
    /// How the payload becomes the message.
    pub kind: Kind,
    /// The bytes to be signed.
    pub payload: Vec<u8>,
}

impl Topic {
    /// The decision.
    pub fn decision(&self) -> Decision<'_> {
        Decision {
            ctx: &self.ctx,
            label: &self.label,
            kind: self.kind,
            payload: &self.payload,
        }
    }
}

/// Longer messages are not looked at: the largest opening has 6,788 bytes, framing and
/// signature of the longest names and labels less than 6,000.
const MAX_MESSAGE_LEN: usize = 16_384;

/// Attempts whose messages are kept before they begin here.
const AHEAD: u8 = 3;

/// What a session wants of its caller, or tells it.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Send this to all others.
    Send(Message),
    /// The decision is signed. The session has ended.
    Done(Box<Aggregate>),
    /// The attempt is given up; who is named is left out of the next.
    LeftOut(Vec<MemberId>),
    /// This member's contribution was provably wrong.
    Blamed(MemberId),
    /// A member signed two different messages.
    Evidence(Box<Equivocation>),
    /// No signature comes about: too few members or attempts are left. The session
    /// has ended.
    Failed(Error),
}

/// One member on one decision, attempt after attempt, until it is signed. Owned and
/// `Send`: it borrows nothing and waits for nothing. Time is the caller's, in any unit
/// that only rises.
///
/// Every step lasts until everybody of the cohort has contributed, or until the timeout.
/// Then the attempt is retired, who was silent is left out, and the next one begins. Two
/// members that left out different ones have different rounds and lose an attempt too;
/// who drives the committee can settle that with [`Self::leave_out`].
///
/// After a crash a new session of the same topic, at the attempt that was under way,
/// sends the same messages again: the guard sees to that.
pub struct Session {
    member: Arc<Member>,
    tree: Arc<EpochTree>,
    agreed: AgreedRoots,
    policy: Policy,
    topic: Topic,
    timeout: u64,
    deadline: u64,
    attempt: u8,
    cohort: Vec<MemberId>,
    // the first message of each member and part, of this attempt and later ones
    inbox: BTreeMap<(u8, Part, MemberId), Message>,
    // whose message is of no use in this step: looked at once
    useless: BTreeSet<MemberId>,
    step: Step,
}

enum Step {
    Opening(BTreeMap<MemberId, AuthenticatedKey>),
    Committing(CommitmentSet, Pending),
    Responding(Combiner),
    Ended,
}

impl Session {
    /// A session from `attempt` on, with everybody who has acknowledged the roots but for
    /// those in `without`. It begins with [`Self::tick`].
    pub fn new(
        member: Arc<Member>,
        tree: Arc<EpochTree>,
        agreed: AgreedRoots,
        policy: Policy,
        topic: Topic,
        (attempt, without): (u8, &[MemberId]),
        timeout: u64,
    ) -> Self {
        let ids = agreed.ids().filter(|id| !without.contains(id));
        Self {
            cohort: ids.copied().collect(),
            member,
            tree,
            agreed,
            policy,
            topic,
            timeout,
            deadline: 0,
            attempt,
            inbox: BTreeMap::new(),
            useless: BTreeSet::new(),
            step: Step::Opening(BTreeMap::new()),
        }
    }

    /// The attempt under way.
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether it has come to its end.
    pub fn has_ended(&self) -> bool {
        matches!(self.step, Step::Ended)
    }

    /// Lets time pass: begins, and gives up on who is silent.
    ///
    /// # Errors
    /// [`Error::GuardFailure`] and whatever else is this member's own trouble: nothing
    /// was released, and the session has ended; a new one takes the topic up again.
    pub fn tick(&mut self, now: u64, guard: &mut Guard) -> Result<Vec<Event>, Error> {
        self.act(now, guard, |session, guard, events| {
            if session.deadline == 0 {
                session.begin(now, guard, events)
            } else if now >= session.deadline {
                let silent = session.missing();
                session.give_up(silent, now, guard, events)
            } else {
                Ok(())
            }
        })
    }

    /// Takes up a message of another member. Junk, and what belongs elsewhere, is
    /// ignored.
    ///
    /// # Errors
    /// As [`Self::tick`].
    pub fn receive(
        &mut self,
        message: &[u8],
        now: u64,
        guard: &mut Guard,
    ) -> Result<Vec<Event>, Error> {
        self.act(now, guard, |session, _, events| {
            session.take(message, events);
            Ok(())
        })
    }

    /// Gives the present attempt up and goes on without these members.
    ///
    /// # Errors
    /// As [`Self::tick`].
    pub fn leave_out(
        &mut self,
        ids: &[MemberId],
        now: u64,
        guard: &mut Guard,
    ) -> Result<Vec<Event>, Error> {
        self.act(now, guard, |session, guard, events| {
            session.give_up(ids.to_vec(), now, guard, events)
        })
    }

    /// What is new, and every step that it allows. An error is an end.
    fn act(
        &mut self,
        now: u64,
        guard: &mut Guard,
        new: impl FnOnce(&mut Self, &mut Guard, &mut Vec<Event>) -> Result<(), Error>,
    ) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        if self.has_ended() {
            return Ok(events);
        }
        let result = new(self, guard, &mut events);
        let result = result.and_then(|()| self.advance(now, guard, &mut events));
        if result.is_err() {
            self.step = Step::Ended;
        }
        if self.has_ended() {
            self.inbox.clear();
        }
        result.map(|()| events)
    }

    /// Puts a message into the inbox, if it can be of use.
    fn take(&mut self, message: &[u8], events: &mut Vec<Event>) {
        if message.len() > MAX_MESSAGE_LEN {
            return;
        }
        let Ok(message) = self.agreed.receive(message) else {
            return;
        };
        let label = message.label();
        let ahead = label.attempt().checked_sub(self.attempt);
        if label.base() != self.topic.label.as_bytes()
            || ahead.is_none_or(|ahead| ahead > AHEAD)
            || self.agreed.plan().index(label).is_err()
        {
            return;
        }
        let key = (label.attempt(), message.part(), *message.id());
        match self.inbox.get(&key) {
            None => {
                self.inbox.insert(key, message);
            }
            Some(known) => {
                let evidence = Equivocation::new(known, &message);
                events.extend(evidence.map(|evidence| Event::Evidence(Box::new(evidence))));
            }
        }
    }

    fn label(&self) -> Result<ContentLabel, Error> {
        let label = self.topic.label.attempt(self.attempt)?;
        self.agreed.plan().index(&label)?;
        Ok(label)
    }

    /// Opens this member's key for the attempt.
    fn begin(&mut self, now: u64, guard: &Guard, events: &mut Vec<Event>) -> Result<(), Error> {
        let ends = |error| match error {
            Error::AttemptsExhausted | Error::QuorumMissed => Ok(error),
            _ => Err(error),
        };
        let registry = self.agreed.registry();
        let label = self.policy.check(registry, self.cohort.iter());
        let label = label.and_then(|()| self.label());
        match label.map_err(ends) {
            Ok(label) => {
                self.next_step(now, Step::Opening(BTreeMap::new()));
                let opening = self.member.open(&self.agreed, &self.tree, &label, guard)?;
                self.send(opening, events);
                Ok(())
            }
            Err(Ok(error)) => {
                self.step = Step::Ended;
                events.push(Event::Failed(error));
                Ok(())
            }
            Err(Err(error)) => Err(error),
        }
    }

    fn next_step(&mut self, now: u64, step: Step) -> Step {
        self.deadline = now.saturating_add(self.timeout).max(1);
        self.useless.clear();
        mem::replace(&mut self.step, step)
    }

    /// One's own message is in the inbox like everybody's.
    fn send(&mut self, message: Message, events: &mut Vec<Event>) {
        let key = (self.attempt, message.part(), *message.id());
        self.inbox.insert(key, message.clone());
        events.push(Event::Send(message));
    }

    fn missing(&self) -> Vec<MemberId> {
        match &self.step {
            Step::Opening(keys) => {
                let ids = self.cohort.iter();
                ids.filter(|id| !keys.contains_key(id)).copied().collect()
            }
            Step::Committing(set, _) => set.missing().copied().collect(),
            Step::Responding(combiner) => combiner.missing().copied().collect(),
            Step::Ended => Vec::new(),
        }
    }

    fn give_up(
        &mut self,
        without: Vec<MemberId>,
        now: u64,
        guard: &mut Guard,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        self.member.retire(&self.agreed, &self.label()?, guard)?;
        self.cohort.retain(|id| !without.contains(id));
        events.push(Event::LeftOut(without));
        self.attempt += 1;
        let attempt = self.attempt;
        self.inbox.retain(|(of, ..), _| *of >= attempt);
        if self.cohort.contains(self.member.id()) {
            self.begin(now, guard, events)
        } else {
            self.step = Step::Ended;
            events.push(Event::Failed(Error::UnknownMember));
            Ok(())
        }
    }

    /// Takes every step that what has come in allows.
    fn advance(
        &mut self,
        now: u64,
        guard: &mut Guard,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        loop {
            let part = match self.step {
                Step::Opening(_) => Part::Opening,
                Step::Committing(..) => Part::Commitment,
                Step::Responding(_) => Part::Response,
                Step::Ended => return Ok(()),
            };
            if self.deadline == 0 {
                return Ok(());
            }
            for id in self.missing() {
                let Some(message) = self.inbox.get(&(self.attempt, part, id)) else {
                    continue;
                };
                if self.useless.contains(&id) {
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
                    self.useless.insert(id);
                    // What belongs to another round is silence here, and no fault.
                    if error != Error::OtherRound {
                        events.push(Event::Blamed(id));
                    }
                }
            }
            if !self.missing().is_empty() {
                return Ok(());
            }
            match self.next_step(now, Step::Ended) {
                Step::Opening(keys) => self.commit(keys, now, guard, events)?,
                Step::Committing(set, pending) => {
                    let challenge = set.challenge()?;
                    match self.member.respond(pending, &challenge, guard) {
                        Ok(response) => {
                            self.step = Step::Responding(Combiner::new(&challenge));
                            self.send(response, events);
                        }
                        // Answered otherwise before a crash.
                        Err(Error::OneTimeViolation) => {
                            self.give_up(Vec::new(), now, guard, events)?;
                        }
                        Err(error) => return Err(error),
                    }
                }
                Step::Responding(combiner) => match combiner.finish() {
                    Ok(aggregate) => events.push(Event::Done(Box::new(aggregate))),
                    Err(Error::Retry(_)) => self.give_up(Vec::new(), now, guard, events)?,
                    Err(error) => return Err(error),
                },
                Step::Ended => {}
            }
        }
    }

    fn commit(
        &mut self,
        keys: BTreeMap<MemberId, AuthenticatedKey>,
        now: u64,
        guard: &mut Guard,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let decision = self.topic.decision();
        let known = keys.values().cloned();
        let round = Round::new(&self.agreed, &decision, self.attempt, known)?;
        match self.member.commit(&round, guard) {
            Ok((pending, commitment)) => {
                self.step = Step::Committing(CommitmentSet::new(&round), pending);
                self.send(commitment, events);
                Ok(())
            }
            // This attempt went another way before a crash.
            Err(Error::OneTimeViolation) => self.give_up(Vec::new(), now, guard, events),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({}, attempt {})", self.member.id(), self.attempt)
    }
}
