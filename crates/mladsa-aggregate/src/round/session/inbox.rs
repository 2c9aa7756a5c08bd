//! Received messages of a session, repetition of sent ones, and the attempt of the other members.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Session, SessionEvent};
use crate::epoch::message::{Equivocation, SignedMessage, Unverified};
use crate::error::RoundError;
use crate::journal::one_time::OneTimeKeyJournal;

/// Longer messages are ignored, unless they are certificates. The largest opening has 6,788
/// bytes; framing and signature with the longest names have less than 6,000.
const MAX_MESSAGE_LEN: usize = 16_384;

/// Number of attempts after the present one whose messages are kept.
const LOOKAHEAD: u8 = 1;

/// Number of intervals of an attempt after which messages are sent again.
const INTERVALS: u64 = 16;

impl Session {
    fn interval(&self) -> u64 {
        (self.timeout / INTERVALS).max(1)
    }

    pub(super) fn schedule_resend(&mut self, now: u64) {
        self.resend_at = now.saturating_add(self.interval());
    }

    /// Sends a message of this member, and stores it like those of the others.
    pub(super) fn send(&mut self, message: SignedMessage, events: &mut Vec<SessionEvent>) {
        events.push(SessionEvent::Send(message.to_bytes()));
        let key = (self.attempt, message.kind(), *message.id());
        self.inbox.insert(key, message);
    }

    /// Sends the messages of this member again, signed, and those of another one, in turn.
    pub(super) fn send_again(
        &mut self,
        now: u64,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        self.schedule_resend(now);
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

    /// Whether a message is of a member, about the task.
    fn is_of_task(&self, message: &[u8]) -> bool {
        let message =
            Unverified::from_bytes(message).and_then(|message| self.agreed.accept(message));
        message.is_ok_and(|message| {
            message.attempt_id().task() == self.task.id().as_bytes() && self.is_authentic(&message)
        })
    }

    /// Whether the named sender has made a verified message: it is signed, or an opening of its key.
    fn is_authentic(&self, message: &SignedMessage) -> bool {
        message.is_signed() || self.agreed.authenticate(message).is_ok()
    }

    /// The certificate, for a member that still sends messages and so has none. A third of the
    /// members answer at a time.
    pub(super) fn answer(&mut self, message: &[u8], now: u64) -> Option<SessionEvent> {
        if now < self.resend_at || !self.is_of_task(message) {
            return None;
        }
        let position = self.position() + self.resends;
        self.resends += 1;
        self.schedule_resend(now);
        let is_in_turn = position % self.ids.len().max(1) <= self.max_faulty();
        let outcome = self.outcome.clone().filter(|_| is_in_turn);
        outcome.map(SessionEvent::Send)
    }

    /// Stores a relevant message. A copy of a stored message is recognised before its signature
    /// is verified. A message without a signature can be of anyone: it replaces none, and a signed
    /// one replaces it, unless it is an authentic opening.
    pub(super) fn store(&mut self, message: &[u8], events: &mut Vec<SessionEvent>) {
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
        let is_late = number - self.attempt > LOOKAHEAD;
        if is_late && self.heard.get(&id).is_some_and(|heard| *heard >= number) {
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
        if self.is_authentic(&message) {
            let heard = self.heard.entry(id).or_default();
            *heard = number.max(*heard);
        } else if id == *self.member.id() {
            return;
        }
        match known {
            Some(known)
                if known.is_signed()
                    || !message.is_signed()
                    || (known.body() != message.body() && self.is_authentic(known)) =>
            {
                if let Some(evidence) = Equivocation::new(known, &message)
                    && self.faulty.insert(id)
                {
                    self.is_disputed = true;
                    events.push(SessionEvent::Equivocation(Box::new(evidence)));
                }
            }
            _ if is_late => {}
            _ => drop(self.inbox.insert(key, message)),
        }
    }

    /// Begins the attempt that more than a third of the members have begun.
    pub(super) fn follow(
        &mut self,
        now: u64,
        journal: &mut OneTimeKeyJournal,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), RoundError> {
        let mut heard: Vec<u8> = self.heard.values().copied().collect();
        heard.sort_unstable_by(|a, b| b.cmp(a));
        match heard.get(self.max_faulty()) {
            Some(&later) if self.has_begun && later > self.attempt => {
                self.retire(later - 1, journal)?;
                self.attempt = later;
                self.begin(now, journal, events)
            }
            _ => Ok(()),
        }
    }
}
