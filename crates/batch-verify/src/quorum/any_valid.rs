//! Quorums of whichever votes are valid.

use mldsa_core::ParameterSet;

use super::{Quorum, QuorumError, QuorumReport, Verify};
use crate::batch::{LANES, Mode};

/// Votes verified at once, at most.
const MAX_WINDOW: usize = 4096;

/// State of a count under [`QuorumRule::AnyValid`](super::QuorumRule::AnyValid).
pub(super) struct AnyValid<'s, 'q, 'a, P: ParameterSet> {
    quorum: &'s Quorum<'q, 'a, P>,
    members: Vec<Member>,
    /// Verified weight.
    verified: u128,
    /// Weight of members that are not verified and have a vote at `next` or later.
    open: u128,
    /// The next vote to look at.
    next: usize,
    carried_by: Vec<usize>,
}

#[derive(Clone, Default)]
struct Member {
    /// Number of usable votes at `next` or later.
    ahead: u32,
    verified: bool,
    /// The last window with a vote of this member.
    window: usize,
}

impl<'s, 'q, 'a, P: ParameterSet> AnyValid<'s, 'q, 'a, P> {
    pub(super) fn new(quorum: &'s Quorum<'q, 'a, P>) -> Self {
        let mut count = Self {
            quorum,
            members: vec![Member::default(); quorum.committee.len()],
            verified: 0,
            open: 0,
            next: 0,
            carried_by: Vec::new(),
        };
        for index in 0..quorum.votes.len() {
            if let Some(member) = count.usable(index) {
                if count.members[member].ahead == 0 {
                    count.open += quorum.committee.weight_at(member as u32);
                }
                count.members[member].ahead += 1;
            }
        }
        count
    }

    /// Index of the member whose vote this might be: of the committee, and of the length of a
    /// signature.
    fn usable(&self, vote: usize) -> Option<usize> {
        let (member, signature) = self.quorum.votes[vote];
        let usable = signature.len() == P::SIG_LEN && self.quorum.committee.contains(member);
        usable.then_some(member.index() as usize)
    }

    pub(super) fn verify(mut self, verify: Verify<'_>) -> Result<QuorumReport, QuorumError> {
        let needed = self.quorum.required();
        let claimed = self.open;
        let mut least = 0;
        for round in 1.. {
            if self.verified >= needed {
                break;
            }
            if self.verified + self.open < needed {
                return Err(QuorumError::Insufficient {
                    needed,
                    claimed,
                    verified: self.verified,
                });
            }
            let window = self.window(round, needed, least);
            let verdicts = verify(Mode::Full, &window);
            for (&vote, verdict) in window.iter().zip(verdicts) {
                self.record(vote, verdict.is_ok());
            }
            // After a failure, enough for all lanes of all workers, and more each time.
            let lanes = LANES.saturating_mul(self.quorum.workers);
            least = least
                .saturating_mul(2)
                .clamp(lanes.min(MAX_WINDOW), MAX_WINDOW);
        }
        self.carried_by.sort_unstable();
        Ok(QuorumReport {
            weight: self.verified,
            carried_by: self.carried_by,
            examined: self.next,
        })
    }

    /// The next votes that would close the gap if all are valid, and at least `least`.
    fn window(&mut self, round: usize, needed: u128, least: usize) -> Vec<usize> {
        let votes = self.quorum.votes.len();
        let mut window = Vec::new();
        let mut hoped = self.verified;
        while self.next < votes
            && window.len() < MAX_WINDOW
            && (hoped < needed || window.len() < least)
        {
            let vote = self.next;
            self.next += 1;
            let Some(index) = self.usable(vote) else {
                continue;
            };
            let weight = self.quorum.committee.weight_at(index as u32);
            let member = &mut self.members[index];
            member.ahead -= 1;
            if member.verified {
                continue;
            }
            if member.ahead == 0 {
                // In the window, and no longer ahead of it.
                self.open -= weight;
            }
            if member.window != round {
                member.window = round;
                hoped += weight;
            }
            window.push(vote);
        }
        window
    }

    fn record(&mut self, vote: usize, valid: bool) {
        let Some(index) = self.usable(vote) else {
            return;
        };
        let weight = self.quorum.committee.weight_at(index as u32);
        let member = &mut self.members[index];
        if valid && !member.verified {
            member.verified = true;
            self.verified += weight;
            if member.ahead > 0 {
                self.open -= weight;
            }
            self.carried_by.push(vote);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use mldsa_core::{MlDsa44, SigningKey};

    use super::*;
    use crate::quorum::QuorumRule;
    use crate::{Committee, RejectReason, Threshold};

    /// With one vote missing, forgeries are verified in windows for all workers that double,
    /// and each vote is looked at once.
    #[test]
    fn a_missing_vote_makes_no_window_of_one() {
        let members = 40_u8;
        let keys = (0..members).map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]));
        let keys: Vec<_> = keys.collect();
        let committee = Committee::<MlDsa44>::builder(b"test");
        let committee = committee.build(keys.iter().map(|key| (key.verifying_key(), 1)));
        let committee = committee.unwrap();
        let id = |n: u8| committee.member(n.into()).unwrap();
        let (good, forged) = ([1; 2420], [0; 2420]);
        let needed = committee.required_weight(Threshold::TWO_THIRDS);
        let mut votes: Vec<_> = (0..needed as u8 - 1).map(|n| (id(n), &good[..])).collect();
        votes.extend((0..2000).map(|_| (id(members - 1), &forged[..])));
        let (calls, looked) = (Cell::new(0), Cell::new(0));
        let count = |votes: &[(crate::MemberId, &[u8])]| {
            let quorum = Quorum {
                committee: &committee,
                votes,
                threshold: Threshold::TWO_THIRDS,
                workers: 16,
            };
            calls.set(0);
            looked.set(0);
            quorum.verify(QuorumRule::AnyValid, &|_, window| {
                calls.set(calls.get() + 1);
                looked.set(looked.get() + window.len());
                let verdict = |vote: &usize| match votes[*vote].1[0] {
                    1 => Ok(()),
                    _ => Err(RejectReason::ChallengeMismatch),
                };
                window.iter().map(verdict).collect()
            })
        };
        let verified = needed - 1;
        let missing = QuorumError::Insufficient {
            needed,
            claimed: needed,
            verified,
        };
        assert_eq!(count(&votes), Err(missing));
        // 128 forgeries, 256, 512, 1,024 and the rest, after the first window.
        assert!(calls.get() <= 6);
        assert_eq!(looked.get(), votes.len());
        votes.push((id(members - 1), &good));
        let report = count(&votes).unwrap();
        assert_eq!((report.weight(), report.examined()), (needed, votes.len()));
    }
}
