//! ML-DSA (FIPS 204) for nodes and devices: key generation, signing and
//! verification for ML-DSA-44, 65 and 87, without the standard library, without
//! allocation, constant time in the secrets.
//!
//! ```
//! use mldsa_core::{Context, MlDsa65, SigningKey};
//!
//! let key = SigningKey::<MlDsa65>::generate()?;
//! let ctx = Context::new(b"example/v1")?;
//! let signature = key.sign_hedged(b"message", ctx)?;
//! key.verifying_key().verify(b"message", ctx, signature.as_ref())?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! `wasm32-unknown-unknown` has no generator of its own: `generate` and `sign_hedged` do not
//! exist there, whatever the features. Pass a generator to `generate_with_rng`, and 32
//! fresh bytes to `sign`, such as those of `getrandom::SysRng` of a `getrandom` built with `wasm_js`.
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
//! | keygen | `SigningKey::from_seed`, `generate`, `generate_with_rng`, `no_alloc::keygen` | 25,512 / 25,512 / 25,880 | 27,560 / 27,560 / 27,928 | 31,656 / 31,656 / 32,024 |
//! | keygen in a batch | `SigningKey::from_seeds`, `no_alloc::keygen_many` | 34,088 / 34,088 / 34,088 | 34,088 / 34,088 / 34,088 | 34,088 / 34,088 / 34,088 |
//! | import | `SigningKey::from_expanded_bytes`, `no_alloc::public_key` | 25,384 / 25,384 / 25,752 | 27,432 / 27,432 / 27,800 | 31,528 / 31,528 / 31,896 |
//! | sign | every `sign*` of `SigningKey`, `no_alloc::sign_mu` | 42,920 / 42,984 / 42,920 | 63,336 / 63,400 / 63,336 | 98,152 / 98,216 / 98,152 |
//! | sign prepared | every `sign*` of `PreparedSigningKey` | 18,024 / 18,088 / 18,024 | 21,032 / 21,096 / 21,032 | 25,128 / 25,192 / 25,128 |
//! | sign in a batch | `BatchSigner::sign`, `PreparedSigningKey::sign_many` | 33,592 / 33,592 / 33,592 | 33,592 / 33,592 / 33,592 | 33,592 / 33,592 / 33,592 |
//! | verify | every `verify*` of `VerifyingKey`, `no_alloc::verify*` | 16,408 / 26,080 / 35,992 | 18,456 / 28,128 / 30,680 | 22,552 / 32,224 / 32,728 |
//! | verify prepared | every `verify*` of prepared verifying keys | 16,280 / 19,672 / 19,744 | 18,328 / 20,696 / 16,544 | 22,424 / 22,744 / 20,640 |
//! | prepare | `VerifyingKey::prepare`, `prepare_in` | 2,328 / 19,544 / 22,872 | 2,328 / 19,544 / 22,872 | 2,328 / 19,544 / 22,872 |
//! | prepare to sign | `SigningKey::prepare` | 6,104 / 9,432 / 10,776 | 7,384 / 10,712 / 12,056 | 8,664 / 11,992 / 13,336 |
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
// each folder (tests/structure.rs). They are private. `internals` and `hazmat` export
// items of some, which cannot be reached without these features: `unreachable_pub` is
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
#[cfg(feature = "unstable-internals")]
mod streaming;
#[cfg(feature = "unstable-internals")]
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
#[cfg(feature = "unstable-internals")]
#[doc(hidden)]
pub mod internals;
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
pub use crate::formats::serde::SerializableSigningKey;
#[cfg(feature = "spki")]
pub use crate::formats::spki::object_identifier;
#[cfg(feature = "hash-ml-dsa")]
pub use crate::hash::prehash::{PreHash, PreHashed};
pub use crate::hash::transcript::{Context, Mu, MuBuilder, Randomness};
#[cfg(feature = "alloc")]
pub use crate::keys::PreparedSigningKey;
#[cfg(feature = "alloc")]
pub use crate::keys::PreparedVerifyingKey;
pub use crate::keys::{BatchSigner, SignJob, Signature, SigningKey, VerifyingKey, no_alloc};
pub use crate::memory::array::ByteArray;
pub use crate::memory::secret::zeroize_stack;
#[cfg(feature = "ml-dsa-44")]
pub use crate::params::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
pub use crate::params::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
pub use crate::params::MlDsa87;
pub use crate::params::ParameterSet;
pub use crate::self_test::self_test;

// The crates whose traits are implemented here, in the versions that fit.
/// The operating system's generator.
#[cfg(all(
    feature = "getrandom",
    not(all(target_family = "wasm", target_os = "unknown"))
))]
pub use getrandom::SysRng;
#[cfg(feature = "pkcs8")]
pub use pkcs8;
#[cfg(feature = "rand_core")]
pub use rand_core;
#[cfg(feature = "signature")]
pub use signature;
#[cfg(feature = "spki")]
pub use spki;
