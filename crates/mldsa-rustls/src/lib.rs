#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "experimental")]
mod mtc;
mod sign;
mod usage;
mod verify;

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls::crypto::{CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms};

#[cfg(feature = "experimental")]
pub use crate::mtc::MerkleTreeCertificates;
pub use crate::sign::HandshakeKey;
pub use crate::verify::{ML_DSA_44, ML_DSA_65, ML_DSA_87};

/// Returns a provider that has ML-DSA of this crate, and everything else of `base`.
///
/// ML-DSA comes first in the list that the peer sees. It replaces ML-DSA of `base`, if there is any.
/// [`CryptoProvider::fips`] is false afterwards. Nothing changes in `base` or in the provider of the
/// process: install the result, or pass it to `builder_with_provider`.
///
/// The lists of rustls are static. With feature `std` calls with the same base share them; without it every
/// call leaks about a kilobyte.
#[must_use]
pub fn with_mldsa(base: CryptoProvider) -> CryptoProvider {
    #[cfg(feature = "std")]
    let (signature_verification_algorithms, key_provider) = shared(&base);
    #[cfg(not(feature = "std"))]
    let (signature_verification_algorithms, key_provider) = extended(&base);
    CryptoProvider {
        signature_verification_algorithms,
        key_provider,
        ..base
    }
}

type Extended = (WebPkiSupportedAlgorithms, &'static dyn KeyProvider);

fn extended(base: &CryptoProvider) -> Extended {
    let algorithms = base.signature_verification_algorithms;
    let ours = |id| {
        verify::ALL
            .iter()
            .any(|algorithm| algorithm.signature_alg_id() == id)
    };
    let all = algorithms
        .all
        .iter()
        .copied()
        .filter(|other| !ours(other.signature_alg_id()));
    let all: Vec<_> = verify::ALL.into_iter().chain(all).collect();
    let known = |scheme| verify::MAPPING.iter().any(|row| row.0 == scheme);
    let mapping = algorithms
        .mapping
        .iter()
        .copied()
        .filter(|row| !known(row.0));
    let mapping: Vec<_> = verify::MAPPING.into_iter().chain(mapping).collect();
    let keys = sign::Keys {
        base: base.key_provider,
        random: base.secure_random,
    };
    (
        WebPkiSupportedAlgorithms {
            all: all.leak(),
            mapping: mapping.leak(),
        },
        Box::leak(Box::new(keys)),
    )
}

/// Returns the lists of an earlier call with the same base, if there was one.
#[cfg(feature = "std")]
fn shared(base: &CryptoProvider) -> Extended {
    use std::sync::{Mutex, PoisonError};

    use rustls::crypto::SecureRandom;

    type Parts = (
        WebPkiSupportedAlgorithms,
        &'static dyn KeyProvider,
        &'static dyn SecureRandom,
    );
    static CALLS: Mutex<Vec<(Parts, Extended)>> = Mutex::new(Vec::new());

    let parts = (
        base.signature_verification_algorithms,
        base.key_provider,
        base.secure_random,
    );
    // Two values without a size can share an address. Then their functions tell them apart.
    let same = |(algorithms, keys, random): &Parts| {
        core::ptr::eq(algorithms.all, parts.0.all)
            && core::ptr::eq(algorithms.mapping, parts.0.mapping)
            && core::ptr::eq(*keys, parts.1)
            && core::ptr::eq(*random, parts.2)
    };
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, result)) = calls.iter().find(|(parts, _)| same(parts)) {
        return *result;
    }
    let result = extended(base);
    calls.push((parts, result));
    result
}
