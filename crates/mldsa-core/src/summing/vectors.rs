//! Whole vectors: their products and sums, and the relations of the scheme between
//! them, for protocols in which keys, commitments and responses of several signers
//! are summed.
//!
//! Vectors are slices of polynomials, `a_hat` is A with k l entries in row
//! order, and the parameter set comes as a value. What touches a secret is
//! constant time and says so; the rest takes public data.

use crate::backend::Backend;
use crate::coding::encode::signature_parts_mut;
use crate::coding::hint::{HINT_ROW_LEN, hint_bit_pack_vartime, weight};
use crate::coding::pack;
use crate::hash::transcript::{CommitmentHash, Mu};
use crate::memory::array::Zeroed;
use crate::memory::ct::abs;
use crate::memory::secret::Secret;
use crate::params::{D, N, ParameterSet, Params, SEED_LEN, T1_POLY_LEN};
use crate::ring::field::{add_q_if_negative, canonical, centred};
use crate::ring::poly::{NttPoly, Poly};
use crate::ring::rounding::{decompose, high_bits, power2round, use_hint_vartime};
use crate::sample::Challenge;

/// Computes algorithm 32 on `backend`: k l entries in row order, 0 <= out < q.
pub fn expand_a(backend: Backend, p: &Params, rho: &[u8; SEED_LEN], a_hat: &mut [NttPoly]) {
    (backend.kernels().expand_a)(rho, p.l, 0, a_hat);
}

/// Computes algorithm 33 on `backend`: s1, then s2. Constant time except for the
/// positions of rejected half-bytes.
pub fn expand_s(backend: Backend, p: &Params, rho_p: &[u8; 64], s: &mut [Poly]) {
    (backend.kernels().expand_s)(rho_p, p.eta, 0, s);
}

/// Computes algorithm 41 on every polynomial. Constant time.
///
/// Bounds: |x| < q gives |x_hat| < 11q.
pub fn ntt(backend: Backend, x: &[Poly], x_hat: &mut [NttPoly]) {
    for (x, x_hat) in x.iter().zip(x_hat) {
        (backend.kernels().ntt)(x, x_hat);
    }
}

/// Computes `A x`, canonical. Constant time.
///
/// Bounds: |x_hat| < 11q.
pub fn matrix_product(backend: Backend, a_hat: &[NttPoly], x_hat: &[NttPoly], out: &mut [Poly]) {
    let mut row = Secret::<NttPoly>::zeroed();
    for (a_row, out) in a_hat.chunks_exact(x_hat.len()).zip(out) {
        (backend.kernels().row_product)(a_row, x_hat, row.expose_mut());
        (backend.kernels().inv_ntt)(row.expose(), out);
        for a in &mut out.0 {
            *a = add_q_if_negative(*a);
        }
    }
}

/// Computes `t = A s1 + s2`, not rounded, canonical: line 5 of algorithm 6. Constant
/// time.
pub fn full_t(
    backend: Backend,
    a_hat: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[Poly],
    t: &mut [Poly],
) {
    matrix_product(backend, a_hat, s1_hat, t);
    add(t, s2);
}

/// Computes `sum + x`, canonical. Constant time.
///
/// Bounds: 0 <= sum < q, |x| < 2^29.
pub fn add(sum: &mut [Poly], x: &[Poly]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        for (sum, &x) in sum.0.iter_mut().zip(&x.0) {
            *sum = canonical(*sum + x);
        }
    }
}

/// Computes `sum + x` in NTT form, canonical. Constant time.
///
/// Bounds: 0 <= sum < q, |x| < 11q.
pub fn add_ntt(sum: &mut [NttPoly], x: &[NttPoly]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        for (sum, &x) in sum.0.iter_mut().zip(&x.0) {
            *sum = canonical(*sum + x);
        }
    }
}

/// Computes `sum + x` over the integers. Constant time.
///
/// Bounds: |sum + x| < 2^31, which the caller ensures.
pub fn add_integers(sum: &mut [Poly], x: &[Poly]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        for (sum, &x) in sum.0.iter_mut().zip(&x.0) {
            *sum += x;
        }
    }
}

/// Computes algorithm 22 of `rho` and the t1 of a full public `t`, canonical.
pub fn pk_encode(rho: &[u8; SEED_LEN], t: &[Poly], pk: &mut [u8]) {
    let (rho_out, t1_out) = pk.split_at_mut(SEED_LEN);
    rho_out.copy_from_slice(rho);
    let mut t1 = Poly::zeroed();
    for (t, out) in t.iter().zip(t1_out.as_chunks_mut::<T1_POLY_LEN>().0) {
        for (t1, &t) in t1.0.iter_mut().zip(&t.0) {
            *t1 = power2round(t).0;
        }
        pack::pack_t1(&t1, out);
    }
}

/// Splits a secret `w` into high bits and low bits hidden under the secret
/// offset `r`: `w = hi 2 gamma2 + lo`, `q = lo + r` over the integers, `q` in
/// the place of `r`. Constant time.
///
/// Bounds: 0 <= w < q, |r| < 2^20.
pub fn split_commitment(p: &Params, w: &[Poly], hi: &mut [Poly], r_q: &mut [Poly]) {
    for ((w, hi), q) in w.iter().zip(hi).zip(r_q) {
        for n in 0..N {
            let (high, low) = decompose(p.gamma2, w.0[n]);
            hi.0[n] = high;
            q.0[n] += low;
        }
    }
}

/// Computes `hi 2 gamma2 + q mod q`, canonical, in the place of `q`: what a split
/// commitment says about w.
///
/// Bounds: 0 <= hi < 16, |q| < 2^21.
pub fn join_commitment(p: &Params, hi: &[Poly], q: &mut [Poly]) {
    for (hi, q) in hi.iter().zip(q) {
        for (&hi, q) in hi.0.iter().zip(&mut q.0) {
            *q = canonical(hi * 2 * p.gamma2 + *q);
        }
    }
}

/// Computes `w1 = HighBits(w)` of every row in the place of `w`, and `c_tilde =
/// H(mu || w1Encode(w1))`.
pub fn commitment_hash(backend: Backend, p: &Params, mu: &Mu, w: &mut [Poly], c_tilde: &mut [u8]) {
    let mut hash = CommitmentHash::new(backend.permutation(), mu);
    let mut packed = [0; 192];
    let packed = &mut packed[..p.w1_poly_len()];
    for w in w {
        for a in &mut w.0 {
            *a = high_bits(p.gamma2, *a);
        }
        pack::w1_encode(p.gamma2, w, packed, |a| a);
        hash.absorb_w1(packed);
    }
    hash.finish(c_tilde);
}

/// Computes SampleInBall of a public `c_tilde`, in NTT form, 0 <= out < q.
pub fn challenge(backend: Backend, p: &Params, c_tilde: &[u8], c_hat: &mut NttPoly) {
    let mut c = Poly::zeroed();
    Challenge::sample_in_ball_vartime(backend.permutation(), p.tau, c_tilde).to_poly(&mut c);
    (backend.kernels().ntt)(&c, c_hat);
    for a in &mut c_hat.0 {
        *a = canonical(*a);
    }
}

/// Computes `z = y + c s1` over the integers, in the place of `y`. Constant time.
///
/// Bounds: 0 <= c_hat < q, |s1_hat| < 11q; |c s1| <= beta.
pub fn respond(backend: Backend, c_hat: &NttPoly, s1_hat: &[NttPoly], y: &mut [Poly]) {
    let mut product = Secret::<Poly>::zeroed();
    for (s1_hat, y) in s1_hat.iter().zip(y) {
        (backend.kernels().product_inv_ntt)(c_hat, s1_hat, product.expose_mut());
        for (y, &cs1) in y.0.iter_mut().zip(&product.expose().0) {
            *y += cs1;
        }
    }
}

/// Returns the largest absolute value of `w + c t - A z`, centred: how far a response
/// is from the commitment `w` and the key `t`.
///
/// Public data. Bounds: 0 <= w, t, c_hat < q, |z| < q.
pub fn response_distance(
    backend: Backend,
    a_hat: &[NttPoly],
    c_hat: &NttPoly,
    w: &[Poly],
    t: &[Poly],
    z: &mut ResponseHat<'_>,
) -> i32 {
    let z_hat = z.transform(backend);
    let mut t_hat = NttPoly::zeroed();
    let mut row = Poly::zeroed();
    let mut distance = 0;
    for ((a_row, w), t) in a_hat.chunks_exact(z_hat.len()).zip(w).zip(t) {
        (backend.kernels().ntt)(t, &mut t_hat);
        product_difference(backend, a_row, z_hat, c_hat, &t_hat, &mut row);
        for (&a, &w) in row.0.iter().zip(&w.0) {
            distance = distance.max(abs(centred(canonical(w - a))));
        }
    }
    distance
}

/// `A[i] z - c t` for a row of A, canonical. Public data.
fn product_difference(
    backend: Backend,
    a_row: &[NttPoly],
    z_hat: &[NttPoly],
    c_hat: &NttPoly,
    t_hat: &NttPoly,
    out: &mut Poly,
) {
    let kernels = backend.kernels();
    let (mut az_hat, mut ct_hat) = (NttPoly::zeroed(), NttPoly::zeroed());
    (kernels.row_product)(a_row, z_hat, &mut az_hat);
    (kernels.row_product)(
        core::slice::from_ref(c_hat),
        core::slice::from_ref(t_hat),
        &mut ct_hat,
    );
    for (az, &ct) in az_hat.0.iter_mut().zip(&ct_hat.0) {
        *az = canonical(*az - ct);
    }
    (kernels.inv_ntt)(&az_hat, out);
    for a in &mut out.0 {
        *a = add_q_if_negative(*a);
    }
}

/// A public response and memory for its transform, l polynomials each.
#[derive(Debug)]
pub struct ResponseHat<'a> {
    /// The response.
    pub z: &'a [Poly],
    /// Memory for its transform.
    pub z_hat: &'a mut [NttPoly],
}

impl ResponseHat<'_> {
    fn transform(&mut self, backend: Backend) -> &[NttPoly] {
        ntt(backend, self.z, self.z_hat);
        self.z_hat
    }
}

/// Returns the largest absolute value over all coefficients. Public data.
pub fn norm(x: &[Poly]) -> i32 {
    x.iter()
        .flat_map(|x| &x.0)
        .fold(0, |max, &a| max.max(abs(a)))
}

/// Reason why a summed response makes no signature. Another attempt may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CombineError {
    /// ||z|| >= gamma1 - beta.
    ZNorm,
    /// More than omega hints.
    Weight,
    /// A hinted coefficient is more than one step away from its target.
    Carry,
}

/// Completes a signature from public data alone: the hint is whatever leads
/// from `A z - c t1 2^13` to the committed `w1`. Returns the number of hints.
///
/// The check of c t0 in algorithm 7 cannot fail in ML-DSA-65 and 87: with
/// |t0| <= 2^12, |c t0| <= tau 2^12 < gamma2. Callers have such a set.
///
/// Bounds: |z| < q; 0 <= w1 < 16; `pk`, `sig` of the set's lengths.
///
/// # Errors
/// Every [`CombineError`], in the order of its variants; `sig` is then unspecified.
pub fn combine<P: ParameterSet>(
    backend: Backend,
    a_hat: &[NttPoly],
    pk: &[u8],
    c_tilde: &[u8],
    w1: &[Poly],
    mut z: ResponseHat<'_>,
    sig: &mut [u8],
) -> Result<u32, CombineError> {
    let p = &P::PARAMS;
    debug_assert!((p.tau as i32) << (D - 1) < p.gamma2);
    if norm(z.z) >= p.gamma1() - p.beta() {
        return Err(CombineError::ZNorm);
    }
    let z_hat = z.transform(backend);
    let mut c_hat = NttPoly::zeroed();
    challenge(backend, p, c_tilde, &mut c_hat);
    let mut t1_hat = NttPoly::zeroed();
    let mut row = Poly::zeroed();
    let mut bitmap = [0; 8 * HINT_ROW_LEN];
    let bitmap = &mut bitmap[..p.k * HINT_ROW_LEN];
    let mut carried = true;
    let t1_rows = pk[SEED_LEN..].chunks_exact(T1_POLY_LEN);
    let rows = a_hat.chunks_exact(p.l).zip(t1_rows).zip(w1);
    for (((a_row, t1), w1), hints) in rows.zip(bitmap.chunks_exact_mut(HINT_ROW_LEN)) {
        pack::unpack_t1_2d(t1, &mut row);
        (backend.kernels().ntt)(&row, &mut t1_hat);
        product_difference(backend, a_row, z_hat, &c_hat, &t1_hat, &mut row);
        for (n, (&r, &w1)) in row.0.iter().zip(&w1.0).enumerate() {
            if high_bits(p.gamma2, r) != w1 {
                hints[n / 8] |= 1 << (n % 8);
                carried &= use_hint_vartime(p.gamma2, 1, r) == w1;
            }
        }
    }
    let ones = weight(bitmap);
    if ones as usize > p.omega {
        return Err(CombineError::Weight);
    }
    if !carried {
        return Err(CombineError::Carry);
    }
    if let Some((c_tilde_out, z_out, h_out)) = signature_parts_mut(p, sig) {
        c_tilde_out.copy_from_slice(c_tilde);
        for (z, bytes) in z.z.iter().zip(z_out.chunks_exact_mut(p.z_poly_len())) {
            pack::pack_z(p.gamma1_bits, z, bytes);
        }
        hint_bit_pack_vartime(bitmap, p.omega, h_out);
    }
    Ok(ones)
}

#[cfg(test)]
#[cfg(feature = "ml-dsa-87")]
mod tests {
    use super::*;
    use crate::hash::keccak::Permutation;
    use crate::hash::transcript::tr;
    use crate::memory::array::Element;
    use crate::params::{MlDsa87, Q};
    use crate::random::Random;
    use crate::scheme::keygen::keygen_from_rho_p;
    use std::vec::Vec;

    const P: &Params = &MlDsa87::PARAMS;
    const B: Backend = Backend::PORTABLE;

    fn polys(len: usize) -> Vec<Poly> {
        (0..len).map(|_| Poly::ZERO).collect()
    }

    fn ntt_polys(len: usize) -> Vec<NttPoly> {
        (0..len).map(|_| NttPoly::ZERO).collect()
    }

    fn noise(seed: u64, bound: i32, len: usize) -> Vec<Poly> {
        let mut random = Random::new(seed);
        (0..len).map(|_| Poly(random.poly(bound))).collect()
    }

    /// One signer's split commitment, and its reconstruction.
    #[test]
    fn one_response_satisfies_every_relation_and_verifies() {
        let (rho, rho_p) = ([1; 32], [2; 64]);
        let mut a_hat = ntt_polys(P.k * P.l);
        expand_a(B, P, &rho, &mut a_hat);
        let mut s = polys(P.l + P.k);
        expand_s(B, P, &rho_p, &mut s);
        let (s1, s2) = s.split_at(P.l);
        let mut s1_hat = ntt_polys(P.l);
        ntt(B, s1, &mut s1_hat);
        let mut t = polys(P.k);
        full_t(B, &a_hat, &s1_hat, s2, &mut t);

        let mut pk = [0; MlDsa87::PK_LEN];
        pk_encode(&rho, &t, &mut pk);
        let (mut pk_plain, mut sk) = ([0; MlDsa87::PK_LEN], [0; MlDsa87::SK_LEN]);
        keygen_from_rho_p::<MlDsa87>(B, &rho, &rho_p, &[0; 32], &mut pk_plain, &mut sk);
        assert_eq!(pk, pk_plain);

        let (sigma, r_max) = (360, 256);
        let mut completed = 0;
        for seed in 0..8 {
            let mut y = noise(seed, sigma, P.l);
            let mut y_hat = ntt_polys(P.l);
            ntt(B, &y, &mut y_hat);
            let mut w = polys(P.k);
            matrix_product(B, &a_hat, &y_hat, &mut w);
            let (mut hi, mut q) = (polys(P.k), noise(100 + seed, r_max, P.k));
            let r: Vec<_> = q.iter().map(|q| q.0).collect();
            split_commitment(P, &w, &mut hi, &mut q);
            assert!(norm(&q) <= P.gamma2 + r_max);
            join_commitment(P, &hi, &mut q);
            for ((w, joined), r) in w.iter().zip(&q).zip(&r) {
                for ((w, joined), r) in w.0.iter().zip(joined.0).zip(r) {
                    assert_eq!(joined, (w + r).rem_euclid(Q));
                }
            }
            let west = q;
            let mut w1 = polys(P.k);
            add(&mut w1, &west);
            let mu = Mu::from_bytes([seed as u8; 64]);
            let mut c_tilde = [0; 64];
            commitment_hash(B, P, &mu, &mut w1, &mut c_tilde);
            let mut c_hat = NttPoly::ZERO;
            challenge(B, P, &c_tilde, &mut c_hat);
            respond(B, &c_hat, &s1_hat, &mut y);
            assert!(norm(&y) <= sigma + P.beta());

            let mut z_hat = ntt_polys(P.l);
            let mut z = ResponseHat {
                z: &y,
                z_hat: &mut z_hat,
            };
            let distance = response_distance(B, &a_hat, &c_hat, &west, &t, &mut z);
            assert!(distance <= r_max + P.beta());
            let distance = response_distance(B, &a_hat, &c_hat, &w, &t, &mut z);
            assert!(distance <= P.beta());
            // Against another key the distance is as large as between random values.
            let distance = response_distance(B, &a_hat, &c_hat, &w, &west, &mut z);
            assert!(distance > Q / 4);

            let mut sig = [0; MlDsa87::SIG_LEN];
            match combine::<MlDsa87>(B, &a_hat, &pk, &c_tilde, &w1, z, &mut sig) {
                Ok(weight) => {
                    assert!(weight <= 75);
                    completed += 1;
                    let key = crate::VerifyingKey::<MlDsa87>::from_bytes(&pk).unwrap();
                    assert_eq!(key.tr(), &tr(Permutation::PORTABLE, &pk));
                    key.verify_mu(&mu, &sig).unwrap();
                    sig[100] ^= 1;
                    assert!(key.verify_mu(&mu, &sig).is_err());
                }
                Err(miss) => assert!(matches!(miss, CombineError::Weight | CombineError::Carry)),
            }
        }
        assert!(completed >= 6);
    }

    #[test]
    fn every_miss_is_reported() {
        let mut a_hat = ntt_polys(P.k * P.l);
        expand_a(B, P, &[1; 32], &mut a_hat);
        let (pk, c_tilde, mut sig) = ([0; MlDsa87::PK_LEN], [3; 64], [0; MlDsa87::SIG_LEN]);
        let mut run = |z: &[Poly], w1: &[Poly]| {
            let mut z_hat = ntt_polys(P.l);
            let z = ResponseHat {
                z,
                z_hat: &mut z_hat,
            };
            combine::<MlDsa87>(B, &a_hat, &pk, &c_tilde, w1, z, &mut sig)
        };
        // With z = 0 and t1 = 0 the result is 0, whose high bits are 0.
        let (mut z, mut w1) = (polys(P.l), polys(P.k));
        assert_eq!(run(&z, &w1), Ok(0));
        // UseHint(1, 0) = 15.
        w1[7].0[255] = 15;
        assert_eq!(run(&z, &w1), Ok(1));
        w1[3].0[0] = 1;
        assert_eq!(run(&z, &w1), Err(CombineError::Carry));
        w1[3].0[0] = 0;
        w1[0].0[..75].fill(15);
        assert_eq!(run(&z, &w1), Err(CombineError::Weight));
        w1[7].0[255] = 0;
        assert_eq!(run(&z, &w1), Ok(75));
        z[6].0[9] = P.gamma1() - P.beta();
        assert_eq!(run(&z, &w1), Err(CombineError::ZNorm));
    }
}
