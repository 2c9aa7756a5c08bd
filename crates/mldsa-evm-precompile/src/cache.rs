//! Cache of prepared keys.

use alloc::boxed::Box;
use core::fmt;

use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedVerifyingKey, VerifyingKey,
};

use crate::lru::LruMap;
use crate::{OutOfGas, PrecompileOutput, Set, charged, split};

/// A bounded cache of prepared keys. Verdicts and gas are those of
/// [`execute`](crate::execute): the look-up compares all bytes of a key, and a prepared
/// key gives the verdicts of the encoded key. The cache saves time only. Prices must not
/// depend on it: with ever new keys, each call adds the expansion of the key and two
/// look-ups in trees to the verification.
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
    /// A cache of at most `keys` keys per set. With 0 the cache stores no key.
    pub const fn new(keys: usize) -> Self {
        Self {
            keys,
            set44: LruMap::new(keys),
            set65: LruMap::new(keys),
            set87: LruMap::new(keys),
        }
    }

    /// Number of cached keys.
    pub fn len(&self) -> usize {
        self.set44.len() + self.set65.len() + self.set87.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the expansion of the encoded key `pk` is cached.
    pub fn contains(&self, set: Set, pk: &[u8]) -> bool {
        match set {
            Set::MlDsa44 => self.set44.contains(pk),
            Set::MlDsa65 => self.set65.contains(pk),
            Set::MlDsa87 => self.set87.contains(pk),
        }
    }

    /// [`execute`](crate::execute) with this cache.
    ///
    /// # Errors
    /// As [`execute`](crate::execute).
    pub fn execute(
        &mut self,
        set: Set,
        input: &[u8],
        gas_limit: u64,
    ) -> Result<PrecompileOutput, OutOfGas> {
        charged(set.gas(input.len()), gas_limit, || {
            if self.keys == 0 {
                return crate::execute(set, input, gas_limit).is_ok_and(|output| output.valid);
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
