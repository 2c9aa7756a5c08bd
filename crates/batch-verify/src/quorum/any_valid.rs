//! Quorums of whichever votes are valid.

use mldsa_core::ParameterSet;

use super::{Quorum, QuorumError, QuorumReport, Verify};
use crate::batch::{LANES, Mode};

/// Votes verified at once, at most.
const MAX_WINDOW: usize = 4096;

/// State of a count under [`QuorumRule::AnyValid`](super::QuorumRule::AnyValid), after the votes
/// before `next`: they are counted in order, so that the answer does not depend on how many
/// are verified at once.
pub(super) struct AnyValid<'s, 'q, 'a, P: ParameterSet> {
    quorum: &'s Quorum<'q, 'a, P>,
    members: Vec<Member>,
    /// Verified weight.
    verified: u128,
    /// Weight of members that are not verified and have a vote at `next` or later.
    open: u128,
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
        for vote in 0..quorum.votes.len() {
            if let Some((member, weight)) = count.usable(vote) {
                if count.members[member].ahead == 0 {
                    count.open += weight;
                }
                count.members[member].ahead += 1;
            }
        }
        count
    }

    /// Index and weight of the member whose vote this might be: of the committee, and of the
    /// length of a signature.
    fn usable(&self, vote: usize) -> Option<(usize, u128)> {
        let (member, signature) = self.quorum.votes[vote];
        let usable = signature.len() == P::SIG_LEN && self.quorum.committee.contains(member);
        usable.then(|| (member.index() as usize, self.quorum.weight(member)))
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
            let valid = window.iter().zip(verdicts);
            let valid = valid.filter_map(|(vote, verdict)| verdict.is_ok().then_some(*vote));
            let mut valid = valid.peekable();
            let end = window.last().map_or(self.next, |last| last + 1);
            while self.next < end && self.verified < needed && self.verified + self.open >= needed {
                let is_valid = valid.next_if_eq(&self.next).is_some();
                self.count(is_valid);
            }
            // After a failure, enough for all lanes of all workers, and more each time.
            let lanes = LANES.saturating_mul(self.quorum.workers);
            least = least
                .saturating_mul(2)
                .clamp(lanes.min(MAX_WINDOW), MAX_WINDOW);
        }
        Ok(QuorumReport {
            weight: self.verified,
            carried_by: self.carried_by,
            examined: self.next,
        })
    }

    /// The next votes that would close the gap if all are valid, and at least `least`.
    fn window(&mut self, round: usize, needed: u128, least: usize) -> Vec<usize> {
        let mut window = Vec::new();
        let mut hoped = self.verified;
        for vote in self.next..self.quorum.votes.len() {
            if window.len() >= MAX_WINDOW || hoped >= needed && window.len() >= least {
                break;
            }
            let Some((member, weight)) = self.usable(vote) else {
                continue;
            };
            let member = &mut self.members[member];
            if member.verified {
                continue;
            }
            if member.window != round {
                member.window = round;
                hoped += weight;
            }
            window.push(vote);
        }
        window
    }

    /// Counts the next vote.
    fn count(&mut self, is_valid: bool) {
        let vote = self.next;
        self.next += 1;
        let Some((member, weight)) = self.usable(vote) else {
            return;
        };
        let member = &mut self.members[member];
        member.ahead -= 1;
        if member.verified {
            return;
        }
        if is_valid {
            member.verified = true;
            self.verified += weight;
            self.carried_by.push(vote);
        }
        if is_valid || member.ahead == 0 {
            self.open -= weight;
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
    /// and each vote is looked at once. The number of workers does not change the answer.
    #[test]
    fn windows_grow_and_do_not_change_the_answer() {
        let members = 40_u8;
        let keys = (0..members).map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]));
        let keys: Vec<_> = keys.collect();
        let committee = Committee::<MlDsa44>::builder(b"test");
        let committee = committee.build(keys.iter().map(|key| (key.verifying_key(), 1)));
        let committee = committee.unwrap();
        let id = |n: u8| committee.member(n.into()).unwrap();
        let (good, forged) = ([1; 2420], [0; 2420]);
        let needed = committee.required_weight(Threshold::TWO_THIRDS);
        let (calls, looked) = (Cell::new(0), Cell::new(0));
        let count = |votes: &[(crate::MemberId, &[u8])]| {
            let answers = [1, 2, 16].map(|workers| {
                let quorum = Quorum {
                    committee: &committee,
                    votes,
                    threshold: Threshold::TWO_THIRDS,
                    workers,
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
            });
            let [first, second, last] = answers;
            assert_eq!((&first, &second), (&last, &last));
            last
        };
        let enough = needed as u8 - 1;
        let mut votes: Vec<_> = (0..enough).map(|n| (id(n), &good[..])).collect();
        votes.push((id(enough), &forged));
        votes.extend((enough..members).map(|n| (id(n), &good[..])));
        let report = count(&votes).unwrap();
        let examined = votes.len() + 1 - usize::from(members - enough);
        assert_eq!((report.weight(), report.examined()), (needed, examined));

        votes.truncate(enough.into());
        votes.extend((0..2000).map(|_| (id(members - 1), &forged[..])));
        let missing = QuorumError::Insufficient {
            needed,
            claimed: needed,
            verified: needed - 1,
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
