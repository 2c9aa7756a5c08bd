//! Reasons why there is no quorum.

use core::fmt;

use crate::RejectReason;

/// Reason why votes are no quorum. Without cryptographic checks unless the variant says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuorumError {
    /// A vote by an id of another committee.
    UnknownMember {
        /// Index of the vote.
        vote: usize,
    },
    /// A vote has a duplicate, byte for byte.
    Duplicate {
        /// Index of the earlier.
        first: usize,
        /// Index of the later.
        second: usize,
    },
    /// Two different signatures in the name of one member. Neither was verified, so at least
    /// one may be forged by a third party: no evidence against the member.
    ConflictingClaims {
        /// Index of the earlier vote.
        first: usize,
        /// Index of the later vote.
        second: usize,
    },
    /// The weight does not suffice: of all votes in a certificate; otherwise of the valid ones
    /// and those that might still have been valid.
    Insufficient {
        /// Required weight.
        needed: u128,
        /// Weight of all members with a vote, valid or not; without those whose votes all
        /// have a wrong length, unless in a certificate.
        claimed: u128,
        /// Weight that was verified before the answer was known: 0 in a certificate.
        verified: u128,
    },
    /// In a certificate: the lowest vote whose verification failed.
    Rejected {
        /// Index of the vote.
        vote: usize,
        /// Reason.
        reason: RejectReason,
    },
    /// A submitted quorum without an answer: the service was shut down, its workers are gone,
    /// another peer's quorum displaced it from the queue, or the answer was taken before.
    Abandoned,
}

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMember { vote } => write!(f, "vote {vote} is by an unknown member"),
            Self::Duplicate { first, second } => {
                write!(f, "votes {first} and {second} are duplicates")
            }
            Self::ConflictingClaims { first, second } => write!(
                f,
                "votes {first} and {second} differ and name one member; neither was verified"
            ),
            Self::Insufficient {
                needed,
                claimed,
                verified,
            } => write!(
                f,
                "a weight of {needed} is needed: members of {claimed} have voted, {verified} is verified"
            ),
            Self::Rejected { vote, reason } => write!(f, "vote {vote} is rejected: {reason}"),
            Self::Abandoned => f.write_str("the quorum was abandoned"),
        }
    }
}

impl core::error::Error for QuorumError {}
