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
        let vote = &self.quorum.votes[vote];
        let usable =
            vote.signature.len() == P::SIG_LEN && self.quorum.committee.contains(vote.member);
        usable.then_some(vote.member.index() as usize)
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
                self.record(vote, verdict.is_valid());
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
