//! Quorums of which every vote is valid.

use mldsa_core::ParameterSet;

use super::{Count, QuorumError, QuorumReport};
use crate::batch::Mode;
use crate::reason::Verdict;
use crate::{Committee, MemberId};

/// A count under [`QuorumRule::Certificate`](super::QuorumRule::Certificate).
pub(crate) struct EachValid {
    weight: u128,
    /// One vote of each member, of which the first `taken` are valid.
    distinct: Vec<usize>,
    taken: usize,
    votes: usize,
    rejected: Option<QuorumError>,
}

impl EachValid {
    pub(super) fn new<P: ParameterSet, S: AsRef<[u8]>>(
        committee: &Committee<P>,
        votes: &[(MemberId, S)],
        needed: u128,
        allow_duplicates: bool,
    ) -> Result<Self, QuorumError> {
        let unknown = votes
            .iter()
            .position(|(member, _)| !committee.contains(*member));
        if let Some(vote) = unknown {
            return Err(QuorumError::UnknownMember { vote });
        }
        let mut seen = vec![None::<usize>; committee.len()];
        let mut distinct = Vec::with_capacity(votes.len().min(seen.len()));
        let mut weight = 0;
        for (second, (member, signature)) in votes.iter().enumerate() {
            let member = member.index() as usize;
            match seen[member] {
                None => {
                    seen[member] = Some(second);
                    distinct.push(second);
                    weight += u128::from(committee.weights()[member]);
                }
                Some(first) if votes[first].1.as_ref() != signature.as_ref() => {
                    return Err(QuorumError::ConflictingClaims { first, second });
                }
                Some(_) if allow_duplicates => {}
                Some(first) => return Err(QuorumError::Duplicate { first, second }),
            }
        }
        if weight < needed {
            return Err(QuorumError::Insufficient {
                needed,
                claimed: weight,
                verified: 0,
            });
        }
        Ok(Self {
            weight,
            distinct,
            taken: 0,
            votes: votes.len(),
            rejected: None,
        })
    }
}

impl Count for EachValid {
    fn mode(&self) -> Mode {
        Mode::FirstInvalid
    }

    fn wanted(&self) -> &[usize] {
        match self.rejected {
            None => &self.distinct[self.taken..],
            Some(_) => &[],
        }
    }

    fn take(&mut self, verdicts: &[Verdict]) {
        for (&vote, verdict) in self.distinct[self.taken..].iter().zip(verdicts) {
            if let Err(reason) = *verdict {
                self.rejected = Some(QuorumError::Rejected { vote, reason });
                break;
            }
            self.taken += 1;
        }
    }

    fn answer(self: Box<Self>) -> Result<QuorumReport, QuorumError> {
        match self.rejected {
            Some(error) => Err(error),
            None => Ok(QuorumReport {
                weight: self.weight,
                carried_by: self.distinct,
                examined: self.votes,
            }),
        }
    }
}
