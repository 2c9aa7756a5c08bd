#![doc = include_str!("../README.md")]
//!
//! # WebAssembly
//!
//! `wasm32-unknown-unknown` has no generator of its own: `generate` and `sign_hedged` do not
//! exist there, whatever the features. Pass a generator to `generate_with_rng`, and 32
//! fresh bytes to `sign_with_context`, such as those of `getrandom::SysRng` of a `getrandom` built with `wasm_js`.
//!
//! # The traits of `signature`
//!
//! With feature `signature`, `key.sign(message)` and `key.verify(message, &signature)` are the
//! methods of `Signer` and `Verifier`: the empty context, as in other crates. **`Signer` signs
//! deterministically**, as the field expects of it: the same message gives the same bytes, and a
//! fault is repeated with the same mask. `RandomizedSigner::sign_with_rng(&mut rng, message)`
//! and [`SigningKey::sign_hedged`] are hedged, which FIPS 204 section 3.4 recommends. Code that
//! moves from a hedged signer to `Signer` loses hedging.
//!
//! # Stack and heap
//!
//! In optimised builds, on every backend, signing takes at most 40, 63 or 94 kB of stack with a
//! [`SigningKey`] and 19, 26 or 28 kB with a prepared key. Key generation takes at most 26, 28 or
//! 32 kB, that of several keys at once 35 kB, and every verification 48 KiB. In a debug build in
//! which this crate is optimised signing takes at most 120 KiB, and everything else 52 KiB; the C
//! library overwrites 48 KiB of stack when it makes a key. Without any optimisation each portable
//! call runs on a thread of 128 KiB, and SIMD kernels need 300 kB. A gate enforces this
//! (`tests/gates`); the figures of every call, backend and set are in
//! `tests/gates/figures/stack.tsv`. No call allocates except those that return a prepared key, a
//! batch signer or a vector.
//!
//! # Constant time
//!
//! Names are those of FIPS 204; every function that is one of its algorithms
//! says which. Where secrets are handled every function is constant time in them;
//! one whose name ends in `_vartime` is not, and takes public values only.
//! Verification and all decoding of public keys and signatures see public data
//! alone. Not audited, no FIPS certificate. `contrib/proofs` has what is proved on the machine
//! code, and what is not.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![cfg_attr(
    not(feature = "hazmat"),
    allow(
        unreachable_pub,
        reason = "`internals` exports items of private modules"
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

// Lowest first: a module uses only those above it, and so do the modules inside
// each folder (tests/structure). They are private.
mod memory;
mod error;
mod params;
#[cfg(test)]
mod random;
mod ring;
mod coding;
mod hash;
mod sample;
mod lanes;
mod backend;
mod scheme;
#[cfg(feature = "unstable-internals")]
mod streaming;
#[cfg(feature = "unstable-internals")]
mod summing;
mod keys;
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

pub use crate::backend::Backend;
#[cfg(mldsa_hardware_keccak)]
pub use crate::backend::hardware::KeccakF1600;
pub use crate::error::{KeyError, MessageError, ParseError, SelfTestError, SignError, VerifyError};
#[cfg(feature = "pem")]
pub use crate::formats::pem::PemError;
#[cfg(feature = "pkcs8")]
pub use crate::formats::pkcs8::PrivateKeyForm;
#[cfg(feature = "serde")]
pub use crate::formats::serde::SerializableSigningKey;
#[cfg(feature = "hash-ml-dsa")]
pub use crate::hash::prehash::{PreHash, PreHashed};
pub use crate::hash::transcript::{Context, Mu, MuBuilder, Randomness};
#[cfg(feature = "alloc")]
pub use crate::keys::PreparedSigningKey;
#[cfg(feature = "alloc")]
pub use crate::keys::PreparedVerifyingKey;
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub use crate::keys::{AnyDecodedSignature, AnyVerifyingKey};
#[cfg(all(
    feature = "alloc",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
pub use crate::keys::{AnyPreparedSigningKey, AnyPreparedVerifyingKey, AnySigningKey};
pub use crate::keys::{
    AsSignature, BatchSigner, DecodedSignature, SignJob, Signature, SigningKey, VerifyingKey,
    no_alloc,
};
pub use crate::memory::secret::zeroize_stack;
#[cfg(feature = "ml-dsa-44")]
pub use crate::params::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
pub use crate::params::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
pub use crate::params::MlDsa87;
pub use crate::params::{ParameterSet, Set};
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
