#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod checkpoint;
mod error;
mod merkle;
mod message;
mod note;
mod proof;

#[cfg(feature = "alloc")]
mod key;
#[cfg(feature = "alloc")]
mod policy;
#[cfg(feature = "alloc")]
mod witness;

pub use crate::checkpoint::{Checkpoint, Subtree};
pub use crate::error::Error;
#[cfg(feature = "alloc")]
pub use crate::key::{Cosigner, CosignerKey};
pub use crate::merkle::{
    Hash, leaf_hash, node_hash, root_of, verify_consistency, verify_inclusion,
};
pub use crate::message::{Cosignature, SignedMessage};
pub use crate::note::{MAX_BYTES, MAX_SIGNATURES, Note, SignatureLine, key_id};
#[cfg(feature = "alloc")]
pub use crate::policy::{MAX_NAMES, Policy, PolicyError, Verified};
#[cfg(feature = "alloc")]
pub use crate::proof::Proof;
pub use crate::proof::ProofLines;
#[cfg(feature = "alloc")]
pub use crate::witness::{AddCheckpoint, Refusal, SignSubtree};
