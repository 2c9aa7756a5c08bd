#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// Lowest first.
mod label;
mod error;
mod encoding;
mod bits;
mod matrix;
mod merkle;
mod seed;
mod mask;
mod content_key;
mod registry;
mod epoch;
mod guard;
mod round;
mod commitment;
mod aggregate;
mod combine;
mod session;
mod envelope;
mod proof;
#[cfg(feature = "transparent-commitments")]
pub mod base;
#[cfg(feature = "transparent-commitments")]
mod one_party;
#[cfg(feature = "std")]
mod root_store;
#[cfg(test)]
mod vectors;

pub use crate::aggregate::Aggregate;
pub use crate::bits::SignerBits;
pub use crate::combine::{Combiner, RESPONSE_LEN, Response};
pub use crate::commitment::{COMMITMENT_LEN, Challenge, Commitment, CommitmentSet};
pub use crate::content_key::{SHARE_LEN, Share};
pub use crate::envelope::Part;
pub use crate::epoch::{
    AuthenticatedShare, DEFAULT_ATTEMPTS, EpochPlan, EpochTree, MAX_LEAVES, Opening, PinnedRoots,
    RootAnnouncement, RootStore,
};
pub use crate::error::Error;
#[cfg(feature = "std")]
pub use crate::guard::{FileGuard, FileMedium, GuardMedium};
pub use crate::guard::{
    GuardKey, GuardState, InMemoryGuardForTests, InMemoryRootsForTests, OneTimeGuard,
};
pub use crate::label::{BaseLabel, ContentLabel, MAX_ATTEMPTS, MemberId};
pub use crate::matrix::Matrix;
pub use crate::merkle::Hash;
pub use crate::proof::verify_content_key;
pub use crate::registry::{MAX_MEMBERS, Member, Registration, Registry};
#[cfg(feature = "std")]
pub use crate::root_store::FileRootStore;
pub use crate::round::{Decision, Kind, Mode, Round, offset_width};
pub use crate::seed::{MasterSeed, SeedFingerprint};
pub use crate::session::Pending;
pub use mldsa_core::hazmat::linear::Miss;
