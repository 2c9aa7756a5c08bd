//! One error for everything that can be refused.

use core::fmt;

use mldsa_core::internals::vectors::CombineError;

use crate::member_id::MemberId;

/// Why something was refused. Carries no secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No members, or an empty list where one entry is needed.
    EmptyCohort,
    /// More members than the mode admits.
    TooManyMembers,
    /// An id, a label or a key occurs twice.
    DuplicateId,
    /// The id is not in the registry or not in the cohort.
    UnknownMember,
    /// The label is not in the plan of the epoch.
    UnknownLabel,
    /// A string has the wrong length or form.
    BadLength,
    /// A value lies outside its range.
    OutOfRange,
    /// A proof of possession does not verify.
    BadPoP,
    /// The signature over an epoch root does not verify.
    BadTreeSignature,
    /// An opening does not lead to the pinned root.
    BadPath,
    /// A proof made with the content key, or the signature that vouches for it,
    /// does not verify.
    BadKeyProof,
    /// The root is not on the pinned list, or another list is pinned already.
    RootNotPinned,
    /// Too few members, or not the one in question, have acknowledged this list of
    /// roots.
    RootsNotAgreed,
    /// The seed serves another plan or list of roots in this epoch, or the epoch is
    /// closed.
    EpochConflict,
    /// Those who signed are too few for the policy.
    QuorumMissed,
    /// The aggregate is about another decision than the expected one.
    UnexpectedDecision,
    /// The signature of a message does not verify, or it is of another committee,
    /// epoch or list.
    BadMessage,
    /// The message belongs to another round or challenge. That is no fault of its
    /// sender.
    OtherRound,
    /// The member has signed two different messages where it may sign one:
    /// [`Equivocation`](crate::Equivocation) proves it to others.
    Equivocation(MemberId),
    /// The contributions are not exactly those of the cohort.
    CohortMismatch,
    /// The mode is not admitted here.
    ModeRefused,
    /// The contribution of this member is provably wrong.
    BadContribution(MemberId),
    /// No signature came about: go on with the next attempt, with nothing of
    /// this one.
    Retry(CombineError),
    /// No attempts are left for this content.
    AttemptsExhausted,
    /// The guard holds another commitment or another response for this content.
    OneTimeViolation,
    /// The guard could not be read or written. Nothing was released.
    GuardFailure,
    /// Another process has the guard's store open.
    GuardInUse,
    /// A recomputation gave another result: a fault. Nothing was released.
    Fault,
    /// The signature does not verify under the rebuilt key.
    VerifyFailed,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyCohort => "no members",
            Self::TooManyMembers => "too many members",
            Self::DuplicateId => "duplicate id, label or key",
            Self::UnknownMember => "unknown member",
            Self::UnknownLabel => "label is not in the plan of the epoch",
            Self::BadLength => "wrong length or form",
            Self::OutOfRange => "value out of range",
            Self::BadPoP => "proof of possession does not verify",
            Self::BadTreeSignature => "signature over the epoch root does not verify",
            Self::BadPath => "opening does not lead to the pinned root",
            Self::BadKeyProof => "proof of the content key does not verify",
            Self::RootNotPinned => "root is not pinned, or another list is pinned for this epoch",
            Self::RootsNotAgreed => "list of roots is not acknowledged by a quorum and every member",
            Self::EpochConflict => {
                "the seed serves another plan or list of roots in this epoch, or the epoch is closed"
            }
            Self::QuorumMissed => "signers are too few for the policy",
            Self::UnexpectedDecision => "aggregate is about another decision",
            Self::BadMessage => "message is not signed by its sender for this epoch",
            Self::OtherRound => "message belongs to another round or challenge",
            Self::Equivocation(id) => return write!(f, "{id} signed two different messages"),
            Self::CohortMismatch => "contributions are not exactly those of the cohort",
            Self::ModeRefused => "mode is not admitted",
            Self::BadContribution(id) => return write!(f, "contribution of {id} is wrong"),
            Self::Retry(CombineError::ZNorm) => "summed response too large: next attempt",
            Self::Retry(CombineError::Weight) => "too many hints: next attempt",
            Self::Retry(CombineError::Carry) => "hint cannot reach the commitment: next attempt",
            Self::AttemptsExhausted => "no attempts left for this content",
            Self::OneTimeViolation => "content key was already used",
            Self::GuardFailure => "one-time guard failed",
            Self::GuardInUse => "one-time guard is in use by another process",
            Self::Fault => "recomputation differs: fault",
            Self::VerifyFailed => "signature does not verify",
        })
    }
}

impl core::error::Error for Error {}
