//! Expanded keys worth keeping, in bounded memory.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use mldsa_core::siblings::NttPoly;
use mldsa_core::{ParameterSet, PreparedVerifyingKey, VerifyingKey};

/// Expands a key after its second valid signature while there is room, and keeps the
/// most recently used ones. If another has to leave, after its eighth, or from the third
/// on if by the time between its last two it would have come eight times while that
/// other one was not used.
///
/// Expanding costs more than one verification without it: a key that signs once
/// never pays, and keys under which nothing verifies change nothing here. Where
/// more keys sign than fit, those that sign seldom would only take each other's
/// places; asked for more, the held ones come close to those that sign most (the
/// policy *k*-LRU), and what has become idle still gives way to who signs now (as in
/// LIRS). Identity is the full key; hashes of keys are only remembered to count.
pub(crate) struct KeyCache<K, P: ParameterSet> {
    /// `None` if not one key fits.
    state: Option<Mutex<State<K, P>>>,
    hasher: RandomState,
    hits: AtomicU64,
    misses: AtomicU64,
}

struct State<K, P: ParameterSet> {
    prepared: LruCache<K, Held<P>, RandomState>,
    /// Keys that are not held, by their hashes.
    seen: LruCache<u64, Seen, RandomState>,
    /// Signatures under held keys, and valid ones under others, so far: what a batch
    /// looks up and what it finds valid do not come in one order.
    now: u64,
}

struct Held<P: ParameterSet> {
    key: Arc<PreparedVerifyingKey<P>>,
    /// When it was looked up last.
    used: u64,
}

struct Seen {
    /// Valid ones, at most [`TO_REPLACE`].
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
    /// A cache whose expanded keys take at most `max_bytes`.
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

    /// One expanded key, with its encoded key and list links.
    const KEY_BYTES: usize = VerifyingKey::<P>::PREPARED_POLYS * size_of::<NttPoly>()
        + size_of::<PreparedVerifyingKey<P>>()
        + P::PK_LEN
        + 128;

    /// The expanded key of `id`, if it is held.
    pub(crate) fn get<Q>(&self, id: &Q) -> Option<Arc<PreparedVerifyingKey<P>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let found = self.lock()?.look_up(id);
        let count = if found.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// A signature under `id`, whose key was not held, is valid.
    pub(crate) fn proven<Q>(
        &self,
        id: &Q,
        own: impl FnOnce(&Q) -> K,
        key: impl FnOnce() -> Option<VerifyingKey<P>>,
    ) where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(id);
        {
            let Some(mut state) = self.lock() else { return };
            // Held by now: there were more of them in one batch.
            if state.prepared.contains(id) || !state.has_earned_a_place(hash) {
                return;
            }
            state.seen.pop(&hash);
        }
        let Some(key) = key() else { return };
        // Without the lock: two workers may expand one key, and either result
        // serves.
        let key = Arc::new(key.prepare());
        let old = self.lock().map(|mut state| {
            // What other workers counted meanwhile.
            state.seen.pop(&hash);
            let used = state.now;
            state.prepared.push(own(id), Held { key, used })
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

impl<K: Hash + Eq, P: ParameterSet> State<K, P> {
    fn look_up<Q>(&mut self, id: &Q) -> Option<Arc<PreparedVerifyingKey<P>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let held = self.prepared.get_mut(id)?;
        self.now += 1;
        held.used = self.now;
        Some(Arc::clone(&held.key))
    }

    /// Counts a valid signature under a key that is not held: whether it is time to
    /// expand that.
    fn has_earned_a_place(&mut self, hash: u64) -> bool {
        self.now += 1;
        let now = self.now;
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
                    Some(key.clone())
                };
                cache.proven(&id, |id| *id, expanded);
            }
        };
        let other_worker = || proven(2, TO_REPLACE - 1, &|| ());
        proven(1, TO_ENTER, &|| ());
        proven(2, TO_REPLACE, &other_worker);
        assert!(cache.get(&1).is_none() && cache.get(&2).is_some());
        assert_eq!(cache.lock().map(|state| state.seen.len()), Some(0));

        proven(1, TO_REPLACE, &|| ());
        assert!(cache.get(&1).is_some() && cache.get(&2).is_none());
        proven(2, TO_REPLACE - 1, &|| ());
        assert!(cache.get(&2).is_none());
        proven(2, 1, &|| ());
        assert!(cache.get(&2).is_some());
        assert_eq!(cache.memory_bytes(), Cache::KEY_BYTES);
    }
}
