//! Byte layout of keys and signatures (FIPS 204 section 7.2). The encodings are
//! concatenations, so encoding and decoding are one split.

use crate::coding::hint::Hint;
use crate::error::{KeyError, VerifyError};
use crate::params::{CRH_LEN, ParameterSet, Params, SEED_LEN};

/// Algorithms 22 pkEncode and 23 pkDecode: `rho`, then k rows of t1 at 320 bytes.
#[derive(Clone, Copy, Debug)]
pub struct PublicKeyParts<'a> {
    /// Seed of A.
    pub rho: &'a [u8; SEED_LEN],
    /// k rows of 320 bytes.
    pub t1: &'a [u8],
}

impl<'a> PublicKeyParts<'a> {
    /// Splits a key whose type has the length of its set.
    pub fn of<P: ParameterSet>(encoded: &'a P::PublicKeyBytes) -> Self {
        Self::split(encoded.as_ref())
    }

    /// Splits an encoded public key.
    ///
    /// # Errors
    /// [`KeyError::Length`]. Every key of the right length is valid.
    pub fn parse(p: &Params, bytes: &'a [u8]) -> Result<Self, KeyError> {
        if bytes.len() != p.pk_len() {
            return Err(KeyError::Length);
        }
        Ok(Self::split(bytes))
    }

    /// Bounds: `PK_LEN` bytes.
    fn split(bytes: &'a [u8]) -> Self {
        let (rho, t1) = bytes.split_at(SEED_LEN);
        Self {
            rho: whole(rho),
            t1,
        }
    }
}

/// A slice of `LEN` bytes as the array that it is.
fn whole<const LEN: usize>(bytes: &[u8]) -> &[u8; LEN] {
    &bytes.as_chunks().0[0]
}

/// Algorithm 25 skDecode: the parts of an expanded private key, still packed.
#[allow(missing_debug_implementations, reason = "holds secrets")]
pub struct SecretKeyParts<'a> {
    /// Seed of A; public.
    pub rho: &'a [u8; SEED_LEN],
    /// K, the seed of the masks; secret.
    pub k_seed: &'a [u8; SEED_LEN],
    /// Hash of the public key; public.
    pub tr: &'a [u8; CRH_LEN],
    /// l rows of 96 or 128 bytes.
    pub s1: &'a [u8],
    /// k rows of 96 or 128 bytes.
    pub s2: &'a [u8],
    /// k rows of 416 bytes.
    pub t0: &'a [u8],
}

impl<'a> SecretKeyParts<'a> {
    /// Splits a key whose type has the length of its set.
    pub fn of<P: ParameterSet>(encoded: &'a P::SecretKeyBytes) -> Self {
        Self::split(&P::PARAMS, encoded.as_ref())
    }

    /// Splits an expanded private key. Ranges are checked where rows are unpacked.
    ///
    /// # Errors
    /// [`KeyError::Length`].
    pub fn parse(p: &Params, bytes: &'a [u8]) -> Result<Self, KeyError> {
        if bytes.len() != p.sk_len() {
            return Err(KeyError::Length);
        }
        Ok(Self::split(p, bytes))
    }

    /// Bounds: `SK_LEN` bytes.
    fn split(p: &Params, bytes: &'a [u8]) -> Self {
        let (rho, rest) = bytes.split_at(SEED_LEN);
        let (k_seed, rest) = rest.split_at(SEED_LEN);
        let (tr, rest) = rest.split_at(CRH_LEN);
        let (s1, rest) = rest.split_at(p.l * p.eta_poly_len());
        let (s2, t0) = rest.split_at(p.k * p.eta_poly_len());
        Self {
            rho: whole(rho),
            k_seed: whole(k_seed),
            tr: whole(tr),
            s1,
            s2,
            t0,
        }
    }
}

/// Algorithm 24 skEncode: the places that key generation fills, of the lengths
/// of [`SecretKeyParts`].
#[allow(missing_debug_implementations, reason = "holds secrets")]
pub struct SecretKeyPartsMut<'a> {
    /// Seed of A.
    pub rho: &'a mut [u8],
    /// K.
    pub k_seed: &'a mut [u8],
    /// Hash of the public key.
    pub tr: &'a mut [u8],
    /// l packed rows.
    pub s1: &'a mut [u8],
    /// k packed rows.
    pub s2: &'a mut [u8],
    /// k packed rows.
    pub t0: &'a mut [u8],
}

impl<'a> SecretKeyPartsMut<'a> {
    /// Splits the `SK_LEN` bytes of an expanded private key.
    pub fn new(p: &Params, bytes: &'a mut [u8]) -> Self {
        let (rho, rest) = bytes.split_at_mut(SEED_LEN);
        let (k_seed, rest) = rest.split_at_mut(SEED_LEN);
        let (tr, rest) = rest.split_at_mut(CRH_LEN);
        let (s1, rest) = rest.split_at_mut(p.l * p.eta_poly_len());
        let (s2, t0) = rest.split_at_mut(p.k * p.eta_poly_len());
        Self {
            rho,
            k_seed,
            tr,
            s1,
            s2,
            t0,
        }
    }
}

/// Algorithm 27 sigDecode: `c_tilde`, l packed rows of z, and the checked hint.
/// The norm of z is checked where its rows are unpacked.
#[derive(Clone, Copy, Debug)]
pub struct SignatureParts<'a> {
    /// The commitment hash, 32, 48 or 64 bytes.
    pub c_tilde: &'a [u8],
    /// l rows of 576 or 640 bytes.
    pub z: &'a [u8],
    /// The hint.
    pub hint: Hint<'a>,
}

impl<'a> SignatureParts<'a> {
    /// Splits a signature and decodes its hint.
    ///
    /// # Errors
    /// [`VerifyError::SignatureLength`], [`VerifyError::HintEncoding`].
    pub fn parse(p: &Params, bytes: &'a [u8]) -> Result<Self, VerifyError> {
        if bytes.len() != p.sig_len() {
            return Err(VerifyError::SignatureLength);
        }
        let parts = Self::of_decoded(p, bytes);
        Hint::hint_bit_unpack_vartime(&bytes[p.sig_len() - p.omega - p.k..], p.omega)?;
        Ok(parts)
    }

    /// Splits a signature that [`Self::parse`] has accepted.
    ///
    /// Bounds: `SIG_LEN` bytes.
    pub(crate) fn of_decoded(p: &Params, bytes: &'a [u8]) -> Self {
        let (c_tilde, rest) = bytes.split_at(p.c_tilde_len);
        let (z, hint) = rest.split_at(p.l * p.z_poly_len());
        Self {
            c_tilde,
            z,
            hint: Hint::of_decoded(hint, p.omega),
        }
    }
}

/// Computes algorithm 26 sigEncode: the places (c_tilde, z, hint) that signing fills.
/// `None` if the buffer does not have `SIG_LEN` bytes.
pub fn signature_parts_mut<'a>(
    p: &Params,
    bytes: &'a mut [u8],
) -> Option<(&'a mut [u8], &'a mut [u8], &'a mut [u8])> {
    if bytes.len() != p.sig_len() {
        return None;
    }
    let (c_tilde, rest) = bytes.split_at_mut(p.c_tilde_len);
    let (z, hint) = rest.split_at_mut(p.l * p.z_poly_len());
    Some((c_tilde, z, hint))
}

#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests {
    use super::*;
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
    use std::vec;

    /// The parts tile the encoding in order, at the lengths of FIPS 204.
    fn tiles<P: ParameterSet>(eta_len: usize, z_len: usize) {
        let (p, k, l) = (&P::PARAMS, P::K, P::L);
        let numbered = |len: usize| -> vec::Vec<u8> { (0..len).map(|n| (n % 251) as u8).collect() };

        let bytes = numbered(P::PK_LEN);
        let pk = PublicKeyParts::parse(p, &bytes).unwrap();
        assert_eq!([&pk.rho[..], pk.t1].concat(), bytes);
        assert_eq!(pk.t1.len(), 320 * k);

        let mut bytes = numbered(P::SK_LEN);
        let sk = SecretKeyParts::parse(p, &bytes).unwrap();
        let parts = [&sk.rho[..], sk.k_seed, sk.tr, sk.s1, sk.s2, sk.t0];
        let lengths = [32, 32, 64, eta_len * l, eta_len * k, 416 * k];
        assert_eq!(parts.map(<[u8]>::len), lengths);
        let copy = parts.concat();
        assert_eq!(copy, bytes);
        let sk = SecretKeyPartsMut::new(p, &mut bytes);
        let parts = [&*sk.rho, sk.k_seed, sk.tr, sk.s1, sk.s2, sk.t0];
        assert_eq!(parts.map(<[u8]>::len), lengths);
        assert_eq!(parts.concat(), copy);

        let mut bytes = numbered(P::SIG_LEN);
        let hint = P::SIG_LEN - p.omega - k;
        bytes[hint..].fill(0);
        let copy = bytes.clone();
        let sig = SignatureParts::parse(p, &copy).unwrap();
        assert_eq!((sig.c_tilde.len(), sig.z.len()), (P::LAMBDA / 4, z_len * l));
        assert_eq!([sig.c_tilde, sig.z].concat(), bytes[..hint]);
        let (c_tilde, z, h) = signature_parts_mut(p, &mut bytes).unwrap();
        assert_eq!(
            (c_tilde.len(), z.len(), h.len()),
            (P::LAMBDA / 4, z_len * l, p.omega + k)
        );
        assert_eq!([&*c_tilde, z, h].concat(), copy);
        bytes[hint] = 1;
        assert_eq!(
            SignatureParts::parse(p, &bytes).err(),
            Some(VerifyError::HintEncoding)
        );

        for add in [0, 2] {
            let mut wrong = vec![0; P::SIG_LEN - 1 + add];
            let length = Some(VerifyError::SignatureLength);
            assert_eq!(SignatureParts::parse(p, &wrong).err(), length);
            assert!(signature_parts_mut(p, &mut wrong).is_none());
            let wrong = vec![0; P::PK_LEN - 1 + add];
            assert_eq!(
                PublicKeyParts::parse(p, &wrong).err(),
                Some(KeyError::Length)
            );
            let wrong = vec![0; P::SK_LEN - 1 + add];
            assert_eq!(
                SecretKeyParts::parse(p, &wrong).err(),
                Some(KeyError::Length)
            );
        }
    }

    #[test]
    fn parts_tile_their_encodings() {
        tiles::<MlDsa44>(96, 576);
        tiles::<MlDsa65>(128, 640);
        tiles::<MlDsa87>(96, 640);
    }
}
