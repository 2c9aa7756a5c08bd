//! ML-DSA (FIPS 204) for devices with little memory: key generation, signing and verification of
//! ML-DSA-44, 65 and 87 in two to four kilobytes of stack, `no_std`, no allocation, safe stable
//! Rust. Signatures are byte for byte those of `mldsa-core`, whose arithmetic this crate schedules.
//!
//! | tier | workspace in addition to the stack | expansions of A |
//! |---|---|---|
//! | [`Minimal`] | none | 1 per attempt, and a second one if z passes |
//! | [`CacheW0`] | 2432 / 3840 / 5120 bytes | 1 per attempt |
//! | [`Balanced`] | 11,776 / 9,568 / 12,512 bytes | ML-DSA-44: 1 per signature; 65 and 87: 1 per two attempts |
//! | [`CacheMatrix`] | 11,776 / 22,080 / 41,216 bytes | 1 per signature |
//!
//! A private key is a 32-byte seed ([`SigningKey`], 192 bytes while in use) or the
//! expanded encoding in flash ([`ExpandedSigningKey`]); [`MlDsaSigner`] signs with either, and
//! [`SlicedSigner`] in short steps that a reset may interrupt.
//! Verification reads key and signature in place ([`VerifyingKey`]) or from an untrusted
//! external memory ([`VerifyingKey::verify_mu_from`], about 1.2 kB of stack more).
//!
//! ```
//! use mldsa_lowmem::{Context, MlDsa44, VerifyingKey};
//!
//! fn is_genuine(key: &VerifyingKey<'_, MlDsa44>, image: &[u8], signature: &[u8; 2420]) -> bool {
//!     Context::new(b"firmware/1")
//!         .is_ok_and(|context| key.verify_with_context(image, context, signature).is_ok())
//! }
//! ```
//!
//! No branch depends on a secret, which is checked on compiled code (`docs/constant-time.md`).
//! All working memory is wiped on every exit.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `hash-ml-dsa` | yes | HashML-DSA (FIPS 204 section 5.4) |
//! | `ml-dsa-44`, `ml-dsa-65`, `ml-dsa-87` | yes | the parameter sets |
//!
//! Rust 1.89 or newer. No audit.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

// Lowest first: a module uses only those above it.
mod checks;
mod error;
mod io;
mod tier;
mod packed;
mod secrets;
mod matrix;
mod signing_secrets;
mod keygen;
mod verify;
mod key;
mod remote;
mod attempt;
mod signer;
mod ram;
mod slices;

pub use crate::attempt::Progress;
pub use crate::checks::{AllChecks, Checks, NoChecks, Recomputation};
pub use crate::error::{ReaderError, SignError};
pub use crate::io::Reader;
pub use crate::key::{ExpandedKeyPair, ExpandedSigningKey, PrivateKey, SigningKey};
pub use crate::ram::{Operation, ram};
pub use crate::signer::MlDsaSigner;
pub use crate::slices::{STATE_LEN, Slice, SliceMemory, SlicedKey, SlicedSigner};
pub use crate::tier::{Balanced, CacheMatrix, CacheW0, Minimal, Tier, Workspace};
pub use crate::verify::VerifyingKey;
#[cfg(feature = "ml-dsa-44")]
pub use mldsa_core::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
pub use mldsa_core::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
pub use mldsa_core::MlDsa87;
pub use mldsa_core::{
    Context, KeyError, MessageError, Mu, MuBuilder, ParameterSet, Randomness, VerifyError,
};
#[cfg(mldsa_hardware_keccak)]
pub use mldsa_core::{KeccakF1600, hardware_keccak};
#[cfg(feature = "hash-ml-dsa")]
pub use mldsa_core::{PreHash, PreHashed};
