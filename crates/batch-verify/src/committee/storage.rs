//! Storage of the public keys of a committee.

/// Storage of the public keys of a [`Committee`](crate::Committee). Verdicts do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStorage {
    /// Every key is expanded: wide up to 8 MiB for each thread that builds the committee,
    /// about what the caches of a core hold, and packed beyond.
    #[default]
    BySize,
    /// Every key is expanded at 32 bits a coefficient, 20, 36 or 64 KiB a key: nothing to unpack.
    Wide,
    /// Every key is expanded at 24 bits a coefficient, 15, 27 or 48 KiB a key: less to load.
    Packed,
    /// Keys are expanded after their second valid signature and kept in a cache, as
    /// [`key_cache_bytes`](crate::VerifierBuilder::key_cache_bytes) says. The cache of a
    /// successor begins empty.
    Lru {
        /// Upper bound on the memory for prepared keys and the counters of others.
        max_bytes: usize,
    },
    /// No key is expanded, 1.4, 2.0 or 2.6 kB a key: every signature pays for the expansion.
    Compact,
}

/// Bytes of wide keys under [`KeyStorage::BySize`], for each thread.
const WIDE_BYTES_PER_THREAD: usize = 8 << 20;

impl KeyStorage {
    /// Returns whether every key is expanded when the committee is made.
    pub(super) fn is_expanded(self) -> bool {
        matches!(self, Self::BySize | Self::Wide | Self::Packed)
    }

    /// Returns whether `keys` keys of `key_bytes` bytes, expanded wide, are stored packed.
    pub(super) fn packs(self, keys: usize, key_bytes: usize, threads: usize) -> bool {
        let bytes = keys.saturating_mul(key_bytes);
        match self {
            Self::BySize => bytes > WIDE_BYTES_PER_THREAD.saturating_mul(threads),
            Self::Packed => true,
            Self::Wide | Self::Lru { .. } | Self::Compact => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_committees_are_packed() {
        let key_bytes = 64 << 10;
        for threads in [1, 2, 8] {
            let packs = |keys| KeyStorage::BySize.packs(keys, key_bytes, threads);
            assert!(!packs(128 * threads));
            assert!(packs(128 * threads + 1));
        }
        assert!(!KeyStorage::Wide.packs(usize::MAX, key_bytes, 1));
        assert!(KeyStorage::Packed.packs(1, key_bytes, 1));
    }
}
