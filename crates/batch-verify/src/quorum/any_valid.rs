//! Quorums of whichever votes are valid.

use mldsa_core::ParameterSet;

use super::{Count, QuorumError, QuorumReport};
use crate::batch::{LANES, Mode};
use crate::reason::Verdict;
use crate::{Committee, MemberId};

/// Votes verified at once, at most.
const MAX_WINDOW: usize = 4096;

/// A count under [`QuorumRule::AnyValid`](super::QuorumRule::AnyValid), after the votes before
/// `next`. Votes are counted in order, so that the answer does not depend on how many are
/// verified at once.
pub(crate) struct AnyValid {
    /// Index of the member whose vote this might be: of the committee, and of the length of a
    /// signature.
    votes: Vec<Option<u32>>,
    members: Vec<Member>,
    needed: u128,
    claimed: u128,
    verified: u128,
    /// Weight of members that are not verified and have a vote at `next` or later.
    open: u128,
    next: usize,
    carried_by: Vec<usize>,
    /// Votes to verify, of which the first `taken` have been.
    window: Vec<usize>,
    taken: usize,
    round: usize,
    /// Least size of the next window.
    least: usize,
    /// Signatures that fill the lanes of all workers.
    lanes: usize,
}

#[derive(Clone)]
struct Member {
    weight: u64,
    /// Number of usable votes at `next` or later.
    ahead: u32,
    verified: bool,
    /// The last window with a vote of this member.
    window: usize,
}

impl AnyValid {
    pub(super) fn new<P: ParameterSet, S: AsRef<[u8]>>(
        committee: &Committee<P>,
        votes: &[(MemberId, S)],
        needed: u128,
        workers: usize,
    ) -> Self {
        let member = |&weight: &u64| Member {
            weight,
            ahead: 0,
            verified: false,
            window: 0,
        };
        let mut members: Vec<Member> = committee.weights().iter().map(member).collect();
        let mut open = 0;
        let usable = |(member, signature): &(MemberId, S)| {
            let usable = signature.as_ref().len() == P::SIG_LEN && committee.contains(*member);
            usable.then(|| {
                let of_vote = &mut members[member.index() as usize];
                if of_vote.ahead == 0 {
                    open += u128::from(of_vote.weight);
                }
                of_vote.ahead += 1;
                member.index()
            })
        };
        let votes = votes.iter().map(usable).collect();
        let mut count = Self {
            votes,
            members,
            needed,
            claimed: open,
            verified: 0,
            open,
            next: 0,
            carried_by: Vec::new(),
            window: Vec::new(),
            taken: 0,
            round: 0,
            least: 0,
            lanes: LANES.saturating_mul(workers).min(MAX_WINDOW),
        };
        count.advance();
        count
    }

    fn is_decided(&self) -> bool {
        self.verified >= self.needed || self.verified + self.open < self.needed
    }

    /// Chooses the next window if the last one was counted.
    fn advance(&mut self) {
        if self.is_decided() {
            self.taken = self.window.len();
        } else if self.taken == self.window.len() {
            self.round += 1;
            self.taken = 0;
            self.fill_window();
            // After a failure, enough for all lanes of all workers, and more each time.
            self.least = self
                .least
                .saturating_mul(2)
                .clamp(self.lanes.min(MAX_WINDOW), MAX_WINDOW);
        }
    }

    /// Chooses the next votes that would close the gap if all are valid, and at least `least`.
    fn fill_window(&mut self) {
        self.window.clear();
        let mut hoped = self.verified;
        for vote in self.next..self.votes.len() {
            let enough = hoped >= self.needed && self.window.len() >= self.least;
            if self.window.len() >= MAX_WINDOW || enough {
                break;
            }
            let Some(member) = self.votes[vote] else {
                continue;
            };
            let member = &mut self.members[member as usize];
            if member.verified {
                continue;
            }
            if member.window != self.round {
                member.window = self.round;
                hoped += u128::from(member.weight);
            }
            self.window.push(vote);
        }
    }

    fn count(&mut self, is_valid: bool) {
        let vote = self.next;
        self.next += 1;
        let Some(member) = self.votes[vote] else {
            return;
        };
        let member = &mut self.members[member as usize];
        member.ahead -= 1;
        if member.verified {
            return;
        }
        let weight = u128::from(member.weight);
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

impl Count for AnyValid {
    fn mode(&self) -> Mode {
        Mode::Full
    }

    fn wanted(&self) -> &[usize] {
        &self.window[self.taken..]
    }

    fn take(&mut self, verdicts: &[Verdict]) {
        for verdict in verdicts {
            if self.is_decided() {
                break;
            }
            let Some(&vote) = self.window.get(self.taken) else {
                break;
            };
            self.taken += 1;
            // Votes that were not wanted do not count.
            while self.next < vote {
                self.count(false);
            }
            self.count(verdict.is_ok());
        }
        self.advance();
    }

    fn answer(self: Box<Self>) -> Result<QuorumReport, QuorumError> {
        if self.verified < self.needed {
            return Err(QuorumError::Insufficient {
                needed: self.needed,
                claimed: self.claimed,
                verified: self.verified,
            });
        }
        Ok(QuorumReport {
            weight: self.verified,
            carried_by: self.carried_by,
            examined: self.next,
        })
    }
}

#[cfg(test)]
mod tests {
    use mldsa_core::{MlDsa44, SigningKey};

    use super::*;
    use crate::RejectReason;

    /// With one vote missing, forgeries are verified in windows for all workers that double,
    /// and each vote is looked at once. Neither the number of workers nor the number of verdicts
    /// that are taken at once changes the answer.
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
        let needed = committee.required_weight();
        let count = |votes: &[(MemberId, &[u8])]| {
            let answers = [(1, 8), (1, usize::MAX), (2, 3), (16, usize::MAX)];
            let answers = answers.map(|(workers, at_once)| {
                let mut count = AnyValid::new(&committee, votes, needed, workers);
                let (mut calls, mut looked) = (0, 0);
                while !count.wanted().is_empty() {
                    let wanted = &count.wanted()[..count.wanted().len().min(at_once)];
                    let verdict = |vote: &usize| match votes[*vote].1[0] {
                        1 => Ok(()),
                        _ => Err(RejectReason::ChallengeMismatch),
                    };
                    let verdicts: Vec<Verdict> = wanted.iter().map(verdict).collect();
                    looked += wanted.len();
                    calls += 1;
                    count.take(&verdicts);
                }
                (Box::new(count).answer(), calls, looked)
            });
            let [first, .., last] = &answers;
            assert!(answers.iter().all(|(answer, ..)| *answer == first.0));
            last.clone()
        };
        let enough = needed as u8 - 1;
        let mut votes: Vec<_> = (0..enough).map(|n| (id(n), &good[..])).collect();
        votes.push((id(enough), &forged));
        votes.extend((enough..members).map(|n| (id(n), &good[..])));
        let report = count(&votes).0.unwrap();
        let examined = votes.len() + 1 - usize::from(members - enough);
        assert_eq!((report.weight(), report.examined()), (needed, examined));

        votes.truncate(enough.into());
        votes.extend((0..2000).map(|_| (id(members - 1), &forged[..])));
        let missing = QuorumError::Insufficient {
            needed,
            claimed: needed,
            verified: needed - 1,
        };
        let (answer, calls, looked) = count(&votes);
        assert_eq!(answer, Err(missing));
        // 128 forgeries, 256, 512, 1,024 and the rest, after the first window.
        assert!(calls <= 6);
        assert_eq!(looked, votes.len());
        votes.push((id(members - 1), &good));
        let report = count(&votes).0.unwrap();
        assert_eq!((report.weight(), report.examined()), (needed, votes.len()));
    }
}
