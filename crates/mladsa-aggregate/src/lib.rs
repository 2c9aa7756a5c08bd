#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(feature = "test-util"),
    allow(unreachable_pub, reason = "items of the module `test_util`")
)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// In order of dependency: a module uses only those above it.
mod member_id;
mod error;
mod wire;
mod keys;
mod journal;
mod committee;
mod round;
#[cfg(feature = "insecure-open-commitments")]
#[doc(hidden)]
pub mod open_commitments;
#[cfg(test)]
#[path = "../tests/vectors/mod.rs"]
mod vectors;

pub use crate::committee::epoch::{AttemptId, Epoch};
pub use crate::committee::full::SigningCommittee;
pub use crate::committee::member::Member;
pub use crate::committee::opening::AuthenticatedKey;
pub use crate::committee::registration::Registration;
pub use crate::committee::view::CommitteeView;
pub use crate::error::Error;
pub use crate::journal::one_time::OneTimeKeyJournal;
pub use crate::keys::seed::MasterSeed;
pub use crate::member_id::MemberName;
pub use crate::round::aggregate::Aggregate;
pub use crate::round::certificate::AggregateCertificate;
pub use crate::round::definition::Round;
pub use crate::round::message::ConflictingMessages;
pub use crate::round::session::{Session, SessionEvent};
pub use crate::round::task::SigningTask;

/// Storage of a journal, for applications with their own media.
pub mod storage {
    #[cfg(feature = "std")]
    pub use crate::journal::file::{FileLog, FileMark};
    pub use crate::journal::storage::{LogStorage, MarkStorage};
}

/// Error types of the single steps. [`Error`] is their union.
pub mod errors {
    pub use crate::error::{
        AggregateError, CommitteeError, EncodingError, JournalError, RoundError, StorageError,
    };
}

/// Items for tests, fuzzing and measurements only.
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub mod test_util {
    pub use crate::committee::tree::Opening;
    pub use crate::keys::matrix::Matrix;
    pub use crate::keys::nonce::SIGMA_OFFSET;
    pub use crate::round::combine::Response;
    pub use crate::round::commitment::Commitment;
    pub use crate::round::definition::offset_width;
    pub use crate::wire::signer_set::SignerSet;
}

/// Single steps of a round, which [`Session`] takes. For tests and measurements only.
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub mod steps {
    pub use crate::keys::one_time_key::OneTimePublicKey;
    pub use crate::round::combine::Combiner;
    pub use crate::round::commitment::{Challenge, CommitmentSet};
    pub use crate::round::definition::Round;
    pub use crate::round::message::{ConflictingMessages, Message, MessageKind};
    pub use crate::round::signer::PendingResponse;
}
