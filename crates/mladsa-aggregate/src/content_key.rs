//! Content keys: one key pair per member, decision and attempt.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use mldsa_core::hazmat::linear;
use mldsa_core::hazmat::pack::{FULL_POLY_LEN, pack_full, unpack_full};
use mldsa_core::hazmat::{Element, NttPoly, Poly, Secret, declassify_in_place};

use crate::error::Error;
use crate::matrix::{K, L, Matrix, P, ntt_vector, vector};
use crate::merkle::{Hash, leaf};
use crate::seed::MasterSeed;

/// Bytes of a public share `t` on the wire.
pub const SHARE_LEN: usize = K * FULL_POLY_LEN;

/// The public half of a content key: all of `t = A s1 + s2`, not only its high
/// bits. 6,144 bytes, every coefficient below q. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Share(Arc<[u8]>);

impl Share {
    /// Reads k polynomials at 3 bytes a coefficient.
    ///
    /// # Errors
    /// [`Error::BadLength`] unless there are 6,144 bytes; [`Error::OutOfRange`]
    /// for a coefficient of q or more.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut poly = Poly::ZERO;
        match bytes.as_chunks::<FULL_POLY_LEN>() {
            (polys, []) if polys.len() == K => {
                if polys.iter().all(|bytes| unpack_full(bytes, &mut poly.0)) {
                    Ok(Self(bytes.into()))
                } else {
                    Err(Error::OutOfRange)
                }
            }
            _ => Err(Error::BadLength),
        }
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn pack(t: &[Poly]) -> Self {
        let mut bytes = [0; SHARE_LEN];
        pack_vec(t, &mut bytes);
        declassify_in_place(&mut bytes, "t of a content key");
        Self(Arc::new(bytes))
    }

    pub(crate) fn unpack(&self, t: &mut [Poly]) {
        unpack_vec(&self.0, t);
    }

    /// `KtLeaf(id, C, t)`.
    pub(crate) fn leaf(&self, id: &[u8], content: &[u8]) -> Hash {
        leaf(&[id, content, &self.0])
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Share(..)")
    }
}

/// Every polynomial at 24 bits a coefficient; canonical ones.
pub(crate) fn pack_vec(polys: &[Poly], bytes: &mut [u8]) {
    for (poly, bytes) in polys.iter().zip(bytes.as_chunks_mut().0) {
        pack_full(&poly.0, bytes);
    }
}

/// The inverse. Returns whether every coefficient is below q.
pub(crate) fn unpack_vec(bytes: &[u8], polys: &mut [Poly]) -> bool {
    let chunks = bytes.as_chunks().0;
    polys
        .iter_mut()
        .zip(chunks)
        .fold(true, |valid, (poly, bytes)| {
            valid & unpack_full(bytes, &mut poly.0)
        })
}

/// One content key: wiped on drop.
pub(crate) struct ContentKey {
    pub(crate) s1_hat: Secret<Box<[NttPoly]>>,
    pub(crate) share: Share,
}

impl ContentKey {
    /// ContentKeyDerive. Constant time but for the positions of refused
    /// half-bytes in ExpandS.
    pub(crate) fn derive(matrix: &Matrix, seed: &MasterSeed, content: &[u8]) -> Self {
        let r = Self::seed(seed, content);
        let mut s = Secret::new(vector(L + K));
        linear::expand_s(matrix.backend(), P, r.expose(), s.expose_mut());
        let (s1, s2) = s.expose().split_at(L);
        let mut s1_hat = Secret::new(ntt_vector(L));
        linear::ntt(matrix.backend(), s1, s1_hat.expose_mut());
        let mut t = vector(K);
        linear::full_t(
            matrix.backend(),
            matrix.a_hat(),
            s1_hat.expose(),
            s2,
            &mut t,
        );
        Self {
            s1_hat,
            share: Share::pack(&t),
        }
    }

    /// The rho' of the key's ExpandS.
    pub(crate) fn seed(seed: &MasterSeed, content: &[u8]) -> Secret<[u8; 64]> {
        let mut r = Secret::<[u8; 64]>::zeroed();
        seed.prf(b"F.key", &[content], r.expose_mut());
        r
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_wrong_length_or_range_are_refused() {
        let good = [0; SHARE_LEN];
        assert!(Share::from_bytes(&good).is_ok());
        assert_eq!(Share::from_bytes(&good[1..]), Err(Error::BadLength));
        assert_eq!(
            Share::from_bytes(&[0; SHARE_LEN + 1]),
            Err(Error::BadLength)
        );
        assert_eq!(
            Share::from_bytes(&[0; SHARE_LEN + FULL_POLY_LEN]),
            Err(Error::BadLength)
        );
        for at in [0, 3 * 1000, SHARE_LEN - 3] {
            let mut bad = good;
            // q = 0x7fe001
            bad[at..at + 3].copy_from_slice(&[0x01, 0xe0, 0x7f]);
            assert_eq!(Share::from_bytes(&bad), Err(Error::OutOfRange));
            bad[at] = 0;
            assert!(Share::from_bytes(&bad).is_ok());
        }
    }
}
