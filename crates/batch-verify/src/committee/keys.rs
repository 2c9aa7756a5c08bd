//! Table of the public keys of a committee, and its successors.

use core::mem::size_of;
use std::sync::Arc;

use mldsa_core::no_alloc::PreparedVerifyingKeyRef;
use mldsa_core::{Backend, ParameterSet, VerifyingKey};

use super::KeyStorage;
use super::arena::{Arena, TableKey, expansion, settle};
use super::cache::KeyCache;
use crate::BuildError;
use crate::executor::Pool;

/// Immutable table of public keys by index.
pub(crate) struct KeyTable<P: ParameterSet> {
    members: Vec<TableKey<P>>,
    /// Indices ordered by encoded key: look-up on full bytes without a second copy of them.
    by_bytes: Vec<u32>,
    /// Those of an earlier table are shared with it.
    arenas: Vec<Arc<Arena>>,
    cache: Option<KeyCache<u32, P>>,
    choices: Choices,
}

/// Options that a successor takes over.
#[derive(Clone)]
pub(super) struct Choices {
    pub(super) storage: KeyStorage,
    pub(super) backend: Backend,
    pub(super) pool: Pool,
}

/// A key in the fastest form at hand.
pub(crate) enum LaneKey<'a, P: ParameterSet> {
    /// Expanded in the table of a committee or in a cache.
    Prepared(PreparedVerifyingKeyRef<'a, P>),
    Plain(&'a VerifyingKey<P>),
    /// Of no committee, and in no cache.
    Encoded(&'a P::PublicKeyBytes),
}

impl<P: ParameterSet> KeyTable<P> {
    pub(super) fn new(keys: &[&[u8]], choices: Choices) -> Result<Self, BuildError> {
        Self::assemble(keys, None, choices)
    }

    /// Creates a table of `keys` that shares what this one has expanded.
    pub(super) fn successor(&self, keys: &[&[u8]]) -> Result<Self, BuildError> {
        Self::assemble(keys, Some(self), self.choices.clone())
    }

    fn assemble(keys: &[&[u8]], old: Option<&Self>, choices: Choices) -> Result<Self, BuildError> {
        if keys.len() > i32::MAX as usize {
            return Err(BuildError::TooMany);
        }
        // The lowest index is reported, for any scheduling.
        if let Some(index) = keys.iter().position(|key| key.len() != P::PK_LEN) {
            return Err(BuildError::KeyLength { index });
        }
        let by_bytes = order(keys)?;
        let known = |key: &[u8]| {
            let old = old?;
            Some(old.members[old.index_of(key)? as usize].clone())
        };
        let mut members: Vec<Option<TableKey<P>>> = keys.iter().map(|key| known(key)).collect();
        let slots = members.iter_mut().zip(keys);
        // `tr` is hashed in parallel.
        choices.pool.for_each(keys.len(), slots, |next| {
            while let Some((slot, key)) = next() {
                if slot.is_none() {
                    *slot = VerifyingKey::from_bytes(key).ok().map(|key| TableKey {
                        key: key.with_backend(choices.backend),
                        place: None,
                    });
                }
            }
        });
        if let Some(index) = members.iter().position(Option::is_none) {
            return Err(BuildError::KeyLength { index });
        }
        let mut members: Vec<TableKey<P>> = members.into_iter().flatten().collect();
        let mut arenas = old.map_or_else(Vec::new, |old| old.arenas.clone());
        if choices.storage.is_expanded() {
            settle(&mut members, &mut arenas, choices.storage, &choices.pool);
        }
        let cache = match choices.storage {
            KeyStorage::Lru { max_bytes } => Some(KeyCache::new(max_bytes)),
            _ => None,
        };
        Ok(Self {
            members,
            by_bytes,
            arenas,
            cache,
            choices,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn key(&self, index: u32) -> &VerifyingKey<P> {
        &self.members[index as usize].key
    }

    /// Compares full keys.
    pub(crate) fn index_of(&self, public_key: &[u8]) -> Option<u32> {
        let by_bytes = &self.by_bytes;
        let encoded = |index: &u32| -> &[u8] { self.key(*index).as_bytes().as_ref() };
        let at = by_bytes.binary_search_by(|index| encoded(index).cmp(public_key));
        at.ok().map(|at| by_bytes[at])
    }

    /// Returns a member's key, if the table has expanded it.
    pub(crate) fn prepared(&self, index: u32) -> Option<PreparedVerifyingKeyRef<'_, P>> {
        let member = &self.members[index as usize];
        let expansion = expansion::<P>(&self.arenas, member.place?);
        member.key.prepared_at(expansion)
    }

    /// Counts a valid signature under a key that is not expanded in the table. `hash` is that of
    /// its index in the cache.
    pub(crate) fn on_valid_signature(&self, hash: u64, index: u32) {
        if let Some(cache) = self.cache() {
            cache.on_valid_signature(hash, || Some((index, self.key(index).clone())));
        }
    }

    pub(crate) fn cache(&self) -> Option<&KeyCache<u32, P>> {
        self.cache.as_ref()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let arenas = self.arenas.iter().map(|arena| arena.memory_bytes());
        size_of::<Self>()
            + self.members.capacity() * size_of::<TableKey<P>>()
            + self.by_bytes.capacity() * size_of::<u32>()
            + arenas.sum::<usize>()
            + self.cache.as_ref().map_or(0, |cache| cache.stats().bytes)
    }
}

/// Returns the indices in the order of the encoded keys.
fn order(keys: &[&[u8]]) -> Result<Vec<u32>, BuildError> {
    let mut by_bytes: Vec<u32> = (0..).zip(keys).map(|(index, _)| index).collect();
    by_bytes.sort_unstable_by_key(|&index| (keys[index as usize], index));
    let mut pairs = by_bytes.windows(2);
    match pairs.find(|pair| keys[pair[0] as usize] == keys[pair[1] as usize]) {
        Some(pair) => Err(BuildError::DuplicateKey {
            first: pair[0] as usize,
            second: pair[1] as usize,
        }),
        None => Ok(by_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::MAX_ARENAS;
    use super::*;
    use crate::Threads;
    use mldsa_core::{MlDsa44, SigningKey};

    fn keys(count: u8) -> Vec<Vec<u8>> {
        let key = |n| SigningKey::<MlDsa44>::from_seed(&[n; 32]);
        (0..count)
            .map(|n| key(n).verifying_key().as_bytes().to_vec())
            .collect()
    }

    fn table(keys: &[&[u8]], storage: KeyStorage) -> KeyTable<MlDsa44> {
        let choices = Choices {
            storage,
            backend: Backend::detect(),
            pool: Pool::new(Threads::Inline).unwrap(),
        };
        KeyTable::new(keys, choices).unwrap()
    }

    /// Reordered tables hold the arenas of the old one and no more.
    #[test]
    fn successors_share_expansions() {
        let keys = keys(10);
        let of = |list: &[usize]| list.iter().map(|&n| keys[n].as_slice()).collect::<Vec<_>>();
        let first = table(&of(&[0, 1, 2, 3, 4, 5, 6, 7]), KeyStorage::Wide);
        let reversed = first.successor(&of(&[7, 6, 5, 4, 3, 2, 1, 0])).unwrap();
        assert_eq!(reversed.arenas.len(), 1);
        assert!(Arc::ptr_eq(&reversed.arenas[0], &first.arenas[0]));
        let listed = reversed.successor(&of(&[8, 1, 0, 9, 5, 4, 3])).unwrap();
        assert!(Arc::ptr_eq(&listed.arenas[0], &first.arenas[0]));
        // Two new keys.
        let bytes = |table: &KeyTable<_>, n: usize| table.arenas[n].memory_bytes();
        assert_eq!(bytes(&listed, 1) * 4, bytes(&first, 0));
    }

    /// A chain of tables that keeps one member has bounded memory.
    #[test]
    fn arenas_of_leavers_are_dropped() {
        let keys = keys(40);
        let mut current = table(&[&keys[0], &keys[1]], KeyStorage::Wide);
        let bound = 4 * current.memory_bytes();
        for n in 2..40 {
            current = current.successor(&[&keys[0], &keys[n]]).unwrap();
            assert!(current.arenas.len() <= MAX_ARENAS);
            assert!(current.memory_bytes() <= bound, "{n}");
        }
    }
}
