//! The master seed and what is derived from it with the PRF.

use core::fmt;

use mldsa_core::internals::{LaneHash, Secret, declassify_in_place};

use crate::wire::framing::hash_lp;

/// Signers, or keys of one signer, that are worked on together: as many as lanes
/// that hash at once.
pub(crate) const KEYS_TOGETHER: usize = 8;

/// The 32-byte secret from which every content key, nonce and offset of a member
/// comes. Wiped on drop; not `Clone`, not printable.
///
/// It must be random, belong to one guard store for its whole life, and be
/// retired when that store is lost or was restored from a copy.
///
/// Kept as `lp("F.prf", seed)`, which every value of the PRF starts from.
pub struct MasterSeed(Secret<[u8; 45]>);

impl MasterSeed {
    /// Takes 32 bytes from a generator. Wipe the source.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        let mut framed = Secret::new(*b"\0\0\0\x05F.prf\0\0\0\x20--------------------------------");
        framed.expose_mut()[13..].copy_from_slice(seed);
        Self(framed)
    }

    /// The secret itself, for a sealed backup. A restored seed needs its own,
    /// current guard store: without it, it must not sign again.
    pub fn expose_for_backup(&self) -> &[u8; 32] {
        let [_, _, _, _, _, _, _, _, _, _, _, _, _, seed @ ..] = self.0.expose();
        seed
    }

    /// What a guard store is bound to: a hash of the seed, public.
    pub fn fingerprint(&self) -> SeedFingerprint {
        let mut fingerprint = hash_lp(&[], &[b"F.seedfp", self.expose_for_backup()]);
        declassify_in_place(&mut fingerprint, "fingerprint of a master seed");
        SeedFingerprint(fingerprint)
    }

    /// `PRF(seed, label, content, |output|)`, from `lp(label, content)`, to be hashed
    /// beside others.
    pub(crate) fn prf<'a>(&'a self, framed: &'a [u8], output: &'a mut [u8]) -> LaneHash<'a> {
        LaneHash {
            input: [self.0.expose(), framed],
            output,
        }
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
