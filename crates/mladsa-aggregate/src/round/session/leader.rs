//! Leader of an attempt, and the choice of its signers.

use alloc::vec::Vec;

use super::progress::Step;
use super::{Session, SessionEvent};
use crate::epoch::message::MessageKind;
use crate::epoch::quorum::two_thirds;
use crate::error::RoundError;
use crate::journal::one_time::OneTimeKeyJournal;
use crate::member_id::MemberId;
use crate::round::commitment::CommitmentSet;
use crate::round::definition::Round;
use crate::wire::signer_set::SignerSet;

impl Session {
    pub(super) fn leader(&self) -> Option<MemberId> {
        let at = self.rotation + usize::from(self.attempt);
        self.ids.get(at % self.ids.len().max(1)).copied()
    }

    /// Fixes the signers of the attempt: as the leader, or as the leader has announced. `false`
    /// until that is possible.
    pub(super) fn choose_signers(
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
        if !is_leader {
            self.note_time(MessageKind::Signers, leader, now);
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

    /// The members among those that can sign which a leader takes: without provably faulty ones, and
    /// without those that were silent, as far as the others are a quorum.
    fn candidates(&self, has_opened: impl Fn(&MemberId) -> bool) -> Vec<MemberId> {
        let own = self.member.id();
        let count = |id: &MemberId| match self.silent.get(id) {
            Some(count) if id != own => *count,
            _ => 0,
        };
        let mut ids: Vec<_> = self.agreed.ids().copied().collect();
        ids.retain(|id| has_opened(id) && (id == own || !self.faulty.contains(id)));
        ids.sort_by_key(|id| (count(id), *id));
        let mut enough = ids.iter().take_while(|id| count(id) == 0).count();
        let registry = self.agreed.registry();
        while enough < ids.len() && !registry.is_quorum(ids.iter().take(enough)) {
            enough += 1;
        }
        ids.truncate(enough);
        ids.sort_unstable();
        ids
    }

    /// The signers that this member chooses as the leader: all candidates, or those of them that have
    /// opened after a quarter of the timeout.
    fn own_choice(&self, now: u64) -> Option<Vec<MemberId>> {
        let registry = self.agreed.registry();
        let is_enough = |ids: &Vec<MemberId>| registry.is_quorum(ids);
        let has_opened = |id: &MemberId| self.keys.contains_key(id);
        let mut ids = self.candidates(|_| true);
        if !ids.iter().all(has_opened) {
            let started = self.started?;
            if now < started.saturating_add(self.timeout / 4) {
                return None;
            }
            ids = self.candidates(has_opened);
        }
        if !is_enough(&ids) {
            return None;
        }
        // After a miss, a smaller quorum of other members: the cause of a miss is not known.
        if self.misses > 0 {
            let own = self.member.id();
            let enough = two_thirds(self.ids.len());
            let turn = self.misses + usize::from(self.attempt);
            let n = ids.len();
            ids.rotate_left(turn % n);
            while ids.len() > enough {
                let last = ids.iter().rposition(|id| id != own);
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
}
