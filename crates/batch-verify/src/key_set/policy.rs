//! How much memory a set of keys spends on speed.

/// How much memory a [`KeySet`](crate::KeySet) spends on speed. Verdicts do not
/// depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyPolicy {
    /// Every key is expanded when the set is built: 20, 36 or 64 KiB a key, three
    /// quarters of that in large sets ([`KeyStorage`]).
    #[default]
    Expanded,
    /// Keys are expanded after their second valid signature and kept; with no room the
    /// least recently used one leaves, as
    /// [`Builder::key_cache_bytes`](crate::Builder::key_cache_bytes) says. A keeping
    /// allocates. A set made from this one, the next epoch's, begins with none kept.
    Lru {
        /// Upper bound for the expanded keys and what is remembered of others.
        max_bytes: usize,
    },
    /// No key is expanded: 1.4, 2.0 or 2.6 kB a key, and every signature pays
    /// for the expansion.
    Compact,
}

/// How [`KeyPolicy::Expanded`] stores the expanded keys. Verdicts do not depend
/// on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStorage {
    /// Wide up to 2 MiB; beyond that in the form under which this machine verifies
    /// faster. That is measured once in a process for each parameter set and backend,
    /// when the first such set is built: some milliseconds, and 28 MiB of memory
    /// meanwhile.
    #[default]
    Auto,
    /// By the size of the set, without a measurement: wide up to 8 MiB for each thread
    /// that builds it, about what the caches next to a core hold, and packed beyond.
    BySize,
    /// 32 bits a coefficient, 20, 36 or 64 KiB a key: nothing to unpack.
    Wide,
    /// 24 bits a coefficient, 15, 27 or 48 KiB a key: less to load.
    Packed,
}

/// Expanded keys that stay wide under [`KeyStorage::Auto`] without a measurement.
const SMALL: usize = 2 << 20;
/// Expanded keys that stay wide under [`KeyStorage::BySize`], for each thread.
const WIDE_BYTES_PER_THREAD: usize = 8 << 20;

impl KeyStorage {
    /// Whether `keys` keys of `key_bytes` bytes, expanded wide, are stored packed
    /// for so many threads; `packed_is_faster` measures.
    pub(super) fn packs(
        self,
        keys: usize,
        key_bytes: usize,
        threads: usize,
        packed_is_faster: impl FnOnce() -> bool,
    ) -> bool {
        let bytes = keys.saturating_mul(key_bytes);
        match self {
            Self::Auto => bytes > SMALL && packed_is_faster(),
            Self::BySize => bytes > WIDE_BYTES_PER_THREAD.saturating_mul(threads),
            Self::Wide => false,
            Self::Packed => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sets_are_packed() {
        let key_bytes = 64 << 10;
        let packs = |storage: KeyStorage, keys, threads| {
            storage.packs(keys, key_bytes, threads, || unreachable!("not measured"))
        };
        for threads in [1, 2, 8] {
            assert!(!packs(KeyStorage::BySize, 128 * threads, threads));
            assert!(packs(KeyStorage::BySize, 128 * threads + 1, threads));
            assert!(!packs(KeyStorage::Auto, 32, threads));
            for packed in [false, true] {
                assert_eq!(
                    KeyStorage::Auto.packs(33, key_bytes, threads, || packed),
                    packed
                );
            }
        }
        assert!(!packs(KeyStorage::Wide, usize::MAX, 1));
        assert!(packs(KeyStorage::Packed, 1, 1));
    }
}
