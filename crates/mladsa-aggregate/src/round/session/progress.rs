//! Steps of an attempt, from the first opening to the certificate or to the next attempt.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::mem;

use super::{Attempt, Call, Session, SessionEvent};
use crate::committee::epoch::AttemptId;
use crate::error::{CommitteeError, JournalError, RoundError};
use crate::member_id::MemberName;
use crate::round::certificate::AggregateCertificate;
use crate::round::combine::Combiner;
use crate::round::commitment::CommitmentSet;
use crate::round::message::MessageKind;
use crate::round::signer::PendingResponse;

pub(super) enum Step {
    Opening,
    Committing(CommitmentSet, Option<PendingResponse>),
    Revealing(CommitmentSet, Option<PendingResponse>),
    Responding(Combiner),
    Ended,
}

impl Step {
    /// Returns the kind of the messages that the step waits for.
    pub(super) fn awaited_kind(&self) -> Option<MessageKind> {
        match self {
            Self::Opening => Some(MessageKind::Signers),
            Self::Committing(..) => Some(MessageKind::CommitmentHash),
            Self::Revealing(..) => Some(MessageKind::Commitment),
            Self::Responding(_) => Some(MessageKind::Response),
            Self::Ended => None,
        }
    }
}

impl Session {
    pub(super) fn attempt_id(&self) -> AttemptId {
        AttemptId {
            slot: self.task.slot(),
            number: self.current.number,
        }
    }

    /// Opens this member's key for the attempt, or for the first one that is not retired.
    pub(super) fn begin(&mut self, call: &mut Call<'_>) -> Result<(), RoundError> {
        self.current = Attempt::new(self.current.number);
        self.current.has_begun = true;
        self.requests.answer_lens.clear();
        loop {
            let attempt = self.attempt_id();
            match self.committee.epoch().index(attempt) {
                Err(error @ CommitteeError::AttemptsExhausted) => {
                    self.current.step = Step::Ended;
                    call.events.push(SessionEvent::Failed(error.into()));
                    return Ok(());
                }
                index => drop(index?),
            }
            if self.member.is_retired(attempt, call.journal) {
                self.current.number += 1;
                continue;
            }
            let present = self.current.number;
            // Members that wait for the responses of the last attempt learn from them that it
            // missed.
            self.inbox.retain(|(of, kind, _), _| {
                let is_last = *kind == MessageKind::Response && *of + 1 == present;
                *of >= present || is_last
            });
            self.wait(call.now);
            let opening = self.member.open(&self.committee, attempt, call.journal)?;
            self.send(opening, call);
            return Ok(());
        }
    }

    /// Returns the members whose message the current step waits for.
    pub(super) fn missing(&self) -> Vec<MemberName> {
        match &self.current.step {
            Step::Opening => self.leader().into_iter().collect(),
            Step::Committing(set, _) if set.hashes().is_ok() => Vec::new(),
            Step::Committing(set, _) | Step::Revealing(set, _) => set.missing().copied().collect(),
            Step::Responding(combiner) => combiner.missing().copied().collect(),
            Step::Ended => Vec::new(),
        }
    }

    pub(super) fn retire(&self, number: u8, call: &mut Call<'_>) -> Result<(), RoundError> {
        let slot = self.task.slot();
        self.member.retire(AttemptId { slot, number }, call.journal)
    }

    /// Retires the attempt and begins the next one.
    pub(super) fn abandon(
        &mut self,
        missing: Vec<MemberName>,
        call: &mut Call<'_>,
    ) -> Result<(), RoundError> {
        self.retire(self.current.number, call)?;
        self.note_missing(missing, call);
        self.current.number += 1;
        self.begin(call)
    }

    /// Counts the members that have delayed the attempt, which ends.
    pub(super) fn note_missing(&mut self, mut missing: Vec<MemberName>, call: &mut Call<'_>) {
        missing.retain(|id| id != self.member.id());
        let disputed = self.disputed();
        if disputed.is_empty() {
            for id in self.causes(&missing) {
                *self.peers.silent.entry(id).or_default() += 1;
            }
        } else {
            missing = disputed;
        }
        call.events.push(SessionEvent::AttemptAbandoned(missing));
    }

    /// Returns the members that can have delayed the attempt: silent and late ones. Members with
    /// more weight than can be faulty are no cause: they waited for messages themselves.
    fn causes(&mut self, missing: &[MemberName]) -> BTreeSet<MemberName> {
        let missing: BTreeSet<_> = missing.iter().copied().collect();
        let (kind, late) = self.current.late.take().unzip();
        let late = late.unwrap_or_default();
        // Late messages can be the cause of missing ones of later steps.
        let sets = if kind < self.current.step.awaited_kind() {
            [late, missing]
        } else {
            [missing, late]
        };
        let few = |set: &BTreeSet<_>| self.committee.weight(set) <= self.committee.max_faulty();
        let causes = sets.into_iter().find(|set| !set.is_empty() && few(set));
        causes.unwrap_or_default()
    }

    /// Notes the sender of a message that came late. Messages of later steps can be late because of
    /// it.
    pub(super) fn note_time(&mut self, kind: MessageKind, id: MemberName, now: u64) {
        let is_late = |started: u64| now >= started.saturating_add(self.timeout / 2);
        if self.current.started.is_some_and(is_late) && id != *self.member.id() {
            let (first, ids) = self
                .current
                .late
                .get_or_insert_with(|| (kind, BTreeSet::new()));
            if kind < *first {
                (*first, *ids) = (kind, BTreeSet::new());
            }
            if kind == *first {
                ids.insert(id);
            }
        }
    }

    /// Abandons the attempt if its key was used otherwise before a crash.
    pub(super) fn abandon_reused(
        &mut self,
        error: RoundError,
        call: &mut Call<'_>,
    ) -> Result<(), RoundError> {
        match error {
            RoundError::Journal(JournalError::KeyReused) => self.abandon(Vec::new(), call),
            error => Err(error),
        }
    }

    pub(super) fn complete(&mut self, certificate: AggregateCertificate, call: &mut Call<'_>) {
        self.current.step = Step::Ended;
        self.outcome = Some(certificate.to_bytes());
        // Members that lack few of the responses are helped with less than the certificate.
        let present = self.current.number;
        self.inbox
            .retain(|(attempt, kind, _), _| (*attempt, *kind) == (present, MessageKind::Response));
        self.requests.answered.clear();
        self.requests.answer_lens.clear();
        call.events
            .push(SessionEvent::Completed(Box::new(certificate)));
    }

    pub(super) fn invalid(&mut self, id: MemberName, call: &mut Call<'_>) {
        self.peers.faulty.insert(id);
        self.peers.disputed.insert((id, self.current.number));
        call.events.push(SessionEvent::InvalidContribution(id));
    }

    /// Takes every step for which all messages are in the inbox.
    pub(super) fn advance(&mut self, call: &mut Call<'_>) -> Result<(), RoundError> {
        while self.current.has_begun {
            self.take_messages(call);
            if matches!(self.current.step, Step::Opening) {
                let attempt = self.current.number;
                if !self.choose_signers(call)? {
                    return Ok(());
                }
                if self.current.number != attempt {
                    continue;
                }
            }
            if self.has_ended() || !self.missing().is_empty() {
                return Ok(());
            }
            self.wait(call.now);
            match mem::replace(&mut self.current.step, Step::Ended) {
                Step::Committing(set, pending) => {
                    let own = pending.as_ref();
                    let own = own.map(|pending| self.member.reveal(pending, &set, call.journal));
                    match own.transpose() {
                        Ok(own) => {
                            self.current.step = Step::Revealing(set, pending);
                            own.into_iter().for_each(|own| self.send(own, call));
                        }
                        Err(error) => self.abandon_reused(error, call)?,
                    }
                }
                Step::Revealing(set, pending) => {
                    let challenge = set.challenge()?;
                    let own = pending.map(|own| self.member.respond(own, &challenge, call.journal));
                    match own.transpose() {
                        Ok(own) => {
                            self.current.step = Step::Responding(Combiner::new(&challenge));
                            own.into_iter().for_each(|own| self.send(own, call));
                        }
                        Err(error) => self.abandon_reused(error, call)?,
                    }
                }
                Step::Responding(combiner) => match combiner.finish() {
                    Ok(aggregate) => {
                        let openings = combiner.ids().filter_map(|id| {
                            let key = (self.current.number, MessageKind::Opening, *id);
                            self.inbox.get(&key)
                        });
                        self.complete(AggregateCertificate::new(aggregate, openings), call);
                    }
                    Err(error) if error.is_miss() => {
                        self.misses += 1;
                        self.abandon(Vec::new(), call)?;
                    }
                    Err(error) => return Err(error),
                },
                Step::Opening | Step::Ended => {}
            }
        }
        Ok(())
    }

    /// Passes the messages of the current step from the inbox to the step.
    fn take_messages(&mut self, call: &mut Call<'_>) {
        let (kind, ids) = match self.current.step {
            Step::Opening => {
                let ids = self
                    .ids
                    .iter()
                    .filter(|id| !self.current.keys.contains_key(id));
                (MessageKind::Opening, ids.copied().collect())
            }
            Step::Committing(..) => (MessageKind::CommitmentHash, self.missing()),
            Step::Revealing(..) => (MessageKind::Commitment, self.missing()),
            Step::Responding(_) => (MessageKind::Response, self.missing()),
            Step::Ended => return,
        };
        for id in ids {
            let Some(message) = self.inbox.get(&(self.current.number, kind, id)) else {
                continue;
            };
            if self.current.rejected.contains(&(kind, id)) {
                continue;
            }
            let taken = match &mut self.current.step {
                Step::Opening => self.committee.authenticate(message).map(|key| {
                    self.current.keys.insert(id, key);
                }),
                Step::Committing(set, _) | Step::Revealing(set, _) => set.add(message),
                Step::Responding(combiner) => combiner.add(message),
                Step::Ended => Ok(()),
            };
            let Err(error) = taken else {
                if kind != MessageKind::Opening {
                    self.note_time(kind, id, call.now);
                }
                continue;
            };
            match (kind, error) {
                (_, RoundError::InvalidContribution(_) | RoundError::ConflictingMessages(_)) => {
                    self.current.rejected.insert((kind, id));
                    self.invalid(id, call);
                }
                // A hash for another round does not prove a fault: it counts as missing.
                (MessageKind::CommitmentHash, _) => drop(self.current.rejected.insert((kind, id))),
                // Another message can be the one of this member.
                _ => drop(self.inbox.remove(&(self.current.number, kind, id))),
            }
        }
    }
}
