//! One-time keys ("content keys" of the scheme): one key pair per member, task and attempt.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::Backend;
use mldsa_core::internals::pack::{FULL_POLY_LEN, pack_full, unpack_full};
use mldsa_core::internals::vectors;
use mldsa_core::internals::{Element, NttPoly, Poly, Secret, declassify_in_place, shake256_lanes};

use crate::error::EncodingError;
use crate::keys::label::Label;
use crate::keys::matrix::{K, L, Matrix, P, ntt_vector, vector};
use crate::keys::seed::{KEYS_TOGETHER, MasterSeed};
use crate::wire::framing::lp;

/// Public half of a one-time key: all of `t = A s1 + s2`, not only its high bits. 6,144
/// bytes, every coefficient below q. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct OneTimePublicKey(Arc<[u8]>);

impl OneTimePublicKey {
    /// Bytes of the encoding.
    pub const LEN: usize = K * FULL_POLY_LEN;

    /// Decodes k polynomials of 3 bytes a coefficient.
    ///
    /// # Errors
    /// [`EncodingError::Length`] unless there are 6,144 bytes; [`EncodingError::Range`] for a
    /// coefficient of q or more.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let mut poly = Poly::ZERO;
        match bytes.as_chunks::<FULL_POLY_LEN>() {
            (polys, []) if polys.len() == K => {
                if polys.iter().all(|bytes| unpack_full(bytes, &mut poly.0)) {
                    Ok(Self(bytes.into()))
                } else {
                    Err(EncodingError::Range)
                }
            }
            _ => Err(EncodingError::Length),
        }
    }

    /// Returns the encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn pack(t: &[Poly]) -> Self {
        let mut bytes = [0; Self::LEN];
        pack_vec(t, &mut bytes);
        declassify_in_place(&mut bytes, "t of a content key");
        Self(Arc::new(bytes))
    }

    pub(crate) fn unpack(&self, t: &mut [Poly]) {
        for (poly, bytes) in t.iter_mut().zip(self.0.as_chunks().0) {
            unpack_full(bytes, &mut poly.0);
        }
    }
}

impl fmt::Debug for OneTimePublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTimePublicKey(..)")
    }
}

/// Packs canonical polynomials at 24 bits a coefficient.
pub(crate) fn pack_vec(polys: &[Poly], bytes: &mut [u8]) {
    for (poly, bytes) in polys.iter().zip(bytes.as_chunks_mut().0) {
        pack_full(&poly.0, bytes);
    }
}

impl OneTimePublicKey {
    /// Computes ContentKeyDerive. Constant time except for the positions of rejected half-bytes in
    /// ExpandS.
    pub(crate) fn derive(matrix: &Matrix, seed: &MasterSeed, content: &Label) -> Self {
        KeyMemory::new(matrix).derive(key_seed(seed, content).expose())
    }
}

/// Derives s1 of a one-time key, in NTT form.
pub(crate) fn derive_s1(
    backend: Backend,
    seed: &MasterSeed,
    content: &Label,
) -> Secret<Box<[NttPoly]>> {
    let mut s1 = Secret::new(vector(L));
    let mut s1_hat = Secret::new(ntt_vector(L));
    vectors::expand_s(
        backend,
        P,
        key_seed(seed, content).expose(),
        s1.expose_mut(),
    );
    vectors::ntt(backend, s1.expose(), s1_hat.expose_mut());
    s1_hat
}

/// Derives the seed rho' of a key's ExpandS.
pub(crate) fn key_seed(seed: &MasterSeed, content: &Label) -> Secret<[u8; 64]> {
    seed.derive(&[b"F.key", content.as_bytes()])
}

/// Computes ContentKeyDerive for many keys: calls `each` with s1 and s2, and with the public half
/// of every key, in order.
pub(crate) fn derive_each(
    matrix: &Matrix,
    keys: &[(&MasterSeed, &Label)],
    mut each: impl FnMut(&[Poly], OneTimePublicKey),
) {
    let mut memory = KeyMemory::new(matrix);
    let mut rho_p = Secret::<[[u8; 64]; KEYS_TOGETHER]>::zeroed();
    for group in keys.chunks(KEYS_TOGETHER) {
        let framed: Vec<Vec<u8>> = group
            .iter()
            .map(|(_, content)| lp(&[b"F.key", content.as_bytes()]))
            .collect();
        let places = group.iter().zip(&framed).zip(rho_p.expose_mut());
        let hashes = places.map(|(((seed, _), framed), rho_p)| seed.prf(framed, rho_p));
        shake256_lanes(matrix.backend, hashes);
        for rho_p in rho_p.expose().iter().take(group.len()) {
            let public_key = memory.derive(rho_p);
            each(memory.s.expose(), public_key);
        }
    }
}

/// Scratch memory for deriving keys in sequence. Wiped on drop.
struct KeyMemory<'m> {
    matrix: &'m Matrix,
    s: Secret<Box<[Poly]>>,
    s1_hat: Secret<Box<[NttPoly]>>,
    t: Box<[Poly]>,
}

impl<'m> KeyMemory<'m> {
    fn new(matrix: &'m Matrix) -> Self {
        Self {
            matrix,
            s: Secret::new(vector(L + K)),
            s1_hat: Secret::new(ntt_vector(L)),
            t: vector(K),
        }
    }

    /// Computes the public half of the key of rho', whose s1 and s2 stay in the memory.
    fn derive(&mut self, rho_p: &[u8; 64]) -> OneTimePublicKey {
        vectors::expand_s(self.matrix.backend, P, rho_p, self.s.expose_mut());
        let s1_hat = self.s1_hat.expose_mut();
        full_t(self.matrix, self.s.expose(), s1_hat, &mut self.t);
        OneTimePublicKey::pack(&self.t)
    }
}

/// Computes `t = A s1 + s2` of s1 and then s2, with s1 in NTT form.
pub(crate) fn full_t(matrix: &Matrix, s: &[Poly], s1_hat: &mut [NttPoly], t: &mut [Poly]) {
    let (s1, s2) = s.split_at(L);
    vectors::ntt(matrix.backend, s1, s1_hat);
    vectors::full_t(matrix.backend, &matrix.a_hat, s1_hat, s2, t);
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn wrong_length_and_range_are_rejected() {
        let decode = |bytes: &[u8]| OneTimePublicKey::from_bytes(bytes).map(drop);
        let len = OneTimePublicKey::LEN;
        for wrong in [
            0,
            len - 1,
            len + 1,
            len - FULL_POLY_LEN,
            len + FULL_POLY_LEN,
        ] {
            assert_eq!(decode(&vec![0; wrong]), Err(EncodingError::Length));
        }
        let good = vec![0; len];
        assert_eq!(decode(&good), Ok(()));
        for at in [0, 3 * 1000, len - 3] {
            let mut bad = good.clone();
            // q = 0x7fe001
            bad[at..at + 3].copy_from_slice(&[0x01, 0xe0, 0x7f]);
            assert_eq!(decode(&bad), Err(EncodingError::Range));
            bad[at] = 0;
            assert_eq!(decode(&bad), Ok(()));
        }
    }

    #[test]
    fn lane_derivation_equals_single_derivation() {
        let matrix = Matrix::expand(&[1; 32]);
        let seeds: Vec<MasterSeed> = (0..17).map(|n| MasterSeed::from_bytes(&[n; 32])).collect();
        let contents = [&b"a"[..], b"a longer content", b"c"].map(Label::new);
        for n in [0, 1, 7, 8, 9, 17] {
            let keys: Vec<(&MasterSeed, &Label)> =
                seeds.iter().zip(contents.iter().cycle()).take(n).collect();
            let mut derived = keys.iter();
            derive_each(&matrix, &keys, |s, public_key| {
                let (seed, content) = derived.next().unwrap();
                assert!(OneTimePublicKey::derive(&matrix, seed, content) == public_key);
                let mut s1_hat = ntt_vector(L);
                vectors::ntt(matrix.backend, &s[..L], &mut s1_hat);
                let single = derive_s1(matrix.backend, seed, content);
                let mut pairs = single.expose().iter().zip(&s1_hat);
                assert!(pairs.all(|(a, b)| a.0 == b.0));
            });
            assert!(derived.next().is_none());
        }
    }
}
