//! Certificates: every vote is valid.

use mldsa_core::ParameterSet;

use super::{Quorum, QuorumError, QuorumReport, Verify};
use crate::RejectReason;
use crate::batch::Mode;

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
            .position(|(member, _)| !committee.contains(*member));
        if let Some(vote) = unknown {
            return Err(QuorumError::UnknownMember { vote });
        }
        let mut seen = vec![None::<usize>; committee.len()];
        let mut distinct = Vec::with_capacity(votes.len().min(seen.len()));
        let mut weight = 0;
        for (second, (member, signature)) in votes.iter().enumerate() {
            let seen = &mut seen[member.index() as usize];
            match *seen {
                None => {
                    *seen = Some(second);
                    distinct.push(second);
                    weight += self.weight(*member);
                }
                Some(first) if votes[first].1 != *signature => {
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
            let missing = Err(RejectReason::NotVerified);
            let verdict = verdicts.get(at).copied().unwrap_or(missing);
            verdict.map_err(|reason| QuorumError::Rejected { vote, reason })?;
        }
        Ok(QuorumReport {
            weight,
            carried_by: distinct,
            examined: votes.len(),
        })
    }
}
