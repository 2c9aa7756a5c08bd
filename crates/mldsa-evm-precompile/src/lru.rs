//! A bounded map that evicts the least recently used entry.

use alloc::collections::BTreeMap;
use core::borrow::Borrow;

/// A map of at most `capacity` entries. Every operation takes a constant number of
/// look-ups in trees, O(log n) comparisons. Trees and not hash tables, because the
/// keys come from callers, who could choose keys that collide.
///
/// `T` is the type of the logical clock.
pub(crate) struct LruMap<K, V, T = u64> {
    capacity: usize,
    clock: u64,
    /// Time of the last use and value of each key.
    entries: BTreeMap<K, (T, V)>,
    /// The keys in the order of their last use; every time is used once.
    by_last_use: BTreeMap<T, K>,
}

impl<K: Ord, V, T: Ord + Copy + From<u64>> LruMap<K, V, T> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            clock: 0,
            entries: BTreeMap::new(),
            by_last_use: BTreeMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.entries.contains_key(key)
    }

    /// The value of `key`, which becomes the most recently used entry. A value that
    /// is not in the map is made by `make`; `None` from it changes nothing.
    pub(crate) fn get_or_insert_with<Q: Ord + ?Sized>(
        &mut self,
        key: &Q,
        make: impl FnOnce() -> Option<V>,
    ) -> Option<&V>
    where
        K: Borrow<Q> + for<'a> From<&'a Q>,
    {
        let now = T::from(self.clock + 1);
        let used_last = match self.entries.get(key) {
            Some((used, _)) => self.by_last_use.remove(used),
            None => {
                let value = make()?;
                if self.entries.len() >= self.capacity
                    && let Some((_, oldest)) = self.by_last_use.pop_first()
                {
                    self.entries.remove(oldest.borrow());
                }
                self.entries.insert(key.into(), (now, value));
                None
            }
        };
        self.clock += 1;
        self.by_last_use
            .insert(now, used_last.unwrap_or_else(|| key.into()));
        let (used, value) = self.entries.get_mut(key)?;
        *used = now;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::cmp::Ordering;
    use std::thread_local;
    use std::vec::Vec;

    use super::*;

    thread_local! {
        static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    /// A key or a time that counts its comparisons.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Counted(u64);

    impl From<u64> for Counted {
        fn from(n: u64) -> Self {
            Self(n)
        }
    }

    impl From<&Self> for Counted {
        fn from(key: &Self) -> Self {
            *key
        }
    }

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARISONS.with(|count| count.set(count.get() + 1));
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    /// Comparisons of the most expensive of `uses`.
    fn worst(map: &mut LruMap<Counted, u64, Counted>, uses: impl Iterator<Item = u64>) -> usize {
        uses.map(|key| {
            COMPARISONS.set(0);
            let value = map.get_or_insert_with(&Counted(key), || Some(key));
            assert_eq!(value, Some(&key));
            COMPARISONS.get()
        })
        .max()
        .unwrap_or_default()
    }

    /// A full map of 10,000 entries takes a few comparisons more than one of 100: a
    /// scan would take 9,900 more.
    #[test]
    fn cost_of_a_miss_does_not_grow_with_the_entries() {
        let [small, large] = [100, 10_000].map(|capacity| {
            let mut map = LruMap::new(capacity);
            let size = capacity as u64;
            worst(&mut map, 0..size);
            let misses = worst(&mut map, size..3 * size);
            assert_eq!(map.len(), capacity);
            let hits = worst(&mut map, (2 * size..3 * size).rev());
            assert_eq!(map.len(), capacity);
            misses.max(hits)
        });
        assert!(large < 3 * small, "{small} comparisons, {large}");
    }

    /// Every step of a pseudo-random walk against a list in the order of use.
    #[test]
    fn entries_are_those_of_a_list_in_the_order_of_use() {
        for capacity in [1, 2, 5, 16] {
            let mut map = LruMap::<Counted, u64, u64>::new(capacity);
            let mut list = Vec::new();
            let mut state = 1_u64;
            for _ in 0..5_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let key = state >> 33 & 31;
                let made = (!key.is_multiple_of(7)).then_some(key);
                let held = list.contains(&key);
                let value = map.get_or_insert_with(&Counted(key), || made).copied();
                assert_eq!(value, if held { Some(key) } else { made });
                if value.is_some() {
                    list.retain(|&other| other != key);
                    list.push(key);
                    list.drain(..list.len().saturating_sub(capacity));
                }
                assert_eq!(map.len(), list.len());
                assert!(list.iter().all(|&key| map.contains(&Counted(key))));
            }
        }
    }
}
