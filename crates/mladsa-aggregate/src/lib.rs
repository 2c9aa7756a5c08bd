#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// In order of dependency: a module uses only those above it.
mod member_id;
mod error;
mod wire;
mod keys;
mod guard;
mod epoch;
mod round;
#[cfg(feature = "transparent-commitments")]
pub mod base;
#[cfg(test)]
#[path = "../tests/vectors/mod.rs"]
mod vectors;

pub use crate::epoch::agreed::{Acknowledgement, AgreedRoots, AuthenticatedKey};
pub use crate::epoch::announcement::RootAnnouncement;
pub use crate::epoch::merkle::Hash;
pub use crate::epoch::message::{Equivocation, Message, Part};
pub use crate::epoch::pinned::PinnedRoots;
#[cfg(feature = "std")]
pub use crate::epoch::pins::FilePins;
pub use crate::epoch::pins::{InMemoryPinsForTests, PinStore};
pub use crate::epoch::plan::{DEFAULT_ATTEMPTS, EpochPlan, MAX_LEAVES, attempts_for};
pub use crate::epoch::policy::Policy;
pub use crate::epoch::proof::verify_content_key;
pub use crate::epoch::registry::{MAX_MEMBERS, Registration, Registry};
pub use crate::epoch::tree::{EpochTree, Opening};
pub use crate::error::Error;
#[cfg(feature = "std")]
pub use crate::guard::file::{FileLog, FileMark};
pub use crate::guard::journal::Guard;
pub use crate::guard::medium::{LogMedium, MarkMedium, MediumError};
pub use crate::guard::memory::{MemoryLogForTests, MemoryMarkForTests};
pub use crate::keys::content_key::{CONTENT_PUBLIC_KEY_LEN, ContentPublicKey};
pub use crate::keys::matrix::Matrix;
pub use crate::keys::member::Member;
pub use crate::keys::seed::{MasterSeed, SeedFingerprint};
pub use crate::member_id::MemberId;
pub use crate::round::aggregate::Aggregate;
pub use crate::round::cohort::{Decision, Kind, Mode, Round, offset_width};
pub use crate::round::combine::{Combiner, RESPONSE_LEN, Response};
pub use crate::round::commitment::{COMMITMENT_LEN, Challenge, Commitment, CommitmentSet};
pub use crate::round::session::{Event, Session, Topic};
pub use crate::round::signer::Pending;
pub use crate::wire::bits::SignerBits;
pub use crate::wire::label::{BaseLabel, ContentLabel, MAX_ATTEMPTS};
pub use mldsa_core::internals::vectors::CombineError;
