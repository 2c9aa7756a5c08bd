//! Error types, one enum for each step. No error value contains a secret.

use core::fmt;

use crate::member_id::MemberId;

/// Declares an error enum. The text of a variant is its documentation and its `Display`
/// output; a wrapped error displays as itself and converts with `From`.
macro_rules! error_enum {
    (
        $(#[$doc:meta])*
        $name:ident { $($variant:ident = $text:literal,)* }
        members { $($blamed:ident = $blame:literal,)* }
        wraps { $($wrapper:ident($inner:ty),)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = $text] $variant,)*
            $(#[doc = concat!("This member ", $blame)] $blamed(MemberId),)*
            $(#[doc = concat!("See [`", stringify!($inner), "`]")] $wrapper($inner),)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($text),)*
                    $(Self::$blamed(id) => write!(f, concat!("{} ", $blame), id),)*
                    $(Self::$wrapper(error) => error.fmt(f),)*
                }
            }
        }

        impl core::error::Error for $name {}

        $(impl From<$inner> for $name {
            fn from(error: $inner) -> Self {
                Self::$wrapper(error)
            }
        })*
    };
}

error_enum! {
    /// Error of reading an encoded object or of making an identifier.
    EncodingError {
        Length = "wrong length or form",
        OtherVersion = "encoding of another version",
        Range = "value out of range",
        Signature = "malformed signature",
    }
    members {}
    wraps {}
}

error_enum! {
    /// Error of a storage backend. After it, nothing was released.
    StorageError {
        InUse = "storage is in use by another process",
        Failed = "storage failed",
        OtherValue = "another value is stored under this name",
    }
    members {}
    wraps {}
}

error_enum! {
    /// Error of the one-time-key journal. After it, nothing was released.
    JournalError {
        Damaged = "journal is damaged, older than its high-water mark or not new",
        OtherSeed = "journal belongs to another seed",
        EpochConflict = "the seed serves another plan or list of roots in this epoch, or the epoch is closed",
        RootsNotAcknowledged = "the seed has not acknowledged this list of roots",
        KeyReused = "one-time key was already used",
    }
    members {}
    wraps { Storage(StorageError), }
}

error_enum! {
    /// Error of registering members.
    RegistrationError {
        NoMembers = "no members",
        TooManyMembers = "too many members",
        DuplicateMember = "duplicate member",
        UnknownMember = "unknown member",
        InvalidProof = "proof of possession does not verify",
        Threshold = "threshold out of range",
        SigningFault = "signing failed: fault",
    }
    members {}
    wraps {}
}

error_enum! {
    /// Error of planning an epoch and of agreeing on its roots.
    RootsError {
        EmptyPlan = "the plan has no tasks",
        DuplicateTask = "duplicate task",
        PlanSize = "number of attempts or of keys out of range",
        UnknownTask = "task is not in the plan of the epoch",
        AttemptsExhausted = "no attempts left for this task",
        NoRoots = "no roots",
        DuplicateMember = "duplicate member",
        UnknownMember = "unknown member",
        OtherEpoch = "statement is about another epoch",
        OtherTree = "tree belongs to another member, registry or plan",
        InvalidSignature = "signature of the statement does not verify",
        NotPinned = "root is not pinned, or another list is pinned for this epoch",
        NotAgreed = "list of roots is not acknowledged by a quorum and every signer",
        OtherCommittee = "committee is not the pinned one",
        NotConflicting = "statements do not contradict each other",
        NotEndorsed = "committee is not endorsed by a quorum of the previous one",
        SigningFault = "signing failed: fault",
    }
    members {}
    wraps {
        Encoding(EncodingError),
        Journal(JournalError),
        Storage(StorageError),
    }
}

error_enum! {
    /// Error of one signing attempt.
    RoundError {
        NoSigners = "no signers",
        TooManySigners = "too many signers",
        DuplicateSigner = "duplicate signer",
        UnknownMember = "unknown member",
        OtherKey = "key belongs to another attempt, member or list of roots",
        InvalidMessage = "message is not signed by its sender for this epoch",
        OtherRound = "message belongs to another round or challenge",
        InvalidOpening = "opening does not lead to the agreed root",
        InvalidKeyProof = "proof of the one-time key does not verify",
        NotConflicting = "messages do not contradict each other",
        Incomplete = "contributions of signers are missing",
        ResponseTooLarge = "summed response too large: next attempt",
        TooManyHints = "too many hints: next attempt",
        HintOutOfReach = "hint cannot reach the commitment: next attempt",
        AttemptsExhausted = "no attempts left for this task",
        Fault = "recomputation differs: fault",
    }
    members {
        InvalidContribution = "sent a wrong contribution",
        Equivocation = "signed two different messages",
    }
    wraps {
        Encoding(EncodingError),
        Roots(RootsError),
        Journal(JournalError),
    }
}

impl RoundError {
    /// Whether the attempt missed, which is public and the same for all members: discard
    /// everything of it, retire it and start the next attempt.
    #[must_use]
    pub fn is_miss(&self) -> bool {
        matches!(
            self,
            Self::ResponseTooLarge | Self::TooManyHints | Self::HintOutOfReach
        )
    }
}

error_enum! {
    /// Error of verifying an aggregate.
    VerifyError {
        OtherTask = "aggregate is about another task",
        OtherEpoch = "aggregate is of another epoch",
        QuorumMissed = "signers do not reach the threshold",
        MissingKey = "one-time key of a signer is missing",
        OpenCommitments = "aggregate was made with open commitments",
        InvalidSignature = "signature does not verify",
        TaskConsumed = "the task was consumed by another payload",
    }
    members {}
    wraps {
        Encoding(EncodingError),
        Round(RoundError),
        Storage(StorageError),
    }
}

error_enum! {
    /// Union of the errors of all steps, for code that combines them with `?`.
    Error {}
    members {}
    wraps {
        Encoding(EncodingError),
        Storage(StorageError),
        Journal(JournalError),
        Registration(RegistrationError),
        Roots(RootsError),
        Round(RoundError),
        Verify(VerifyError),
    }
}
