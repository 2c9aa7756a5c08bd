//! The master seed and what is derived from it with the PRF.

use core::fmt;

use mldsa_core::Backend;
use mldsa_core::internals::{LaneHash, Secret, Zeroed, declassify_in_place, shake256_lanes};

use crate::wire::framing::{hash_lp, lp};

/// Number of seeds or keys that are hashed together: the number of lanes of the widest backend.
pub(crate) const KEYS_TOGETHER: usize = 8;

/// Master seed: the 32-byte secret from which everything secret of a member is derived, the
/// registration key of each epoch, one-time keys, nonces and offsets. Wiped on drop; not `Clone`,
/// not printable.
///
/// It must be random, have one journal for its whole life, and be replaced when that journal
/// is lost or was restored from a copy. A member that continues each epoch with
/// [`Self::successor`] and erases the seed before it keeps nothing that signs for an earlier epoch.
pub struct MasterSeed {
    // `lp("F.prf", seed)`, the prefix of every PRF input
    framed: Secret<[u8; 45]>,
    fingerprint: [u8; 32],
}

impl MasterSeed {
    /// Creates a seed of 32 random bytes. The caller wipes its copy.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        let mut framed = Secret::new(*b"\0\0\0\x05F.prf\0\0\0\x20--------------------------------");
        framed.expose_mut()[13..].copy_from_slice(seed);
        let mut fingerprint = hash_lp(&[], &[b"F.seedfp", seed]);
        declassify_in_place(&mut fingerprint, "fingerprint of a master seed");
        Self {
            framed,
            fingerprint,
        }
    }

    /// Computes the public 32-byte hash of the seed, to which a journal is bound.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Derives the 32 bytes of the seed that replaces this one, in a later epoch and with a new
    /// journal. The step is one-way: the successor reveals nothing of this seed. The caller wipes
    /// the bytes.
    pub fn successor(&self) -> [u8; 32] {
        *self.derive(&[b"F.next", &[]]).expose()
    }

    /// Derives the seed of the registration key of an epoch of a domain (xi of FIPS 204 algorithm
    /// 6).
    pub(crate) fn registration_seed(&self, domain: &[u8], epoch: u64) -> Secret<[u8; 32]> {
        self.derive(&[b"F.reg", &lp(&[domain, &epoch.to_be_bytes()])])
    }

    /// Computes `PRF(seed, label, content, N)` of label and content.
    pub(crate) fn derive<const N: usize>(&self, parts: &[&[u8]; 2]) -> Secret<[u8; N]>
    where
        [u8; N]: Zeroed,
    {
        let mut out = Secret::<[u8; N]>::zeroed();
        let framed = lp(parts);
        shake256_lanes(Backend::detect(), [self.prf(&framed, out.expose_mut())]);
        out
    }

    /// Computes `PRF(seed, label, content, |output|)` with `framed = lp(label, content)`, as the
    /// input of one hash lane.
    pub(crate) fn prf<'a>(&'a self, framed: &'a [u8], output: &'a mut [u8]) -> LaneHash<'a> {
        LaneHash {
            input: [self.framed.expose(), framed],
            output,
        }
    }
}

impl fmt::Debug for MasterSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterSeed(..)")
    }
}
