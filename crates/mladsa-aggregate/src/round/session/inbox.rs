//! Received messages of a session, and the attempt of the other members.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Call, Session, SessionEvent};
use crate::committee::epoch::AttemptId;
use crate::error::RoundError;
use crate::member_id::MemberName;
use crate::round::message::{ConflictingMessages, Message, MessageKind, Unverified};

/// Longer messages are ignored, unless they are certificates. The largest opening has 6,788 bytes;
/// the framing of a message, its signature and evidence have less than 15,000. The four messages of
/// a member in an attempt have less together.
pub(super) const MAX_MESSAGE_LEN: usize = 24_576;

/// Number of attempts after the present one whose messages are kept.
const LOOKAHEAD: u8 = 1;

impl Session {
    /// Sends a message of this member to all, and stores it like those of the others.
    pub(super) fn send(&mut self, message: Message, call: &mut Call<'_>) {
        call.events.push(SessionEvent::Send {
            to: None,
            message: message.to_bytes(),
        });
        let key = (self.current.number, message.kind(), *message.id());
        self.inbox.insert(key, message);
    }

    /// Returns whether the named sender has made a verified message: it is signed, or an opening of
    /// its key, which is kept.
    fn is_authentic(&mut self, message: &Message) -> bool {
        match message.kind() {
            MessageKind::Signers | MessageKind::CommitmentHash => true,
            MessageKind::Opening => {
                let key = self.committee.authenticate(message);
                let is_present = message.attempt_id().number == self.current.number;
                if let (true, Ok(key)) = (is_present, &key) {
                    self.current
                        .keys
                        .entry(*message.id())
                        .or_insert_with(|| key.clone());
                }
                key.is_ok()
            }
            _ => false,
        }
    }

    fn is_known_authentic(&self, message: &Message) -> bool {
        match message.kind() {
            MessageKind::Signers | MessageKind::CommitmentHash => true,
            MessageKind::Opening if message.attempt_id().number == self.current.number => {
                self.current.keys.contains_key(message.id())
            }
            MessageKind::Opening => self.committee.authenticate(message).is_ok(),
            _ => false,
        }
    }

    /// Decodes a message, and takes it as evidence, as a request or as one to be stored.
    pub(super) fn take(&mut self, from: &MemberName, message: &[u8], call: &mut Call<'_>) {
        if message.len() > MAX_MESSAGE_LEN {
            return;
        }
        if let Ok(named) = ConflictingMessages::subject(message) {
            if self.is_new_evidence(&named)
                && let Ok(evidence) = ConflictingMessages::from_bytes(message, &self.committee)
            {
                self.dispute(evidence, call);
            }
            return;
        }
        let Ok(message) = Unverified::from_bytes(message) else {
            return;
        };
        match message.content().kind() {
            MessageKind::Request => self.answer(from, message, call),
            _ => self.store(from, message, call),
        }
    }

    /// Stores a relevant message. A copy of a stored message is recognised before its signature
    /// is verified. A message that is not authentic can be of anyone: an authentic one replaces it.
    fn store(&mut self, from: &MemberName, message: Unverified, call: &mut Call<'_>) {
        let content = message.content();
        let (attempt, id, kind) = (content.attempt_id(), *content.id(), content.kind());
        let number = attempt.number;
        if attempt.slot != self.task.slot() || self.committee.epoch().index(attempt).is_err() {
            return;
        }
        let key = (number, kind, id);
        let is_copy = self
            .inbox
            .get(&key)
            .is_some_and(|known| message.is_copy_of(known));
        if kind == MessageKind::Opening && id == *from && (is_copy || number < self.current.number)
        {
            // The sender has not heard this member.
            self.send_opening(from, call);
        }
        if is_copy || number < self.current.number {
            return;
        }
        let is_late = number - self.current.number > LOOKAHEAD;
        if is_late
            && self
                .peers
                .heard
                .get(&id)
                .is_some_and(|heard| *heard >= number)
        {
            return;
        }
        let is_faulty = kind == MessageKind::Signers && self.decode_signers(content).is_none();
        if is_faulty && self.peers.announcements_rejected.contains(&(id, number)) {
            return;
        }
        let Ok(message) = message.verify(&self.committee) else {
            return;
        };
        if is_faulty {
            return self.reject_announcement(&message, call);
        }
        let is_authentic = self.is_authentic(&message);
        if is_authentic {
            let heard = self.peers.heard.entry(id).or_default();
            *heard = number.max(*heard);
        } else if id == *self.member.id() {
            return;
        }
        match self.inbox.get(&key) {
            Some(known) if !is_authentic || self.is_known_authentic(known) => {
                if let Some(evidence) = ConflictingMessages::new(known, &message) {
                    self.dispute(evidence, call);
                }
            }
            _ if is_late => {}
            _ => drop(self.inbox.insert(key, message)),
        }
    }

    /// Returns whether evidence against this member, in this attempt, would change anything.
    fn is_new_evidence(&self, (id, attempt): &(MemberName, AttemptId)) -> bool {
        let is_of_use = attempt.number >= self.current.number;
        let is_sent = self.peers.proofs_sent.contains(&(*id, attempt.number));
        !self.peers.faulty.contains(id) || is_of_use && !is_sent
    }

    /// Reports new evidence, also to the other members.
    fn dispute(&mut self, evidence: ConflictingMessages, call: &mut Call<'_>) {
        let id = *evidence.id();
        let fault = (id, evidence.attempt_id().number);
        self.peers.disputed.insert(fault);
        self.peers.faulty.insert(id);
        if self.peers.proofs_sent.insert(fault) {
            call.events.push(SessionEvent::Send {
                to: None,
                message: evidence.to_bytes(),
            });
            call.events
                .push(SessionEvent::ConflictingMessages(Box::new(evidence)));
        }
    }

    /// Rejects a signed announcement of no quorum that has the leader. The message is the proof of
    /// its sender's fault, which the other members receive too. The attempt goes on: members that
    /// have the announcement of a quorum show it.
    fn reject_announcement(&mut self, message: &Message, call: &mut Call<'_>) {
        let (id, number) = (*message.id(), message.attempt_id().number);
        if self.leader_of(number) != Some(id)
            || !self.peers.announcements_rejected.insert((id, number))
        {
            return;
        }
        call.events.push(SessionEvent::Send {
            to: None,
            message: message.to_bytes(),
        });
        if self.peers.faulty.insert(id) {
            call.events.push(SessionEvent::InvalidContribution(id));
        }
    }

    /// Begins the attempt that members of more than a third of the weight have begun.
    pub(super) fn follow(&mut self, call: &mut Call<'_>) -> Result<(), RoundError> {
        let mut heard: Vec<_> = self.peers.heard.iter().collect();
        heard.sort_unstable_by(|a, b| b.1.cmp(a.1));
        let mut weight = 0u64;
        let reached = heard.into_iter().find(|(id, _)| {
            weight = weight.saturating_add(self.committee.weight([*id]));
            weight > self.committee.max_faulty()
        });
        match reached {
            Some((_, &later)) if self.current.has_begun && later > self.current.number => {
                self.retire(later - 1, call)?;
                // The clocks of the others can be ahead.
                let is_due = |started: u64| call.now >= started.saturating_add(self.timeout / 2);
                if self.current.started.is_some_and(is_due) {
                    self.note_missing(self.missing(), call);
                }
                self.current.number = later;
                self.begin(call)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use mldsa_core::Randomness;

    use super::*;
    use crate::committee::epoch::Epoch;
    use crate::committee::full::SigningCommittee;
    use crate::committee::member::Member;
    use crate::journal::one_time::OneTimeKeyJournal;
    use crate::keys::seed::MasterSeed;
    use crate::round::task::SigningTask;

    /// Evidence is verified at most once for each member and attempt, however often it comes.
    #[test]
    fn repeated_evidence_is_not_new() {
        let epoch = Epoch::new(b"", 1, 1, 2).unwrap();
        let id = MemberName::new(b"a").unwrap();
        let member = Member::new(id, MasterSeed::from_bytes(&[1; 32]), &epoch).unwrap();
        let registration = member.register(Randomness::Deterministic).unwrap();
        let committee = SigningCommittee::new(&epoch, [(registration, 1)], 1).unwrap();
        let task = SigningTask::decision(0, b"");
        let mut session = Session::new(Arc::new(member), committee, task, 64);
        let mut journal = OneTimeKeyJournal::in_memory(session.member.seed()).unwrap();
        for (number, is_new) in [(1, [true, false]), (0, [true, false]), (1, [false, false])] {
            let attempt = AttemptId { slot: 0, number };
            let subject = session.committee.subject(attempt);
            let hash = |body: [u8; 64]| {
                let kind = MessageKind::CommitmentHash;
                session.member.message(kind, &subject, &[0; 64], body)
            };
            let (first, second) = (hash([1; 64]).unwrap(), hash([2; 64]).unwrap());
            let evidence = ConflictingMessages::new(&first, &second)
                .unwrap()
                .to_bytes();
            for is_new in is_new {
                let named = ConflictingMessages::subject(&evidence).unwrap();
                assert_eq!(named, (id, attempt));
                assert_eq!(session.is_new_evidence(&named), is_new);
                session.receive(&id, &evidence, 1, &mut journal).unwrap();
            }
        }
    }
}
