//! Prepared keys of the last callers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::fmt;

use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedVerifyingKey, VerifyingKey,
};

use crate::{OutOfGas, Output, Set, charged, split};

/// A bounded cache of prepared keys. Its answers and its gas are those of
/// [`run`](crate::run): keys are found by all their bytes, and what a prepared key
/// answers is what the encoded key answers. What it saves is time, so a client that
/// prices by time must not count on it: a caller with new keys gets nothing.
///
/// A key takes about 22, 39 or 68 KiB. The one not used for longest leaves first;
/// `keys` bounds each set.
pub struct KeyCache {
    keys: usize,
    clock: u64,
    set44: Prepared<MlDsa44>,
    set65: Prepared<MlDsa65>,
    set87: Prepared<MlDsa87>,
}

/// When a key was used last, and its expansion, by its encoding.
type Prepared<P> = BTreeMap<Box<[u8]>, (u64, PreparedVerifyingKey<P>)>;

impl KeyCache {
    /// A cache of at most `keys` keys for each set; none is a cache that keeps
    /// nothing.
    pub const fn new(keys: usize) -> Self {
        Self {
            keys,
            clock: 0,
            set44: BTreeMap::new(),
            set65: BTreeMap::new(),
            set87: BTreeMap::new(),
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
            Set::MlDsa44 => self.set44.contains_key(pk),
            Set::MlDsa65 => self.set65.contains_key(pk),
            Set::MlDsa87 => self.set87.contains_key(pk),
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
            self.clock += 1;
            match set {
                Set::MlDsa44 => verify(&mut self.set44, self.keys, self.clock, input),
                Set::MlDsa65 => verify(&mut self.set65, self.keys, self.clock, input),
                Set::MlDsa87 => verify(&mut self.set87, self.keys, self.clock, input),
            }
        })
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyCache({} keys)", self.len())
    }
}

fn verify<P: ParameterSet>(
    prepared: &mut Prepared<P>,
    keys: usize,
    now: u64,
    input: &[u8],
) -> bool {
    let Some((pk, signature, message)) = split::<P>(input) else {
        return false;
    };
    if !prepared.contains_key(pk) {
        let Ok(key) = VerifyingKey::from_bytes(pk) else {
            return false;
        };
        if prepared.len() == keys {
            let oldest = prepared.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(pk, _)| pk.clone()) {
                prepared.remove(&oldest);
            }
        }
        prepared.insert(pk.into(), (now, key.prepare()));
    }
    prepared.get_mut(pk).is_some_and(|(used, key)| {
        *used = now;
        key.verify(message, Context::EMPTY, signature).is_ok()
    })
}
