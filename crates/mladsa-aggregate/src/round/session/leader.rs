//! Leader of an attempt, and the choice of its signers.

use alloc::vec::Vec;

use super::progress::Step;
use super::{Call, Session};
use crate::committee::full::SigningCommittee;
use crate::error::RoundError;
use crate::member_id::MemberName;
use crate::round::commitment::CommitmentSet;
use crate::round::definition::Round;
use crate::round::message::{Message, MessageKind};
use crate::wire::framing::hash_lp;
use crate::wire::signer_set::SignerSet;

/// Computes the positions of the leaders of all attempts at a slot: each member leads in proportion
/// to its weight, as evenly as possible. Of equal weights, each leads once before any leads again.
/// The order of members with equal turns depends on the slot.
pub(super) fn rotation(committee: &SigningCommittee, slot: u32) -> Vec<usize> {
    let n = committee.len();
    let hash: [u8; 8] = hash_lp(
        b"MLADSA leader",
        &[committee.identity(), &slot.to_be_bytes()],
    );
    let first = (u64::from_be_bytes(hash) % n as u64) as usize;
    let weights: Vec<i128> = committee
        .members()
        .map(|(_, weight)| i128::from(weight))
        .collect();
    let total: i128 = weights.iter().sum();
    let mut credits = alloc::vec![0i128; n];
    let attempts = 0..committee.epoch().attempts();
    let leaders = attempts.filter_map(|_| {
        for (credit, weight) in credits.iter_mut().zip(&weights) {
            *credit += weight;
        }
        let order = (0..n).map(|at| (first + at) % n);
        // The first of those with the greatest credit.
        let leader = order.rev().max_by_key(|at| credits[*at])?;
        credits[leader] -= total;
        Some(leader)
    });
    leaders.collect()
}

impl Session {
    pub(super) fn leader(&self) -> Option<MemberName> {
        self.leader_of(self.current.number)
    }

    /// Returns the signers of the attempt, once this member has their announcement.
    pub(super) fn announced_signers(&self) -> Vec<MemberName> {
        let announced = self.leader().and_then(|leader| {
            let key = (self.current.number, MessageKind::Signers, leader);
            self.decode_signers(self.inbox.get(&key)?)
        });
        announced.unwrap_or_default()
    }

    /// Returns the leader and the signers of which a fault was proved in this attempt: honest
    /// members may have followed different messages.
    pub(super) fn disputed(&self) -> Vec<MemberName> {
        let number = self.current.number;
        let mut involved = self.announced_signers();
        involved.extend(self.leader());
        involved.retain(|id| self.peers.disputed.contains(&(*id, number)));
        involved
    }

    /// Returns the announced signers whose openings this member lacks.
    pub(super) fn lacking_openings(&self) -> Vec<MemberName> {
        let mut announced = self.announced_signers();
        announced.retain(|id| !self.current.keys.contains_key(id));
        announced
    }

    /// Returns the signers that a message announces: a quorum, and its sender among them.
    pub(super) fn decode_signers(&self, message: &Message) -> Option<Vec<MemberName>> {
        let n = self.ids.len();
        let set = SignerSet::from_bytes(message.body(), n).ok()?;
        let ids = set.positions(n).filter_map(|at| self.ids.get(at).copied());
        let ids: Vec<_> = ids.collect();
        (ids.contains(message.id()) && self.committee.is_quorum(&ids)).then_some(ids)
    }

    /// Fixes the signers of the attempt: as the leader, or as the leader has announced. `false`
    /// until that is possible.
    pub(super) fn choose_signers(&mut self, call: &mut Call<'_>) -> Result<bool, RoundError> {
        let Some(leader) = self.leader() else {
            return Ok(false);
        };
        let is_leader = leader == *self.member.id();
        let signers = if is_leader {
            self.own_choice(call.now)
        } else {
            Some(self.announced_signers()).filter(|signers| !signers.is_empty())
        };
        let Some(signers) = signers else {
            return Ok(false);
        };
        let keys: Vec<_> = signers
            .iter()
            .filter_map(|id| self.current.keys.get(id).cloned())
            .collect();
        if keys.len() < signers.len() {
            // The leader has them: their senders have shown them to it alone.
            for id in self.lacking_openings() {
                self.note_time(MessageKind::Opening, id, call.now);
            }
            return Ok(false);
        }
        if !is_leader {
            self.note_time(MessageKind::Signers, leader, call.now);
        }
        let round = Round::new(self.committee.view(), &self.task, self.current.number, keys)?;
        // An announcement is a sign of a quorum that has begun the attempt.
        self.current.started.get_or_insert(call.now);
        self.wait(call.now);
        let set = CommitmentSet::new(&round);
        if !signers.contains(self.member.id()) {
            self.current.step = Step::Committing(set, None);
            return Ok(true);
        }
        // The leader commits before it announces, so that after a crash it cannot announce other
        // signers: the journal admits one commitment.
        match self.member.commit(&round, call.journal) {
            Ok((pending, hash)) => {
                self.current.step = Step::Committing(set, Some(pending));
                if is_leader {
                    let (subject, body) = (&round.subject, round.signer_set.as_bytes());
                    let kind = MessageKind::Signers;
                    let signers = self.member.message(kind, subject, &[0; 64], body.to_vec());
                    self.send(signers?, call);
                }
                self.send(hash, call);
            }
            Err(error) => self.abandon_reused(error, call)?,
        }
        Ok(true)
    }

    /// Returns the members among those with `has_opened` which a leader takes: without provably
    /// faulty ones, and without those that were silent, as far as the others are a quorum.
    fn candidates(&self, has_opened: impl Fn(&MemberName) -> bool) -> Vec<MemberName> {
        let own = self.member.id();
        let count = |id: &MemberName| match self.peers.silent.get(id) {
            Some(count) if id != own => *count,
            _ => 0,
        };
        let mut ids: Vec<_> = self.ids.clone();
        ids.retain(|id| has_opened(id) && (id == own || !self.peers.faulty.contains(id)));
        ids.sort_by_key(|id| (count(id), *id));
        let mut enough = ids.iter().take_while(|id| count(id) == 0).count();
        while enough < ids.len() && !self.committee.is_quorum(ids.iter().take(enough)) {
            enough += 1;
        }
        ids.truncate(enough);
        ids.sort_unstable();
        ids
    }

    /// Returns the signers that this member chooses as the leader: all candidates, or those of them
    /// that have opened after a quarter of the timeout.
    fn own_choice(&self, now: u64) -> Option<Vec<MemberName>> {
        let is_enough = |ids: &Vec<MemberName>| self.committee.is_quorum(ids);
        let has_opened = |id: &MemberName| self.current.keys.contains_key(id);
        let mut ids = self.candidates(|_| true);
        if !ids.iter().all(has_opened) {
            let started = self.current.started?;
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
            let turn = self.misses + usize::from(self.current.number);
            let n = ids.len();
            ids.rotate_left(turn % n);
            for _ in 0..n {
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
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use mldsa_core::Randomness;

    use super::*;
    use crate::committee::epoch::Epoch;
    use crate::committee::member::Member;
    use crate::keys::seed::MasterSeed;

    fn committee(weights: &[u64]) -> alloc::sync::Arc<SigningCommittee> {
        let epoch = Epoch::new(b"", 1, 1, 64).unwrap();
        let members = weights.iter().enumerate().map(|(n, weight)| {
            let id = MemberName::new(&[b'a', n as u8]).unwrap();
            let seed = MasterSeed::from_bytes(&[n as u8; 32]);
            let member = Member::new(id, seed, &epoch).unwrap();
            (member.register(Randomness::Deterministic).unwrap(), *weight)
        });
        SigningCommittee::new(&epoch, members, 1).unwrap()
    }

    /// In every prefix of the rotation, members lead in proportion to their weights: at most one
    /// turn more than their share for a member, and equal members lead once before any leads again.
    #[test]
    fn members_lead_in_proportion_to_their_weights() {
        for weights in [
            &[1, 1, 1, 1][..],
            &[7; 7],
            &[100, 1, 1, 1, 1, 1, 1],
            &[5, 3, 2],
            &[u64::MAX / 2, u64::MAX / 4, 1],
        ] {
            let leaders = rotation(&committee(weights), 0);
            let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
            for k in 1..=leaders.len() {
                for (at, weight) in weights.iter().enumerate() {
                    let led = leaders[..k].iter().filter(|leader| **leader == at).count();
                    let share = k as u128 * u128::from(*weight);
                    assert!(
                        (led as u128) * total <= share + total,
                        "{weights:?} {k} {at}"
                    );
                }
            }
            if weights.iter().all(|weight| *weight == weights[0]) {
                let mut first: Vec<_> = leaders[..weights.len()].to_vec();
                first.sort_unstable();
                assert!(first.iter().copied().eq(0..weights.len()));
            }
        }
    }
}
