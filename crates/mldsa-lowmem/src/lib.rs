//! ML-DSA (FIPS 204) for devices with little memory: key generation, signing and
//! verification of ML-DSA-44, 65 and 87 in two to four kilobytes of stack, `no_std`, no
//! allocation, safe stable Rust. Signatures are byte for byte those of
//! `mldsa-core`, whose arithmetic this crate schedules.
//!
//! | tier | memory beside the stack | passes over A per attempt |
//! |---|---|---|
//! | [`Floor`] | none | 1, and a second one if z passes |
//! | [`KeepW0`] | 2432 / 3840 / 5120 bytes | 1 |
//! | [`Balanced`] | 11,776 / 9,568 / 12,512 bytes | ML-DSA-44: one per signature; else 1/2 |
//! | [`Cached`] | 11,776 / 22,080 / 41,216 bytes | one per signature |
//!
//! Private keys come as a 32-byte seed ([`OpenedKey`], 192 bytes while in use) or
//! as the expanded encoding in flash ([`ExpandedKey`]). Verification reads key
//! and signature in place ([`PublicKey`]) or from an untrusted chip
//! ([`verify_mu_from`]).

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

// Lowest first: a module uses only those above it.
mod error;
mod source;
mod tier;
mod packed;
mod secrets;
mod matrix;
mod signing_secrets;
mod keygen;
mod key;
mod verify;
mod remote;
mod attempt;
mod signer;

pub use crate::attempt::Progress;
pub use crate::error::{SignError, SinkError, SourceError};
pub use crate::key::{ExpandedKey, OpenedKey, PrivateKey};
pub use crate::keygen::{keygen_from_seed, keygen_to};
pub use crate::remote::{tr_from, verify_mu_from};
pub use crate::signer::{Output, OwnOutput, Signer, sign_mu_deterministic_from_seed};
pub use crate::source::{Sink, Source};
pub use crate::tier::{Balanced, Cached, Floor, KeepW0, Tier, Workspace};
pub use crate::verify::{PublicKey, Verifier};
#[cfg(feature = "ml-dsa-44")]
pub use mldsa_core::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
pub use mldsa_core::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
pub use mldsa_core::MlDsa87;
pub use mldsa_core::internals::Rejection;
pub use mldsa_core::{
    Context, ContextError, KeyError, Mu, MuBuilder, ParameterSet, Randomness, VerifyError,
};
#[cfg(feature = "hash-ml-dsa")]
pub use mldsa_core::{PreHash, PreHashError, PreHashed};
