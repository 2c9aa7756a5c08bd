//! Key generation, and the recomputation of a public key from the secrets that
//! checked import needs.

use crate::backend::Backend;
use crate::backend::kernels::Kernels;
use crate::backend::matrix::MatrixRows;
use crate::coding::encode::{SecretKeyParts, SecretKeyPartsMut};
use crate::error::KeyError;
use crate::hash::transcript::{self, ExpandedSeed};
use crate::memory::array::Zeroed;
use crate::memory::ct::{difference, is_zero};
use crate::memory::secret::{Secret, declassify};
use crate::params::{CRH_LEN, ParameterSet, Params, SEED_LEN, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};
use crate::scheme::incremental_tr::IncrementalTr;
use crate::scheme::seal::variation;
use crate::scheme::zeroize_kernels::ZeroizeKernelState;

/// Computes algorithm 6 ML-DSA.KeyGen_internal. Constant time except for ExpandS, whose
/// rejected half-bytes are public.
pub fn keygen_internal<P: ParameterSet>(
    backend: Backend,
    xi: &[u8; SEED_LEN],
    pk: &mut P::PublicKeyBytes,
    sk: &mut P::SecretKeyBytes,
) {
    let mut seed = ExpandedSeed::zeroed();
    transcript::expand_seed(backend.permutation(), &P::PARAMS, xi, &mut seed);
    keygen_from_rho_p::<P>(
        backend,
        &seed.rho,
        seed.rho_p.expose(),
        seed.k_seed.expose(),
        pk,
        sk,
    );
}

/// Computes algorithm 6 from line 2 on, for callers that have `rho`, `rho_p` and `K` from
/// elsewhere. Constant time as [`keygen_internal`].
pub fn keygen_from_rho_p<P: ParameterSet>(
    backend: Backend,
    rho: &[u8; SEED_LEN],
    rho_p: &[u8; 64],
    k_seed: &[u8; SEED_LEN],
    pk: &mut P::PublicKeyBytes,
    sk: &mut P::SecretKeyBytes,
) {
    let p = &P::PARAMS;
    let parts = SecretKeyPartsMut::new(p, sk.as_mut());
    parts.rho.copy_from_slice(rho);
    parts.k_seed.copy_from_slice(k_seed);
    sample_secrets::<P>(backend, rho_p, parts.s1, parts.s2);
    let tr = public_key::<P>(backend, rho, parts.s1, parts.s2, pk.as_mut(), |i, t0| {
        parts.t0[i * T0_POLY_LEN..][..T0_POLY_LEN].copy_from_slice(t0);
    });
    parts.tr.copy_from_slice(&tr);
}

/// Algorithm 33, packed into the slots of the private key.
#[inline(never)]
pub(super) fn sample_secrets<P: ParameterSet>(
    backend: Backend,
    rho_p: &[u8; 64],
    s1: &mut [u8],
    s2: &mut [u8],
) {
    let _zeroize = ZeroizeKernelState::<8_192>(backend);
    let p = &P::PARAMS;
    let mut s = Secret::<P::Secrets<Poly>>::zeroed();
    let s = s.expose_mut().as_mut();
    (backend.kernels().expand_s)(rho_p, p.eta, 0, s);
    let slots = s1
        .chunks_exact_mut(p.eta_poly_len())
        .chain(s2.chunks_exact_mut(p.eta_poly_len()));
    for (s, slot) in s.iter().zip(slots) {
        (backend.kernels().pack_eta)(p.eta, s, slot);
    }
}

/// Lines 3 and 5 to 9 of algorithm 6, `Power2Round(A s1 + s2)` from the packed secrets:
/// writes the public key and returns `tr`, `row(i, t0)` receives the packed rows of t0.
#[inline(never)]
fn public_key<P: ParameterSet>(
    backend: Backend,
    rho: &[u8; SEED_LEN],
    s1: &[u8],
    s2: &[u8],
    pk: &mut [u8],
    row: impl FnMut(usize, &[u8; T0_POLY_LEN]),
) -> [u8; CRH_LEN] {
    let _zeroize = ZeroizeKernelState::<8_192>(backend);
    let mut tr = IncrementalTr::new(backend);
    let next_row = |a: &mut MatrixRows<'_, 8>, a_row: &mut [NttPoly], known: &[u8]| {
        tr.next_row(a, a_row, known);
    };
    public_rows::<P>(backend, rho, s1, s2, pk, next_row, row);
    tr.finish(pk)
}

/// The same except for `tr`: `next_row(a, row, known)` is to ask `a` for its next row and is
/// given what is known of the public key.
#[inline(always)]
pub(super) fn public_rows<P: ParameterSet>(
    backend: Backend,
    rho: &[u8; SEED_LEN],
    s1: &[u8],
    s2: &[u8],
    pk: &mut [u8],
    mut next_row: impl FnMut(&mut MatrixRows<'_, 8>, &mut [NttPoly], &[u8]),
    mut row: impl FnMut(usize, &[u8; T0_POLY_LEN]),
) {
    let p = &P::PARAMS;
    let kernels = backend.kernels();
    let mut a = MatrixRows::<8>::new(kernels, p, rho);
    let mut a_row = <P::Cols<NttPoly>>::zeroed();
    let a_row = a_row.as_mut();
    let mut s1_hat = Secret::<P::Cols<NttPoly>>::zeroed();
    unpack_ntt(backend, p, s1, s1_hat.expose_mut().as_mut());

    pk[..SEED_LEN].copy_from_slice(rho);
    for (i, s2) in s2.chunks_exact(p.eta_poly_len()).enumerate() {
        let (known, unknown) = pk.split_at_mut(SEED_LEN + i * T1_POLY_LEN);
        next_row(&mut a, a_row, known);
        public_row(kernels, p, a_row, s1_hat.expose().as_ref(), s2, |t1, t0| {
            unknown[..T1_POLY_LEN].copy_from_slice(t1);
            row(i, t0);
        });
    }
}

/// One row of `Power2Round(A s1 + s2)`, packed. A function of its own, whose frame
/// is released before A is sampled.
#[inline(never)]
fn public_row(
    kernels: &Kernels,
    p: &Params,
    a_row: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[u8],
    row: impl FnOnce(&[u8; T1_POLY_LEN], &[u8; T0_POLY_LEN]),
) {
    let mut t1 = [0; T1_POLY_LEN];
    let mut t0 = Secret::<[u8; T0_POLY_LEN]>::zeroed();
    (kernels.public_row)(p.eta, a_row, s1_hat, s2, &mut t1, t0.expose_mut());
    row(&declassify(t1, "t1 is the public key"), t0.expose());
}

/// Unpacks rows of s1 or s2 and transforms them; |out| < 11q.
pub(crate) fn unpack_ntt(backend: Backend, p: &Params, packed: &[u8], out: &mut [NttPoly]) {
    for (packed, s_hat) in packed.chunks_exact(p.eta_poly_len()).zip(out) {
        (backend.kernels().unpack_eta_ntt)(p.eta, packed, s_hat);
    }
}

/// Makes the checks that algorithm 25 leaves to its caller: s1 and s2 in
/// range, K not constant, t0 and `tr` equal to what they determine. Writes the public key.
///
/// Constant time up to the verdict.
///
/// # Errors
/// [`KeyError::Length`], [`KeyError::SecretRange`], [`KeyError::ConstantK`],
/// [`KeyError::Inconsistent`].
pub fn check_expanded<P: ParameterSet>(
    backend: Backend,
    sk: &[u8],
    pk: &mut P::PublicKeyBytes,
) -> Result<(), KeyError> {
    let _zeroize = ZeroizeKernelState::<3_072>(backend);
    let p = &P::PARAMS;
    let parts = SecretKeyParts::parse(p, sk)?;
    check_secret_range(p, &parts)?;
    let is_constant = is_zero(variation(parts.k_seed));
    if declassify(is_constant, "verdict of a key import") {
        return Err(KeyError::ConstantK);
    }
    let mut differing = 0;
    let tr = public_key::<P>(
        backend,
        parts.rho,
        parts.s1,
        parts.s2,
        pk.as_mut(),
        |i, t0| {
            differing |= difference(t0, &parts.t0[i * T0_POLY_LEN..][..T0_POLY_LEN]);
        },
    );
    differing |= difference(&tr, parts.tr);
    if declassify(is_zero(differing), "verdict of a key import") {
        Ok(())
    } else {
        Err(KeyError::Inconsistent)
    }
}

/// Returns zero if every code word of a row of s1 or s2 is valid: at most 4 for eta = 2, at most 8
/// for eta = 4. Six bytes at a time, which hold 16 code words of 3 bits or 12 of 4.
fn invalid_codes(eta: i32, row: &[u8]) -> u8 {
    let (groups, bytes) = row.as_chunks::<6>();
    // Followed by zeros, which are valid code words.
    let mut rest = Secret::<[u8; 6]>::zeroed();
    rest.expose_mut()[..bytes.len()].copy_from_slice(bytes);
    let mut invalid = 0;
    for bytes in groups.iter().chain([rest.expose()]) {
        let [a, b, c, d, e, f] = *bytes;
        let codes = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        // The highest bit of a code word, and another one.
        invalid |= match eta {
            2 => (codes >> 2) & (codes | codes >> 1) & 0o1111_1111_1111_1111,
            _ => (codes >> 3) & (codes | codes >> 1 | codes >> 2) & 0x1111_1111_1111,
        };
    }
    invalid
        .to_le_bytes()
        .into_iter()
        .fold(0, |bits, byte| bits | byte)
}

/// Returns whether s1 and s2 are in [-eta, eta].
///
/// # Errors
/// [`KeyError::SecretRange`].
pub(crate) fn check_secret_range(p: &Params, parts: &SecretKeyParts<'_>) -> Result<(), KeyError> {
    let rows = parts.s1.chunks_exact(p.eta_poly_len());
    let rows = rows.chain(parts.s2.chunks_exact(p.eta_poly_len()));
    let invalid = rows.fold(0, |bits, row| bits | invalid_codes(p.eta, row));
    let in_range = is_zero(invalid);
    if declassify(in_range, "verdict of a key import") {
        Ok(())
    } else {
        Err(KeyError::SecretRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::pack::unpack_eta;
    use crate::ring::poly::Poly;

    /// Every code word at every place, among valid ones, is judged as the decoder judges it.
    #[test]
    fn code_words_out_of_range_are_seen_at_every_place() {
        for (eta, bits, code) in [(2, 3, 4), (4, 4, 8)] {
            for place in 0..256 {
                for word in 0..1 << bits {
                    let mut row = [0; 128];
                    let row = &mut row[..32 * bits];
                    for n in 0..256 * bits {
                        let is_word = n / bits == place;
                        let bit = if is_word { word } else { code } >> (n % bits) & 1;
                        row[n / 8] |= (bit as u8) << (n % 8);
                    }
                    let mut s = Poly::zeroed();
                    let is_valid = unpack_eta(eta, row, &mut s);
                    assert_eq!(is_valid, word <= 2 * eta);
                    assert_eq!(
                        invalid_codes(eta, row) == 0,
                        is_valid,
                        "{eta} {place} {word}"
                    );
                }
            }
        }
    }
}
