#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// In order of dependency: a room uses those above it.
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

pub use crate::epoch::announcement::RootAnnouncement;
pub use crate::epoch::merkle::Hash;
pub use crate::epoch::pinned::{AuthenticatedKey, InMemoryRootsForTests, PinnedRoots, RootStore};
pub use crate::epoch::plan::{DEFAULT_ATTEMPTS, EpochPlan, MAX_LEAVES};
pub use crate::epoch::registry::{MAX_MEMBERS, Registration, Registry};
#[cfg(feature = "std")]
pub use crate::epoch::root_store::FileRootStore;
pub use crate::epoch::tree::{EpochTree, Opening};
pub use crate::error::Error;
#[cfg(feature = "std")]
pub use crate::guard::{FileGuard, FileMedium, GuardMedium};
pub use crate::guard::{GuardKey, GuardState, InMemoryGuardForTests, OneTimeGuard};
pub use crate::keys::content_key::{CONTENT_PUBLIC_KEY_LEN, ContentPublicKey};
pub use crate::keys::matrix::Matrix;
pub use crate::keys::member::Member;
pub use crate::keys::proof::verify_content_key;
pub use crate::keys::seed::{MasterSeed, SeedFingerprint};
pub use crate::member_id::MemberId;
pub use crate::round::aggregate::Aggregate;
pub use crate::round::cohort::{Decision, Kind, Mode, Round, offset_width};
pub use crate::round::combine::{Combiner, RESPONSE_LEN, Response};
pub use crate::round::commitment::{COMMITMENT_LEN, Challenge, Commitment, CommitmentSet};
pub use crate::round::signer::Pending;
pub use crate::wire::bits::SignerBits;
pub use crate::wire::envelope::Part;
pub use crate::wire::label::{BaseLabel, ContentLabel, MAX_ATTEMPTS};
pub use mldsa_core::hazmat::linear::Miss;
