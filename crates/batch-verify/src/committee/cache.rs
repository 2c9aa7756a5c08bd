//! Cache of prepared keys, in bounded memory.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::iter::Sum;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use mldsa_core::internals::NttPoly;
use mldsa_core::{ParameterSet, PreparedVerifyingKey, VerifyingKey};

/// LRU cache with admission. A key is expanded after its second valid signature while there is
/// room. If another key has to be removed, after its eighth; or from the third on, if that key
/// has been idle for eight times the distance of the last two signatures.
///
/// Expansion costs more than one verification without it, so a key that signs once is never
/// expanded. Signatures that do not verify change nothing. Where more keys sign than fit, the
/// higher count keeps the keys that sign most (as *k*-LRU does), and the idle rule replaces
/// keys that have stopped signing (as LIRS does). Keys are compared in full; hashes only find
/// and count them.
pub(crate) struct KeyCache<K, P: ParameterSet> {
    /// `None` if not one key fits.
    state: Option<Mutex<State<K, P>>>,
    /// An encoded key is long: it is hashed once for an item, and without the lock.
    hasher: RandomState,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Tables by hash.
struct State<K, P: ParameterSet> {
    prepared: LruCache<u64, Held<K, P>, RandomState>,
    /// Counters of keys that are not expanded.
    seen: LruCache<u64, Seen, RandomState>,
    /// Number of valid signatures so far, as a clock.
    now: u64,
}

struct Held<K, P: ParameterSet> {
    id: K,
    key: Arc<PreparedVerifyingKey<P>>,
    /// Time of the last valid signature.
    used: u64,
}

struct Seen {
    /// Number of valid signatures, below [`TO_REPLACE`].
    signatures: u8,
    /// Time of the last valid signature.
    last: u64,
}

/// Counters for each prepared key that fits.
const SEEN_PER_SLOT: usize = 8;
/// Valid signatures after which a key is expanded if there is room.
const TO_ENTER: u8 = 2;
/// Likewise if the least recently used one has to be removed.
const TO_REPLACE: u8 = 8;
/// Likewise if that one has been idle for [`WHILE_IDLE`] times the distance of the last two
/// signatures under this key.
const TO_REPLACE_IDLE: u8 = 3;
const WHILE_IDLE: u64 = 8;

impl<K: Hash + Eq, P: ParameterSet> KeyCache<K, P> {
    /// Creates a cache that takes at most `max_bytes`, counters included.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let slots = NonZeroUsize::new(max_bytes / Self::KEY_BYTES);
        Self {
            state: slots.map(|slots| {
                let seen =
                    slots.saturating_mul(const { NonZeroUsize::new(SEEN_PER_SLOT).unwrap() });
                Mutex::new(State {
                    // Unbounded, so that nothing is reserved; bounded below.
                    prepared: bounded(slots),
                    seen: bounded(seen),
                    now: 0,
                })
            }),
            hasher: RandomState::new(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Bytes of one prepared key with its entry, and of the counters that come with it.
    const KEY_BYTES: usize = VerifyingKey::<P>::PREPARED_POLYS * size_of::<NttPoly>()
        + size_of::<PreparedVerifyingKey<P>>()
        + P::PK_LEN
        + 160
        + SEEN_PER_SLOT * 120;

    /// Returns the hash of `id`, and its prepared key if it is cached.
    pub(crate) fn get<Q>(&self, id: &Q) -> (u64, Option<Arc<PreparedVerifyingKey<P>>>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if self.state.is_none() {
            return (0, None);
        }
        let hash = self.hasher.hash_one(id);
        let key = self.lock().and_then(|state| {
            let held = state.prepared.peek(&hash);
            let held = held.filter(|held| held.id.borrow() == id)?;
            Some(Arc::clone(&held.key))
        });
        let count = if key.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        count.fetch_add(1, Ordering::Relaxed);
        (hash, key)
    }

    /// Counts a valid signature under the key with this hash; `key` is called to cache it.
    pub(crate) fn on_valid_signature(
        &self,
        hash: u64,
        key: impl FnOnce() -> Option<(K, VerifyingKey<P>)>,
    ) {
        {
            let Some(mut state) = self.lock() else { return };
            if !state.should_admit(hash) {
                return;
            }
            state.seen.pop(&hash);
        }
        let Some((id, key)) = key() else { return };
        // Without the lock: two workers may expand one key, and either result serves.
        let key = Arc::new(key.prepare());
        let old = self.lock().map(|mut state| {
            // Counts by other workers during the expansion.
            state.seen.pop(&hash);
            let used = state.now;
            state.prepared.push(hash, Held { id, key, used })
        });
        // The removed key is freed without the lock.
        drop(old);
    }

    fn lock(&self) -> Option<MutexGuard<'_, State<K, P>>> {
        let state = self.state.as_ref()?;
        Some(state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn stats(&self) -> KeyCacheStats {
        let keys = self.lock().map_or(0, |state| state.prepared.len());
        KeyCacheStats {
            bytes: keys * Self::KEY_BYTES,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }
}

/// Figures of a cache of prepared keys since it was made; clones of a verifier share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCacheStats {
    /// Bytes of prepared keys.
    pub bytes: usize,
    /// Look-ups that found a prepared key.
    pub hits: u64,
    /// Look-ups that found none.
    pub misses: u64,
}

impl Sum for KeyCacheStats {
    fn sum<I: Iterator<Item = Self>>(caches: I) -> Self {
        caches.fold(Self::default(), |sum, cache| Self {
            bytes: sum.bytes + cache.bytes,
            hits: sum.hits + cache.hits,
            misses: sum.misses + cache.misses,
        })
    }
}

impl<K, P: ParameterSet> State<K, P> {
    /// Counts a valid signature. Returns whether its key is to be expanded.
    fn should_admit(&mut self, hash: u64) -> bool {
        self.now += 1;
        let now = self.now;
        if let Some(held) = self.prepared.get_mut(&hash) {
            held.used = now;
            return false;
        }
        let seen = self.seen.get_or_insert_mut(hash, || Seen {
            signatures: 0,
            last: now,
        });
        let gap = now - seen.last;
        seen.last = now;
        seen.signatures += 1;
        if self.prepared.len() < self.prepared.cap().get() {
            return seen.signatures >= TO_ENTER;
        }
        let leaves = self.prepared.peek_lru();
        let idle = leaves.map_or(0, |(_, held)| now - held.used);
        seen.signatures >= TO_REPLACE
            || seen.signatures >= TO_REPLACE_IDLE && gap.saturating_mul(WHILE_IDLE) < idle
    }
}

/// Creates an empty list without reserved memory.
fn bounded<K: Hash + Eq, V>(slots: NonZeroUsize) -> LruCache<K, V, RandomState> {
    let mut list = LruCache::unbounded_with_hasher(RandomState::new());
    list.resize(slots);
    list
}

#[cfg(test)]
mod tests {
    use mldsa_core::{MlDsa44, SigningKey};

    use super::*;

    /// Signatures that another worker counts while a key is expanded do not count towards its
    /// return.
    #[test]
    fn counters_of_expanded_keys_are_dropped() {
        type Cache = KeyCache<u32, MlDsa44>;
        let key = SigningKey::<MlDsa44>::from_seed(&[1; 32])
            .verifying_key()
            .clone();
        let cache = Cache::new(Cache::KEY_BYTES);
        let on_valid = |id: u32, times: u8, during: &dyn Fn()| {
            for _ in 0..times {
                let expanded = || {
                    during();
                    Some((id, key.clone()))
                };
                cache.on_valid_signature(cache.hasher.hash_one(id), expanded);
            }
        };
        let holds = |id: u32| cache.get(&id).1.is_some();
        let other_worker = || on_valid(2, TO_REPLACE - 1, &|| ());
        on_valid(1, TO_ENTER, &|| ());
        on_valid(2, TO_REPLACE, &other_worker);
        assert!(!holds(1) && holds(2));
        assert_eq!(cache.lock().map(|state| state.seen.len()), Some(0));

        on_valid(1, TO_REPLACE, &|| ());
        assert!(holds(1) && !holds(2));
        on_valid(2, TO_REPLACE - 1, &|| ());
        assert!(!holds(2));
        on_valid(2, 1, &|| ());
        assert!(holds(2));
        assert_eq!(cache.stats().bytes, Cache::KEY_BYTES);
    }

    #[test]
    fn keys_are_compared_in_full() {
        type Cache = KeyCache<u32, MlDsa44>;
        let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
        let cache = Cache::new(Cache::KEY_BYTES);
        for _ in 0..TO_ENTER {
            let hash = cache.hasher.hash_one(2_u32);
            cache.on_valid_signature(hash, || Some((1, key.verifying_key().clone())));
        }
        assert_eq!(cache.stats().bytes, Cache::KEY_BYTES);
        assert!(cache.get(&2).1.is_none());
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.misses), (0, 1));
    }
}
