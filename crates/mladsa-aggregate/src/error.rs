//! Error types, one enum for each step. No error value contains a secret.

use core::fmt;

use crate::member_id::MemberName;

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
            $(#[doc = concat!("This member ", $blame)] $blamed(MemberName),)*
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
        OtherOwner = "storage belongs to another user, or others can write it",
        Failed = "storage failed",
    }
    members {}
    wraps {}
}

error_enum! {
    /// Error of the one-time-key journal. After it, nothing was released.
    JournalError {
        Damaged = "journal is damaged, older than its high-water mark or not new",
        OtherSeed = "journal belongs to another seed",
        EpochConflict = "the seed serves another committee in this epoch, or the epoch is closed",
        KeyReused = "one-time key was already used",
    }
    members {}
    wraps { Storage(StorageError), }
}

error_enum! {
    /// Error of making a committee, of registering for it and of opening one-time keys.
    CommitteeError {
        NoMembers = "no members",
        TooManyMembers = "too many members",
        DuplicateMember = "duplicate member",
        UnknownMember = "unknown member",
        InvalidProof = "proof of possession does not verify",
        Weight = "weight or threshold out of range",
        OtherCommittee = "not of the committee with this identity",
        InvalidOpening = "opening does not lead to the root of the member",
        UnknownSlot = "slot is not in the epoch",
        AttemptsExhausted = "no attempts left for this slot",
        SigningFault = "signing failed: fault",
    }
    members {}
    wraps { Encoding(EncodingError), }
}

error_enum! {
    /// Error of one signing attempt.
    RoundError {
        NoSigners = "no signers",
        TooManySigners = "too many signers",
        DuplicateSigner = "duplicate signer",
        UnknownMember = "unknown member",
        OtherKey = "key belongs to another attempt or committee",
        InvalidMessage = "message is not authentic",
        OtherRound = "message belongs to another round or challenge",
        NotConflicting = "messages do not contradict each other",
        Incomplete = "contributions of signers are missing",
        ResponseTooLarge = "summed response too large: next attempt",
        TooManyHints = "too many hints: next attempt",
        HintOutOfReach = "hint cannot reach the commitment: next attempt",
        Fault = "recomputation differs: fault",
    }
    members {
        InvalidContribution = "sent a wrong contribution",
        ConflictingMessages = "signed two different messages",
    }
    wraps {
        Encoding(EncodingError),
        Committee(CommitteeError),
        Journal(JournalError),
    }
}

impl RoundError {
    /// Returns whether the attempt missed, which is public and the same for all members: discard
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
    AggregateError {
        OtherTask = "aggregate is about another task",
        OtherEpoch = "aggregate is of another epoch",
        QuorumMissed = "signers do not reach the threshold",
        MissingKey = "one-time key of a signer is missing",
        InvalidSignature = "signature does not verify",
    }
    members {}
    wraps {
        Encoding(EncodingError),
        Round(RoundError),
        Committee(CommitteeError),
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
        Committee(CommitteeError),
        Round(RoundError),
        Verify(AggregateError),
    }
}
