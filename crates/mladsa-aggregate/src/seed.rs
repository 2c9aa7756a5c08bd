//! The master seed and what is derived from it with the PRF.

use core::fmt;

use mldsa_core::Backend;
use mldsa_core::hazmat::{Secret, Shake256, declassify_in_place};

use crate::encoding::{absorb_lp, hash_lp};

/// The 32-byte secret from which every content key, nonce and offset of a member
/// comes. Wiped on drop; not `Clone`, not printable.
///
/// It must be random, belong to one guard store for its whole life, and be
/// retired when that store is lost or was restored from a copy.
pub struct MasterSeed(Secret<[u8; 32]>);

impl MasterSeed {
    /// Takes 32 bytes from a generator. Wipe the source.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(Secret::new(*seed))
    }

    /// The secret itself, for a sealed backup. A restored seed needs its own,
    /// current guard store: without it, it must not sign again.
    pub fn expose_for_backup(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// What a guard store is bound to: a hash of the seed, public.
    pub fn fingerprint(&self) -> SeedFingerprint {
        let mut fingerprint = hash_lp(&[], &[b"F.seedfp", self.0.expose()]);
        declassify_in_place(&mut fingerprint, "fingerprint of a master seed");
        SeedFingerprint(fingerprint)
    }

    /// `PRF(seed, label, content || suffix, |out|)`. Constant time.
    pub(crate) fn prf(&self, label: &[u8], content: &[&[u8]], out: &mut [u8]) {
        let mut sponge = Shake256::new(Backend::detect());
        absorb_lp(&mut sponge, &[b"F.prf", self.0.expose(), label]);
        let len: usize = content.iter().map(|part| part.len()).sum();
        // Labels are at most a few kilobytes.
        sponge.absorb(&(len as u32).to_be_bytes());
        for part in content {
            sponge.absorb(part);
        }
        sponge.finish();
        sponge.squeeze(out);
    }
}

impl fmt::Debug for MasterSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterSeed(..)")
    }
}

/// Tells guard stores of different seeds apart. Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeedFingerprint(pub(crate) [u8; 32]);

impl SeedFingerprint {
    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SeedFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeedFingerprint(..)")
    }
}
