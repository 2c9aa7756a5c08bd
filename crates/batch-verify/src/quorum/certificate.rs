//! Certificates: every vote is valid.

use mldsa_core::ParameterSet;

use super::{Quorum, QuorumError, QuorumReport, Verify};
use crate::batch::Mode;
use crate::{RejectReason, Verdict};

impl<P: ParameterSet> Quorum<'_, '_, P> {
    /// See [`QuorumRule::Certificate`](super::QuorumRule::Certificate).
    pub(super) fn certificate(
        &self,
        allow_repeats: bool,
        verify: Verify<'_>,
    ) -> Result<QuorumReport, QuorumError> {
        let Self {
            committee, votes, ..
        } = self;
        let unknown = votes
            .iter()
            .position(|vote| !committee.contains(vote.member));
        if let Some(vote) = unknown {
            return Err(QuorumError::UnknownMember { vote });
        }
        let mut seen = vec![None::<usize>; committee.len()];
        let mut distinct = Vec::with_capacity(votes.len().min(seen.len()));
        let mut weight = 0;
        for (second, vote) in votes.iter().enumerate() {
            let seen = &mut seen[vote.member.index() as usize];
            match *seen {
                None => {
                    *seen = Some(second);
                    distinct.push(second);
                    weight += self.weight(vote.member);
                }
                Some(first) if votes[first].signature != vote.signature => {
                    return Err(QuorumError::ConflictingClaims { first, second });
                }
                Some(_) if allow_repeats => {}
                Some(first) => return Err(QuorumError::Duplicate { first, second }),
            }
        }
        let needed = self.required();
        if weight < needed {
            return Err(QuorumError::Insufficient {
                needed,
                claimed: weight,
                verified: 0,
            });
        }
        let verdicts = verify(Mode::FirstInvalid, &distinct);
        for (at, &vote) in distinct.iter().enumerate() {
            // A missing verdict is a rejection too.
            let verdict = verdicts.get(at).copied().unwrap_or(Verdict::Skipped);
            verdict
                .check()
                .map_err(|reason: RejectReason| QuorumError::Rejected { vote, reason })?;
        }
        Ok(QuorumReport {
            weight,
            carried_by: distinct,
            examined: votes.len(),
        })
    }
}
