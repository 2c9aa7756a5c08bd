//! ML-DSA (FIPS 204) for nodes and devices: key generation, signing and
//! verification for ML-DSA-44, 65 and 87, without the standard library, without
//! allocation, constant time in the secrets.
//!
//! ```
//! use mldsa_core::{Context, Hedge, MlDsa65, SigningKey};
//!
//! let key = SigningKey::<MlDsa65>::from_seed(&[7; 32]);
//! let ctx = Context::new(b"example/v1")?;
//! let signature = key.sign(b"message", ctx, Hedge::Deterministic)?;
//! key.verifying_key().verify(b"message", ctx, signature.as_ref())?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Stack
//!
//! Bytes of stack below the call in cargo's default release profile, as portable /
//! AVX2 / AVX-512 backend (the gate `cargo run -p mldsa-gates -- stack` prints and
//! enforces them; rustc 1.95.0, x86-64, 2026-11-22). Every verification, alone, in
//! lanes or in a batch, takes at most 64 KiB on every backend. In an unoptimised
//! build each portable call still runs on a thread of 128 KiB; `docs/gates.md` has
//! those figures too. No call allocates but those that return a heap-owned prepared
//! key, a batch signer, or a vector.
//!
//! | row | calls | 44 | 65 | 87 |
//! | --- | --- | --: | --: | --: |
//! | keygen | `SigningKey::from_seed`, `generate`, `generate_with_rng`, `bytes::keygen` | 21,192 / 23,320 / 24,664 | 23,240 / 25,368 / 26,712 | 27,336 / 29,464 / 30,808 |
//! | keygen in a batch | `SigningKey::from_seeds`, `bytes::keygen_many` | 22,216 / 24,408 / 25,752 | 24,264 / 26,456 / 27,800 | 28,360 / 30,552 / 31,896 |
//! | import | `SigningKey::from_expanded`, `bytes::public_key` | 21,064 / 23,256 / 24,600 | 23,112 / 25,304 / 26,648 | 27,208 / 29,400 / 30,744 |
//! | sign | every `sign*` of `SigningKey`, `bytes::sign_mu` | 42,216 / 42,920 / 42,264 | 62,696 / 63,400 / 62,744 | 97,512 / 98,216 / 97,560 |
//! | sign prepared | every `sign*` of `PreparedSigningKey` | 17,320 / 18,024 / 17,368 | 20,392 / 21,096 / 20,440 | 24,488 / 25,192 / 24,536 |
//! | sign in a batch | `BatchSigner::sign`, `PreparedSigningKey::sign_many` | 24,088 / 27,224 / 26,760 | 24,984 / 27,224 / 26,760 | 26,328 / 27,224 / 26,760 |
//! | verify | every `verify*` of `VerifyingKey`, `bytes::verify*` | 16,408 / 26,104 / 36,752 | 18,456 / 28,152 / 31,440 | 22,552 / 32,248 / 33,488 |
//! | verify prepared | every `verify*` of prepared verifying keys | 16,280 / 19,672 / 19,744 | 18,328 / 20,696 / 16,544 | 22,424 / 22,744 / 20,640 |
//! | prepare | `VerifyingKey::prepare`, `prepare_in` | 2,392 / 19,544 / 22,936 | 2,392 / 19,544 / 22,936 | 2,392 / 19,544 / 22,936 |
//! | prepare to sign | `SigningKey::prepare` | 4,360 / 9,368 / 10,712 | 5,640 / 10,648 / 11,992 | 6,920 / 11,928 / 13,272 |
//!
//! Forms that return a key or a signature by value add its size.
//!
//! Names are those of FIPS 204; every function that is one of its algorithms
//! says which. Where secrets are handled every function is constant time in them;
//! one whose name ends in `_vartime` is not, and takes public values only.
//! Verification and all decoding of public keys and signatures see public data
//! alone. Not audited, not formally verified, no FIPS certificate.

#![no_std]
#![deny(missing_docs)]
// AArch64 without vector registers, or with words the other way round.
#![cfg_attr(
    all(
        target_arch = "aarch64",
        not(all(target_feature = "neon", target_endian = "little"))
    ),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "what the backends of other such CPUs share"
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// Lowest first: a module uses only those above it, and so do the modules inside
// each folder (tests/structure.rs). They are private. `siblings` and `hazmat` export
// items of some, which nobody reaches without these features: `unreachable_pub` is
// silent there.
mod memory;
mod error;
#[cfg_attr(not(feature = "hazmat"), allow(unreachable_pub, reason = "see above"))]
mod params;
#[cfg(test)]
mod random;
mod ring;
mod coding;
mod hash;
#[cfg_attr(not(feature = "hazmat"), allow(unreachable_pub, reason = "see above"))]
mod sample;
mod lanes;
mod backend;
mod scheme;
#[cfg(feature = "siblings")]
mod streaming;
#[cfg(feature = "siblings")]
mod summing;
mod keys;
pub mod cost;
#[cfg_attr(
    not(any(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87")),
    allow(dead_code, reason = "there is no set to test")
)]
mod self_test;
mod formats;
#[cfg(feature = "signature")]
mod traits;
#[cfg(feature = "siblings")]
#[doc(hidden)]
pub mod siblings;
#[cfg(feature = "hazmat")]
pub mod hazmat;

pub use crate::backend::Backend;
#[cfg(feature = "jwk")]
pub use crate::error::JwkError;
pub use crate::error::{
    ContextError, KeyError, ParseError, PreHashError, RngError, SelfTestError, SignError,
    VerifyError,
};
#[cfg(feature = "jwk")]
pub use crate::formats::akp::{CoseKey, Jwk};
#[cfg(feature = "pkcs8")]
pub use crate::formats::pkcs8::{PrivateKeyChoice, PrivateKeyForm};
#[cfg(feature = "serde")]
pub use crate::formats::serde::ExposedKey;
#[cfg(feature = "spki")]
pub use crate::formats::spki::object_identifier;
#[cfg(feature = "hash-ml-dsa")]
pub use crate::hash::prehash::{PreHash, PreHashed};
pub use crate::hash::transcript::{Context, Hedge, Mu, MuBuilder};
#[cfg(feature = "alloc")]
pub use crate::keys::PreparedSigningKey;
#[cfg(feature = "alloc")]
pub use crate::keys::PreparedVerifyingKey;
pub use crate::keys::{
    BatchMemory, BatchSigner, PreparedMemory, PreparedSigningKeyRef, PreparedSigningMemory,
    PreparedVerifyingKeyRef, SignJob, Signature, SigningKey, VerifyingKey, bytes,
};
pub use crate::memory::array::ByteArray;
pub use crate::memory::secret::scrub_stack;
#[cfg(feature = "ml-dsa-44")]
pub use crate::params::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
pub use crate::params::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
pub use crate::params::MlDsa87;
pub use crate::params::ParameterSet;
pub use crate::self_test::self_test;

// The crates whose traits are implemented here, in the versions that fit.
#[cfg(feature = "pkcs8")]
pub use pkcs8;
#[cfg(feature = "signature")]
pub use signature;
#[cfg(feature = "spki")]
pub use spki;
