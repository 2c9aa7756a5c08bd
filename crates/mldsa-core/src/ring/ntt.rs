//! The number-theoretic transform (FIPS 204 section 7.5), portable bodies.
//!
//! Products in the NTT domain carry a factor 2^-32 (Montgomery), which
//! [`inv_ntt`] takes out again: `inv_ntt(product(ntt(a), ntt(b))) = a b`.

#[cfg(mldsa_armv7m)]
use crate::backend::armv7m;
use crate::params::{N, Q};
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
use crate::ring::field::montgomery_mul;
use crate::ring::field::montgomery_reduce;
use crate::ring::poly::{NttPoly, Poly};

/// Primitive 512th root of unity (FIPS 204 table 1).
const ZETA: i64 = 1_753;

/// `zeta^brv(n) 2^32 mod q`, centred: algorithm 43 BitRev8 and appendix B,
/// computed by the compiler.
pub const ZETAS: [i32; N] = {
    let q = Q as i64;
    let mut zetas = [0; N];
    let mut n = 0;
    while n < N {
        let mut exponent = (n as u8).reverse_bits();
        let mut power = (1i64 << 32) % q;
        while exponent > 0 {
            power = power * ZETA % q;
            exponent -= 1;
        }
        zetas[n] = (if power > q / 2 { power - q } else { power }) as i32;
        n += 1;
    }
    zetas
};

/// 2^64 / 256 mod q: the 1/256 of algorithm 42 together with the factor 2^32
/// that products lack and the 2^32 that the Montgomery product removes.
pub(crate) const INV_256_MONT: i32 = {
    let q = Q as i64;
    let r = (1i64 << 32) % q;
    // 256 * 8347681 = 1 mod q.
    (r * r % q * 8_347_681 % q) as i32
};

/// Computes algorithm 41 NTT.
///
/// Bounds: |in| < 2^31 - 8q gives |out| < max|in| + 8q, one q per layer.
/// Constant time.
#[inline(always)]
pub fn ntt(src: &Poly, dst: &mut NttPoly) {
    #[cfg(mldsa_armv7m)]
    armv7m::ntt(&src.0, &mut dst.0);
    #[cfg(not(mldsa_armv7m))]
    {
        dst.0.copy_from_slice(&src.0);
        ntt_layers(&mut dst.0, N / 2, 1);
    }
}

/// Computes [`ntt`] on a bare array, for callers that hold a single polynomial.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub fn ntt_in_place(w: &mut [i32; N]) {
    #[cfg(mldsa_armv7m)]
    armv7m::ntt_in_place(w);
    #[cfg(not(mldsa_armv7m))]
    ntt_layers(w, N / 2, 1);
}

/// Computes the last six layers of [`ntt`] on its quarter `quarter` (0 to 3).
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub(crate) fn last_layers(quarter: usize, w: &mut [i32; N / 4]) {
    #[cfg(mldsa_armv7m)]
    armv7m::last_layers(quarter, w);
    #[cfg(not(mldsa_armv7m))]
    ntt_layers(w, N / 8, 4 + quarter);
}

/// Returns the butterfly layers of algorithm 41 from distance `first` down to 1, on one
/// aligned block of `2 * first` coefficients per zeta starting at `ZETAS[m]`.
/// `first = 128, m = 1` is the whole transform; smaller blocks serve streaming
/// callers that hold only a part of the polynomial.
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
#[inline(always)]
pub fn ntt_layers(w: &mut [i32], first: usize, m: usize) {
    if crate::params::SMALL {
        return layers_any(w, first, m, false);
    }
    let mut len = first;
    let mut base = m;
    while len > 0 {
        for (block, &zeta) in w.chunks_exact_mut(2 * len).zip(&ZETAS[base..]) {
            let (low, high) = block.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                let t = montgomery_mul(zeta, *b);
                *b = *a - t;
                *a += t;
            }
        }
        len /= 2;
        base *= 2;
    }
}

/// The layers of both transforms, from distance `len` on, with the zetas from `ZETAS[m]` on; those of
/// the inverse end at `ZETAS[2 m - 1]`, and are used backwards.
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
#[inline(never)]
fn layers_any(w: &mut [i32], mut len: usize, mut m: usize, inverse: bool) {
    while (1..w.len()).contains(&len) {
        let mut rest = &mut *w;
        let mut n = if inverse { 2 * m - 1 } else { m };
        while let Some((block, others)) = rest.split_at_mut_checked(2 * len) {
            let zeta = zeta(n);
            let (low, high) = block.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                if inverse {
                    let t = *a;
                    *a = t + *b;
                    *b = montgomery_mul(zeta, *b - t);
                } else {
                    let t = montgomery_mul(zeta, *b);
                    *b = *a - t;
                    *a += t;
                }
            }
            rest = others;
            n = if inverse { n - 1 } else { n + 1 };
        }
        (len, m) = if inverse {
            (2 * len, m / 2)
        } else {
            (len / 2, 2 * m)
        };
    }
}

/// `ZETAS[n]`, or where [`SMALL`](crate::params::SMALL) holds a number equal to it modulo q.
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
#[inline(always)]
pub(crate) fn zeta(n: usize) -> i32 {
    if crate::params::SMALL {
        zeta_of_parts(n)
    } else {
        ZETAS[n % N]
    }
}

/// Returns the product of two of 32 zetas. Bounds: |out| < q.
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
#[inline(always)]
fn zeta_of_parts(n: usize) -> i32 {
    static PARTS: [[i32; 16]; 2] = {
        let mut parts = [[0; 16]; 2];
        let mut n = 0;
        while n < 16 {
            parts[0][n] = ZETAS[n];
            parts[1][n] = ZETAS[16 * n];
            n += 1;
        }
        parts
    };
    montgomery_mul(PARTS[0][n % 16], PARTS[1][n / 16 % 16])
}

/// Computes algorithm 42 NTT^-1, times 2^32.
///
/// Bounds: |in| < q gives |out| < q; before the last multiplication
/// |w| < 256 q < 2^31. Constant time.
#[inline(always)]
pub fn inv_ntt(src: &NttPoly, dst: &mut Poly) {
    #[cfg(mldsa_armv7m)]
    armv7m::inv_ntt(&src.0, &mut dst.0);
    #[cfg(not(mldsa_armv7m))]
    {
        dst.0.copy_from_slice(&src.0);
        inverse_layers(&mut dst.0);
    }
}

/// Computes [`inv_ntt`] on a bare array, for callers that hold a single polynomial.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub fn inv_ntt_in_place(w: &mut [i32; N]) {
    #[cfg(mldsa_armv7m)]
    armv7m::inv_ntt_in_place(w);
    #[cfg(not(mldsa_armv7m))]
    inverse_layers(w);
}

/// Computes algorithm 42 in plain Rust: [`inv_ntt_in_place`] where there is nothing faster.
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
#[inline(always)]
pub fn inverse_layers(w: &mut [i32; N]) {
    if crate::params::SMALL {
        layers_any(w, 1, N / 2, true);
    }
    let mut len = if crate::params::SMALL { N } else { 1 };
    while len < N {
        // Blocks of this layer use zetas[m], m falling from N/len - 1 to N/(2 len).
        let zetas = ZETAS[N / (2 * len)..N / len].iter().rev();
        for (block, &zeta) in w.chunks_exact_mut(2 * len).zip(zetas) {
            let (low, high) = block.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                let t = *a;
                *a = t + *b;
                *b = montgomery_mul(zeta, *b - t);
            }
        }
        len *= 2;
    }
    for a in w.iter_mut() {
        *a = montgomery_mul(INV_256_MONT, *a);
    }
}

/// Algorithms 44 AddNTT and 45 MultiplyNTT as one row of algorithm
/// 48 MatrixVectorNTT: `sum of a[j] b[j] 2^-32`. Vectors are added and scaled
/// (algorithms 46 AddVectorNTT and 47 ScalarVectorNTT) one polynomial at a time.
///
/// Bounds: the sum of all |a b| under 2^31 q = 256 q^2 gives |out| < q; so do
/// 8 terms with |a| < q and |b| < 9q. Constant time.
#[inline(always)]
pub fn row_product(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
    #[cfg(mldsa_armv7m)]
    armv7m::row_product(a, b, out);
    #[cfg(not(mldsa_armv7m))]
    row_product_portable(a, b, out);
}

/// The same in plain Rust.
#[cfg(any(not(mldsa_armv7m), feature = "unstable-internals"))]
#[inline(always)]
pub fn row_product_portable(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
    for (n, out) in out.0.iter_mut().enumerate() {
        let terms = a.iter().zip(b);
        let sum = terms.fold(0, |sum, (a, b)| sum + i64::from(a.0[n]) * i64::from(b.0[n]));
        *out = montgomery_reduce(sum);
    }
}

/// Computes one coefficient of `a b + add`, all times 2^-32.
///
/// Bounds: |a b + add| < 2^31 q gives |out| < q. Constant time.
#[inline(always)]
pub fn multiply_add(a: i32, b: i32, add: i32) -> i32 {
    montgomery_reduce(i64::from(add) + i64::from(a) * i64::from(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::array::Element;
    use crate::random::Random;
    use crate::ring::field::canonical;

    fn schoolbook(a: &[i32; N], b: &[i32; N]) -> [i32; N] {
        let mut out = [0i64; N];
        for (i, &a) in a.iter().enumerate() {
            for (j, &b) in b.iter().enumerate() {
                let product = i64::from(a) * i64::from(b) % i64::from(Q);
                let (n, sign) = if i + j < N {
                    (i + j, 1)
                } else {
                    (i + j - N, -1)
                };
                out[n] = (out[n] + sign * product) % i64::from(Q);
            }
        }
        out.map(|a| a.rem_euclid(i64::from(Q)) as i32)
    }

    #[test]
    fn products_match_schoolbook_multiplication() {
        let mut random = Random::new(1);
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            let (a, b) = (random.poly(Q - 1), random.poly((1 << 19) - 1));
            let (mut a_hat, mut b_hat, mut sum) = (NttPoly::ZERO, NttPoly::ZERO, NttPoly::ZERO);
            let mut product = Poly::ZERO;
            ntt(&Poly(a), &mut a_hat);
            a_hat.0 = a_hat.0.map(canonical);
            ntt(&Poly(b), &mut b_hat);
            row_product(&[a_hat], &[b_hat], &mut sum);
            inv_ntt(&sum, &mut product);
            assert_eq!(product.0.map(canonical), schoolbook(&a, &b));
        }
    }

    #[test]
    fn one_loop_for_both_transforms() {
        for (n, &zeta) in ZETAS.iter().enumerate() {
            assert_eq!(canonical(zeta_of_parts(n)), canonical(zeta));
        }
        let w = Random::new(3).poly(Q - 1);
        let (mut a, mut b) = (w, w);
        ntt_layers(&mut a, N / 2, 1);
        layers_any(&mut b, N / 2, 1, false);
        assert_eq!(a.map(canonical), b.map(canonical));
        a = a.map(canonical);
        b = a;
        inverse_layers(&mut a);
        layers_any(&mut b, 1, N / 2, true);
        b = b.map(|b| montgomery_mul(INV_256_MONT, b));
        assert_eq!(a.map(canonical), b.map(canonical));
    }

    #[test]
    fn transform_evaluates_at_the_odd_powers_of_zeta() {
        // Algorithm 41 in its defining form: w_hat[n] = w(zeta^(2 brv(n) + 1)).
        let w = Random::new(7).poly(Q - 1);
        let mut w_hat = NttPoly::ZERO;
        ntt(&Poly(w), &mut w_hat);
        for n in 0..N {
            let exponent = 2 * u32::from((n as u8).reverse_bits()) + 1;
            let mut root = 1i64;
            for _ in 0..exponent {
                root = root * ZETA % i64::from(Q);
            }
            let mut value = 0i64;
            for &coefficient in w.iter().rev() {
                value = (value * root + i64::from(coefficient)) % i64::from(Q);
            }
            assert_eq!(
                i64::from(canonical(w_hat.0[n])),
                value.rem_euclid(i64::from(Q))
            );
        }
    }
}
