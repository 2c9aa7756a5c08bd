//! Prepared keys of the last callers.

use alloc::boxed::Box;
use core::fmt;

use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedVerifyingKey, VerifyingKey,
};

use crate::lru::LruMap;
use crate::{OutOfGas, Output, Set, charged, split};

/// A bounded cache of prepared keys. Its answers and its gas are those of
/// [`run`](crate::run): keys are found by all their bytes, and what a prepared key
/// answers is what the encoded key answers. What it saves is time, so a client that
/// prices by time must not count on it: for a caller with ever new keys each call
/// adds an expansion of the key and two look-ups in trees to the verification.
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
type Prepared<P> = LruMap<Box<[u8]>, PreparedVerifyingKey<P>>;

impl KeyCache {
    /// A cache of at most `keys` keys for each set; none is a cache that keeps
    /// nothing.
    pub const fn new(keys: usize) -> Self {
        Self {
            keys,
            set44: LruMap::new(keys),
            set65: LruMap::new(keys),
            set87: LruMap::new(keys),
        }
    }

    /// Keys held.
    pub fn len(&self) -> usize {
        self.set44.len() + self.set65.len() + self.set87.len()
    }

    /// Whether no key is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the expansion of this encoded key is held.
    pub fn holds(&self, set: Set, pk: &[u8]) -> bool {
        match set {
            Set::MlDsa44 => self.set44.contains(pk),
            Set::MlDsa65 => self.set65.contains(pk),
            Set::MlDsa87 => self.set87.contains(pk),
        }
    }

    /// [`run`](crate::run) with this cache.
    ///
    /// # Errors
    /// As [`run`](crate::run).
    pub fn run(&mut self, set: Set, input: &[u8], gas_limit: u64) -> Result<Output, OutOfGas> {
        charged(set.gas(input.len()), gas_limit, || {
            if self.keys == 0 {
                return crate::run(set, input, gas_limit).is_ok_and(|output| output.valid);
            }
            match set {
                Set::MlDsa44 => verify(&mut self.set44, input),
                Set::MlDsa65 => verify(&mut self.set65, input),
                Set::MlDsa87 => verify(&mut self.set87, input),
            }
        })
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyCache({} keys)", self.len())
    }
}

fn verify<P: ParameterSet>(prepared: &mut Prepared<P>, input: &[u8]) -> bool {
    let Some((pk, signature, message)) = split::<P>(input) else {
        return false;
    };
    let prepare = || Some(VerifyingKey::from_bytes(pk).ok()?.prepare());
    prepared
        .get_or_insert_with(pk, prepare)
        .is_some_and(|key| key.verify(message, Context::EMPTY, signature).is_ok())
}
