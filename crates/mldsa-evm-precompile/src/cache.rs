//! Cache of prepared keys.

use core::fmt;
use core::num::NonZeroUsize;
use std::hash::RandomState;
use std::vec::Vec;

use lru::LruCache;
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedVerifyingKey, Signature, VerifyingKey,
};

use crate::{Precompile, PrecompileOutput, Set, charged, split};

#[cfg(test)]
mod tests;

/// A bounded cache of prepared keys. Verdicts and gas are those of
/// [`Precompile::execute`]: the look-up compares all bytes of a key, and a prepared
/// key gives the verdicts of the encoded key. The cache saves time only. Prices must not
/// depend on it: with ever new keys that sign, each call adds one insertion and the checks of
/// hint and z to the verification.
///
/// A key is expanded only for a signature whose hint and z are well-formed, and stored only after
/// a valid signature: malformed and forged signatures evict nothing.
///
/// Every call takes constant amortised time. The hash table has a random key, because the
/// callers of the precompile choose the public keys.
///
/// A key takes about 23, 40 or 70 KiB. The least recently used one is evicted first;
/// `keys` bounds each set.
pub struct KeyCache {
    keys: usize,
    set44: Prepared<MlDsa44>,
    set65: Prepared<MlDsa65>,
    set87: Prepared<MlDsa87>,
}

/// Prepared keys by their encodings.
type Prepared<P> = LruCache<Vec<u8>, PreparedVerifyingKey<P>, RandomState>;

impl KeyCache {
    /// Makes a cache of at most `keys` keys per set. With 0 it stores no key.
    pub fn new(keys: usize) -> Self {
        Self {
            keys,
            set44: bounded(keys),
            set65: bounded(keys),
            set87: bounded(keys),
        }
    }

    /// Returns the number of cached keys.
    pub fn len(&self) -> usize {
        self.set44.len() + self.set65.len() + self.set87.len()
    }

    /// Returns whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Executes the precompile of `set` as [`Precompile::execute`] does, with the keys of this cache.
    ///
    /// # Errors
    /// As [`Precompile::execute`].
    pub fn execute(&mut self, set: Set, input: &[u8], gas_limit: u64) -> Option<PrecompileOutput> {
        if self.keys == 0 {
            return set.execute(input, gas_limit);
        }
        charged(set.gas(input.len()), gas_limit, || match set {
            Set::MlDsa44 => verify(&mut self.set44, input),
            Set::MlDsa65 => verify(&mut self.set65, input),
            Set::MlDsa87 => verify(&mut self.set87, input),
        })
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyCache({} keys)", self.len())
    }
}

/// Makes an empty map of at most `capacity` entries, at least one. It grows on demand:
/// `LruCache::new` allocates for all entries.
fn bounded<P: ParameterSet>(capacity: usize) -> Prepared<P> {
    let mut map = LruCache::unbounded_with_hasher(RandomState::new());
    map.resize(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
    map
}

fn verify<P: ParameterSet>(prepared: &mut Prepared<P>, input: &[u8]) -> bool {
    verify_with(prepared, input, |key| key.prepare())
}

/// Verifies under the cached key, or under a key that is prepared for this call. The second one is
/// prepared after the checks that need no key, and is stored if the signature is valid.
fn verify_with<P: ParameterSet>(
    prepared: &mut Prepared<P>,
    input: &[u8],
    prepare: impl FnOnce(&VerifyingKey<P>) -> PreparedVerifyingKey<P>,
) -> bool {
    let Some((pk, signature, message)) = split::<P>(input) else {
        return false;
    };
    let is_valid = |key: &PreparedVerifyingKey<P>| {
        key.verify_with_context(message, Context::EMPTY, signature)
            .is_ok()
    };
    if let Some(key) = prepared.get(pk) {
        return is_valid(key);
    }
    let (Ok(key), Ok(_)) = (
        VerifyingKey::from_bytes(pk),
        Signature::<P>::from_bytes(signature),
    ) else {
        return false;
    };
    let key = prepare(&key);
    let valid = is_valid(&key);
    if valid {
        prepared.put(pk.to_vec(), key);
    }
    valid
}
