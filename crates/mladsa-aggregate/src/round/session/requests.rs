//! Requests for messages that a member lacks, and answers to them.

use alloc::vec::Vec;
use core::slice;

use super::inbox::MAX_MESSAGE_LEN;
use super::progress::Step;
use super::{Call, Session, SessionEvent};
use crate::error::RoundError;
use crate::member_id::MemberName;
use crate::round::message::{Message, MessageKind, Unverified};
use crate::wire::signer_set::SignerSet;

impl Session {
    /// Returns the number of intervals of an attempt, after each of which a member asks for what it
    /// lacks. It grows with the committee: of many messages more are lost, and more members are
    /// asked in turn.
    fn intervals(&self) -> usize {
        16 + 4 * self.ids.len().ilog2() as usize
    }

    fn interval(&self) -> u64 {
        (self.timeout / self.intervals() as u64).max(1)
    }

    /// Begins to wait for the messages of a step. Messages that are on their way are not asked for:
    /// at first, they have as long as an interval of the smallest committees.
    pub(super) fn wait(&mut self, now: u64) {
        self.requests.waits = 0;
        self.requests.resend_at = now.saturating_add(self.interval().max(self.timeout / 24));
    }

    /// Sends the own opening to members that have not begun the attempt, and requests: for all that
    /// the current step lacks to the leader, and to others in turn, and for its own message to each
    /// member that the step waits for. Every member is asked at least once in an attempt, because
    /// it can have the certificate.
    pub(super) fn ask(&mut self, call: &mut Call<'_>) -> Result<(), RoundError> {
        // Several intervals can pass between two ticks.
        let interval = self.interval();
        let late = call.now.saturating_sub(self.requests.resend_at);
        self.requests.resend_at = call.now.saturating_add(interval - late % interval);
        self.requests.waits += 1;
        let own = *self.member.id();
        if let Some(opening) = self
            .inbox
            .get(&(self.current.number, MessageKind::Opening, own))
        {
            let absent = self.ids.iter().filter(|id| !self.is_present(id));
            call.events.extend(absent.map(|id| to(*id, opening)));
        }
        let leader = self.leader();
        let missing = self.missing();
        let Some(awaited) = self.current.step.awaited_kind() else {
            return Ok(());
        };
        // The leader announces; a follower may lack openings of announced signers.
        let (kind, lacking) = match (&self.current.step, self.lacking_openings()) {
            (Step::Opening, lacking) if !lacking.is_empty() => (MessageKind::Opening, lacking),
            _ => (awaited, missing.clone()),
        };
        let request = self.request(kind, &lacking)?;
        // All in four fifths of the intervals: a step waits longer at first.
        let n = self.ids.len();
        let per_interval = (n + n / 4).div_ceil(self.intervals());
        let passed = usize::try_from(late / interval).map_or(n, |passed| passed.min(n)) + 1;
        let number = n.min(passed * per_interval);
        let position = self.committee.position(&own);
        let first = position.ok_or(RoundError::UnknownMember)? + 1 + self.requests.turns;
        self.requests.turns = (self.requests.turns + number) % n;
        let turn = (first..first + number).filter_map(|at| self.ids.get(at % n));
        let mut asked: Vec<MemberName> = turn.copied().collect();
        if !self.disputed().is_empty() {
            // The attempt cannot be saved.
            call.events.extend(
                asked
                    .iter()
                    .filter(|id| **id != own)
                    .map(|id| to(*id, &request)),
            );
            return Ok(());
        }
        asked.extend(leader);
        asked.sort_unstable();
        asked.dedup();
        asked.retain(|id| *id != own);
        call.events.extend(asked.iter().map(|id| to(*id, &request)));
        // The senders themselves are asked for their own messages: if all were asked for those of
        // all, the answers would grow with the cube of the committee.
        for id in lacking.iter().filter(|id| **id != own) {
            if !asked.contains(id) {
                call.events
                    .push(to(*id, &self.request(kind, slice::from_ref(id))?));
            }
        }
        // Members that follow another announcement, or other hashes, show it.
        let signers: Vec<MemberName> = match &self.current.step {
            Step::Revealing(set, _) => set.round().ids().copied().collect(),
            _ => Vec::new(),
        };
        for id in missing.iter().filter(|id| **id != own) {
            if self
                .current
                .rejected
                .contains(&(MessageKind::CommitmentHash, *id))
            {
                let signers = self.request(MessageKind::Signers, leader.as_slice())?;
                call.events.push(to(*id, &signers));
            }
            let waits = self.requests.waits;
            let is_turn = waits > 1 && waits.is_power_of_two();
            if is_turn && waits > 2 && matches!(self.current.step, Step::Committing(..)) {
                let signers = self.request(MessageKind::Signers, leader.as_slice())?;
                call.events.push(to(*id, &signers));
            }
            if !signers.is_empty() && is_turn {
                call.events.push(to(
                    *id,
                    &self.request(MessageKind::CommitmentHash, &signers)?,
                ));
            }
        }
        Ok(())
    }

    /// Makes a request for the messages of this kind of these members.
    fn request(&self, kind: MessageKind, ids: &[MemberName]) -> Result<Message, RoundError> {
        let positions = ids.iter().filter_map(|id| self.committee.position(id));
        let positions: Vec<_> = positions.collect();
        let set = SignerSet::new(self.ids.len(), &positions)?;
        let body = [&[kind as u8], set.as_bytes()].concat();
        let subject = self.committee.subject(self.attempt_id());
        self.member
            .message(MessageKind::Request, &subject, &[0; 64], body)
    }

    /// Returns whether a member has not been answered about this kind in this interval, or, if its
    /// answers have the length of four times all messages of an attempt, in a timeout.
    fn may_answer(&mut self, id: &MemberName, kind: MessageKind, now: u64) -> bool {
        let most = 4 * MAX_MESSAGE_LEN * self.ids.len();
        let pause = match self.requests.answer_lens.get(id) {
            Some(len) if *len >= most => self.timeout,
            _ => self.interval() / 2,
        };
        let key = (*id, kind);
        match self.requests.answered.get(&key) {
            Some(last) if now < last.saturating_add(pause) => false,
            _ => {
                self.requests.answered.insert(key, now);
                true
            }
        }
    }

    /// Sends the opening of the current attempt to a member that has not heard of it.
    pub(super) fn send_opening(&mut self, id: &MemberName, call: &mut Call<'_>) {
        let key = (self.current.number, MessageKind::Opening, *self.member.id());
        if self.inbox.contains_key(&key)
            && self.may_answer(id, MessageKind::Opening, call.now)
            && let Some(opening) = self.inbox.get(&key)
        {
            let opening = opening.to_bytes();
            self.reply(id, opening, call);
        }
    }

    /// Sends an answer, and counts its bytes.
    fn reply(&mut self, id: &MemberName, message: Vec<u8>, call: &mut Call<'_>) {
        *self.requests.answer_lens.entry(*id).or_default() += message.len();
        let to = Some(*id);
        call.events.push(SessionEvent::Send { to, message });
    }

    /// Answers a request: with the certificate, with the opening of a later attempt, or with the
    /// messages that it names. Other messages are no request.
    pub(super) fn answer(&mut self, from: &MemberName, request: Unverified, call: &mut Call<'_>) {
        if request.content().kind() != MessageKind::Request {
            return;
        }
        let Ok(request) = request.verify(&self.committee) else {
            return;
        };
        let attempt = request.attempt_id();
        if request.id() != from || from == self.member.id() || attempt.slot != self.task.slot() {
            return;
        }
        let body = request.body().split_first();
        let decoded = body.and_then(|(code, set)| {
            let set = SignerSet::from_bytes(set, self.ids.len()).ok()?;
            Some((MessageKind::from_code(*code)?, set))
        });
        if let Some(outcome) = &self.outcome {
            // The responses are shorter than the certificate. They are sent once, if they are all
            // that were asked for: a member to which they are of no use asks again.
            let outcome = outcome.clone();
            let responses = match &decoded {
                Some((MessageKind::Response, set)) if attempt.number == self.current.number => {
                    let known = self.known(attempt.number, MessageKind::Response, set);
                    let is_all = known.len() == set.positions(self.ids.len()).count();
                    known.into_iter().filter(|_| is_all).collect()
                }
                _ => Vec::new(),
            };
            let key = (*from, MessageKind::Response);
            if !responses.is_empty() && !self.requests.answered.contains_key(&key) {
                self.requests.answered.insert(key, call.now);
                for response in responses {
                    self.reply(from, response.to_bytes(), call);
                }
            } else if self.may_answer(from, MessageKind::Request, call.now) {
                self.reply(from, outcome, call);
            }
            return;
        }
        if attempt.number < self.current.number {
            self.send_opening(from, call);
        }
        let Some((kind, set)) = decoded.filter(|_| attempt.number <= self.current.number) else {
            return;
        };
        let answers = self.known(attempt.number, kind, &set);
        if !answers.is_empty() && self.may_answer(from, kind, call.now) {
            for answer in answers {
                self.reply(from, answer.to_bytes(), call);
            }
        }
    }

    /// Returns the known messages of this kind of the members of the set.
    fn known(&self, attempt: u8, kind: MessageKind, set: &SignerSet) -> Vec<Message> {
        let positions = set.positions(self.ids.len());
        let ids = positions.filter_map(|at| self.ids.get(at));
        let known = ids.filter_map(|id| self.inbox.get(&(attempt, kind, *id)));
        known.cloned().collect()
    }
}

/// Makes the event that sends a message to one member.
fn to(id: MemberName, message: &Message) -> SessionEvent {
    SessionEvent::Send {
        to: Some(id),
        message: message.to_bytes(),
    }
}
