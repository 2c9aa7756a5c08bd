//! Expanded keys worth keeping, in bounded memory.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use mldsa_core::internals::NttPoly;
use mldsa_core::{ParameterSet, PreparedVerifyingKey, VerifyingKey};

/// Expands a key after its second valid signature while there is room, and keeps the
/// most recently used ones. If another has to leave, after its eighth, or from the third
/// on if by the time between its last two it would have come eight times while that
/// other one was not used.
///
/// Expanding costs more than one verification without it: a key that signs once
/// never pays, and signatures that do not verify change nothing here, whether their key
/// is held or not. Where more keys sign than fit, those that sign seldom would only take
/// each other's places; asked for more, the held ones come close to those that sign most
/// (the policy *k*-LRU), and what has become idle still gives way to who signs now (as
/// in LIRS). Identity is the full key; by its hash it is found, and counted.
pub(crate) struct KeyCache<K, P: ParameterSet> {
    /// `None` if not one key fits.
    state: Option<Mutex<State<K, P>>>,
    /// An encoded key takes long to hash: once for an item, and without the lock.
    hasher: RandomState,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What a look-up found.
pub(crate) struct Found<K, P: ParameterSet> {
    /// Of what was looked up.
    pub(crate) hash: u64,
    pub(crate) expanded: Option<Arc<Expanded<K, P>>>,
}

pub(crate) struct Expanded<K, P: ParameterSet> {
    id: K,
    pub(crate) key: PreparedVerifyingKey<P>,
}

/// By hashes.
struct State<K, P: ParameterSet> {
    prepared: LruCache<u64, Held<K, P>, RandomState>,
    /// Keys that are not held.
    seen: LruCache<u64, Seen, RandomState>,
    /// Valid signatures so far.
    now: u64,
}

struct Held<K, P: ParameterSet> {
    expanded: Arc<Expanded<K, P>>,
    /// When the last signature under it was found valid.
    used: u64,
}

struct Seen {
    /// Valid ones, less than [`TO_REPLACE`].
    signatures: u8,
    /// When the last one was found valid.
    last: u64,
}

/// Keys that are not held but remembered, for each expanded key that fits.
const SEEN_PER_SLOT: usize = 8;
/// Valid signatures after which a key is expanded if there is room.
const TO_ENTER: u8 = 2;
/// Likewise if the one that was not used for the longest time has to leave.
const TO_REPLACE: u8 = 8;
/// Likewise if that one is idle: was not used for as long as this key takes for
/// [`WHILE_IDLE`] signatures.
const TO_REPLACE_IDLE: u8 = 3;
const WHILE_IDLE: u64 = 8;

impl<K: Hash + Eq, P: ParameterSet> KeyCache<K, P> {
    /// A cache whose expanded keys, with all that it remembers, take at most `max_bytes`.
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

    /// One expanded key, with its encoded key and its place in a list and a table, and
    /// those of the keys that are only remembered.
    const KEY_BYTES: usize = VerifyingKey::<P>::PREPARED_POLYS * size_of::<NttPoly>()
        + size_of::<PreparedVerifyingKey<P>>()
        + P::PK_LEN
        + 160
        + SEEN_PER_SLOT * 120;

    pub(crate) fn hash<Q>(&self, id: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Hash + ?Sized,
    {
        self.hasher.hash_one(id)
    }

    /// The expanded key of `id`, if it is held.
    pub(crate) fn get<Q>(&self, id: &Q) -> Found<K, P>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if self.state.is_none() {
            return Found {
                hash: 0,
                expanded: None,
            };
        }
        let hash = self.hash(id);
        let held = self.lock().and_then(|state| {
            let held = state.prepared.peek(&hash)?;
            Some(Arc::clone(&held.expanded))
        });
        let expanded = held.filter(|expanded| expanded.id.borrow() == id);
        let count = if expanded.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        count.fetch_add(1, Ordering::Relaxed);
        Found { hash, expanded }
    }

    /// A signature is valid whose key has this hash; `key` is what would be kept.
    pub(crate) fn proven(&self, hash: u64, key: impl FnOnce() -> Option<(K, VerifyingKey<P>)>) {
        {
            let Some(mut state) = self.lock() else { return };
            if !state.has_earned_a_place(hash) {
                return;
            }
            state.seen.pop(&hash);
        }
        let Some((id, key)) = key() else { return };
        // Without the lock: two workers may expand one key, and either result
        // serves.
        let key = key.prepare();
        let expanded = Arc::new(Expanded { id, key });
        let old = self.lock().map(|mut state| {
            // What other workers counted meanwhile.
            state.seen.pop(&hash);
            let used = state.now;
            state.prepared.push(hash, Held { expanded, used })
        });
        // The one that leaves is freed without the lock.
        drop(old);
    }

    fn lock(&self) -> Option<MutexGuard<'_, State<K, P>>> {
        let state = self.state.as_ref()?;
        Some(state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes of the expanded keys held now.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lock()
            .map_or(0, |state| state.prepared.len() * Self::KEY_BYTES)
    }

    /// Look-ups so far that found an expanded key, and that did not.
    pub(crate) fn hits_and_misses(&self) -> (u64, u64) {
        (
            self.hits.load(Ordering::Relaxed),
            self.misses.load(Ordering::Relaxed),
        )
    }
}

impl<K, P: ParameterSet> State<K, P> {
    /// Counts a valid signature: whether it is time to expand its key.
    fn has_earned_a_place(&mut self, hash: u64) -> bool {
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

/// An empty list that reserves nothing before it is used.
fn bounded<K: Hash + Eq, V>(slots: NonZeroUsize) -> LruCache<K, V, RandomState> {
    let mut list = LruCache::unbounded_with_hasher(RandomState::new());
    list.resize(slots);
    list
}

#[cfg(test)]
mod tests {
    use mldsa_core::{MlDsa44, SigningKey};

    use super::*;

    /// Signatures that another worker finds valid while a key is expanded do not count
    /// towards its return.
    #[test]
    fn nothing_is_remembered_of_a_held_key() {
        type Cache = KeyCache<u32, MlDsa44>;
        let key = SigningKey::<MlDsa44>::from_seed(&[1; 32])
            .verifying_key()
            .clone();
        let cache = Cache::new(Cache::KEY_BYTES);
        let proven = |id: u32, times: u8, meanwhile: &dyn Fn()| {
            for _ in 0..times {
                let expanded = || {
                    meanwhile();
                    Some((id, key.clone()))
                };
                cache.proven(cache.hash(&id), expanded);
            }
        };
        let holds = |id: u32| cache.get(&id).expanded.is_some();
        let other_worker = || proven(2, TO_REPLACE - 1, &|| ());
        proven(1, TO_ENTER, &|| ());
        proven(2, TO_REPLACE, &other_worker);
        assert!(!holds(1) && holds(2));
        assert_eq!(cache.lock().map(|state| state.seen.len()), Some(0));

        proven(1, TO_REPLACE, &|| ());
        assert!(holds(1) && !holds(2));
        proven(2, TO_REPLACE - 1, &|| ());
        assert!(!holds(2));
        proven(2, 1, &|| ());
        assert!(holds(2));
        assert_eq!(cache.memory_bytes(), Cache::KEY_BYTES);
    }

    /// A hash finds a key, which then is compared.
    #[test]
    fn another_key_with_the_same_hash_is_not_held() {
        type Cache = KeyCache<u32, MlDsa44>;
        let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
        let cache = Cache::new(Cache::KEY_BYTES);
        for _ in 0..TO_ENTER {
            cache.proven(cache.hash(&2), || Some((1, key.verifying_key().clone())));
        }
        assert_eq!(cache.memory_bytes(), Cache::KEY_BYTES);
        assert!(cache.get(&2).expanded.is_none());
        assert_eq!(cache.hits_and_misses(), (0, 1));
    }
}
