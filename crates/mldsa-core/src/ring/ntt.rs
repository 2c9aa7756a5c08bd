//! The number-theoretic transform (FIPS 204 section 7.5), portable bodies.
//!
//! Products in the NTT domain carry a factor 2^-32 (Montgomery), which
//! [`inv_ntt`] takes out again: `inv_ntt(product(ntt(a), ntt(b))) = a b`.

use crate::params::{N, Q};
use crate::ring::field::{montgomery_mul, montgomery_reduce};
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
const INV_256_MONT: i32 = {
    let q = Q as i64;
    let r = (1i64 << 32) % q;
    // 256 * 8347681 = 1 mod q.
    (r * r % q * 8_347_681 % q) as i32
};

/// Coefficient of the schedules below. The library has `i32`; the
/// tests have intervals, with which the same schedules prove their bounds.
pub trait Coefficient: Copy {
    /// A sum of products.
    type Sum: Copy;
    /// The sum of none.
    const NO_SUM: Self::Sum;
    /// `self + b`.
    fn add(self, b: Self) -> Self;
    /// `self - b`.
    fn sub(self, b: Self) -> Self;
    /// `zeta self 2^-32 mod q`.
    fn scale(self, zeta: i32) -> Self;
    /// `sum + a b`.
    fn accumulate(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    /// `sum + a`.
    fn accumulate_one(sum: Self::Sum, a: Self) -> Self::Sum;
    /// `sum 2^-32 mod q`.
    fn reduce(sum: Self::Sum) -> Self;
}

impl Coefficient for i32 {
    type Sum = i64;
    const NO_SUM: i64 = 0;

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        self + b
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self - b
    }

    #[inline(always)]
    fn scale(self, zeta: i32) -> Self {
        montgomery_mul(zeta, self)
    }

    #[inline(always)]
    fn accumulate(sum: i64, a: Self, b: Self) -> i64 {
        sum + i64::from(a) * i64::from(b)
    }

    #[inline(always)]
    fn accumulate_one(sum: i64, a: Self) -> i64 {
        sum + i64::from(a)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> Self {
        montgomery_reduce(sum)
    }
}

/// Algorithm 41 NTT.
///
/// Bounds: |in| < 2^31 - 8q gives |out| < max|in| + 8q, one q per layer.
/// Constant time.
#[inline(always)]
pub fn ntt(src: &Poly, dst: &mut NttPoly) {
    dst.0.copy_from_slice(&src.0);
    ntt_layers(&mut dst.0, N / 2, 1);
}

/// The butterfly layers of algorithm 41 from distance `first` down to 1, on one
/// aligned block of `2 * first` coefficients per zeta starting at `ZETAS[m]`.
/// `first = 128, m = 1` is the whole transform; smaller blocks serve streaming
/// callers that hold only a part of the polynomial.
#[inline(always)]
pub fn ntt_layers<C: Coefficient>(w: &mut [C], first: usize, m: usize) {
    let mut len = first;
    let mut base = m;
    while len > 0 {
        for (block, &zeta) in w.chunks_exact_mut(2 * len).zip(&ZETAS[base..]) {
            let (low, high) = block.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                let t = b.scale(zeta);
                *b = a.sub(t);
                *a = a.add(t);
            }
        }
        len /= 2;
        base *= 2;
    }
}

/// Algorithm 42 NTT^-1, times 2^32.
///
/// Bounds: |in| < q gives |out| < q; before the last multiplication
/// |w| < 256 q < 2^31. Constant time.
#[inline(always)]
pub fn inv_ntt(src: &NttPoly, dst: &mut Poly) {
    dst.0.copy_from_slice(&src.0);
    inv_ntt_in_place(&mut dst.0);
}

/// [`inv_ntt`] on a bare array, for callers that hold a single polynomial.
#[inline(always)]
pub fn inv_ntt_in_place<C: Coefficient>(w: &mut [C; N]) {
    let mut len = 1;
    while len < N {
        // Blocks of this layer use zetas[m], m falling from N/len - 1 to N/(2 len).
        let zetas = ZETAS[N / (2 * len)..N / len].iter().rev();
        for (block, &zeta) in w.chunks_exact_mut(2 * len).zip(zetas) {
            let (low, high) = block.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                let t = *a;
                *a = t.add(*b);
                *b = b.sub(t).scale(zeta);
            }
        }
        len *= 2;
    }
    for a in w.iter_mut() {
        *a = a.scale(INV_256_MONT);
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
    for (n, out) in out.0.iter_mut().enumerate() {
        *out = row_coefficient(a.iter().zip(b).map(|(a, b)| (a.0[n], b.0[n])));
    }
}

/// One coefficient of [`row_product`].
#[inline(always)]
fn row_coefficient<C: Coefficient>(terms: impl Iterator<Item = (C, C)>) -> C {
    let mut sum = C::NO_SUM;
    for (a, b) in terms {
        sum = C::accumulate(sum, a, b);
    }
    C::reduce(sum)
}

/// One coefficient of `a b + add`, all times 2^-32.
///
/// Bounds: |a b + add| < 2^31 q gives |out| < q. Constant time.
#[inline(always)]
pub fn multiply_add<C: Coefficient>(a: C, b: C, add: C) -> C {
    C::reduce(C::accumulate(C::accumulate_one(C::NO_SUM, add), a, b))
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
        for _ in 0..20 {
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

/// Interval arithmetic over the schedules above, which are generic for it: every
/// intermediate of every possible input is followed, and none leaves its word.
#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub(crate) mod bounds {
    use super::*;
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, Params};

    /// All integers from `low` to `high`; each is an `i32`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) struct Interval {
        pub(crate) low: i64,
        pub(crate) high: i64,
    }

    pub(crate) const Q64: i64 = Q as i64;

    impl Interval {
        pub(crate) fn new(low: i64, high: i64) -> Self {
            assert!(low <= high && i64::from(i32::MIN) <= low && high <= i64::from(i32::MAX));
            Self { low, high }
        }

        fn symmetric(bound: i64) -> Self {
            Self::new(-bound, bound)
        }

        pub(crate) fn plus(self, b: Self) -> Self {
            Self::new(self.low + b.low, self.high + b.high)
        }

        pub(crate) fn minus(self, b: Self) -> Self {
            Self::new(self.low - b.high, self.high - b.low)
        }

        /// The largest absolute value.
        pub(crate) fn reach(self) -> i64 {
            self.low.abs().max(self.high.abs())
        }
    }

    impl Coefficient for Interval {
        /// Each end is an `i64`.
        type Sum = (i64, i64);
        const NO_SUM: (i64, i64) = (0, 0);

        fn add(self, b: Self) -> Self {
            self.plus(b)
        }

        fn sub(self, b: Self) -> Self {
            self.minus(b)
        }

        fn scale(self, zeta: i32) -> Self {
            let zeta = i64::from(zeta);
            Self::reduce(Self::accumulate((0, 0), self, Self::new(zeta, zeta)))
        }

        fn accumulate(sum: (i64, i64), a: Self, b: Self) -> (i64, i64) {
            let products = [
                a.low * b.low,
                a.low * b.high,
                a.high * b.low,
                a.high * b.high,
            ];
            let low = products
                .into_iter()
                .min()
                .and_then(|low| sum.0.checked_add(low));
            let high = products
                .into_iter()
                .max()
                .and_then(|high| sum.1.checked_add(high));
            (low.unwrap(), high.unwrap())
        }

        fn accumulate_one(sum: (i64, i64), a: Self) -> (i64, i64) {
            (
                sum.0.checked_add(a.low).unwrap(),
                sum.1.checked_add(a.high).unwrap(),
            )
        }

        fn reduce(sum: (i64, i64)) -> Self {
            let contract = Q64 << 31;
            assert!(
                -contract < sum.0 && sum.1 < contract,
                "beyond the contract: {sum:?}"
            );
            // The body subtracts t q with any -2^31 <= t < 2^31.
            let low = sum.0.checked_sub(((1 << 31) - 1) * Q64).unwrap();
            let high = sum.1.checked_add((1 << 31) * Q64).unwrap();
            // As reduced: multiples of 2^32.
            Self::new((low + (1 << 32) - 1) >> 32, high >> 32)
        }
    }

    fn transformed(input: Interval) -> Interval {
        let mut w = [input; N];
        ntt_layers(&mut w, N / 2, 1);
        let bound = w.iter().map(|w| w.reach()).max().unwrap();
        assert!(bound < input.reach() + 8 * Q64, "as `ntt` says");
        Interval::symmetric(bound)
    }

    fn transformed_back(input: Interval) -> Interval {
        assert!(input.reach() < Q64, "as `inv_ntt` asks");
        let mut w = [input; N];
        inv_ntt_in_place(&mut w);
        let bound = w.iter().map(|w| w.reach()).max().unwrap();
        assert!(bound < Q64, "as `inv_ntt` says");
        Interval::symmetric(bound)
    }

    fn row(terms: &[(Interval, Interval)]) -> Interval {
        let product = row_coefficient(terms.iter().copied());
        assert!(product.reach() < Q64, "as `row_product` says");
        product
    }

    /// Range of the argument of `field::canonical`.
    fn canonical(a: Interval) -> Interval {
        assert!(a.reach() < (1 << 31) - (1 << 22));
        Interval::new(0, Q64 - 1)
    }

    /// The schedules of key generation, signing and verification, end to end.
    fn scheme(p: &Params) {
        let a_hat = Interval::new(0, Q64 - 1);
        let gamma1 = i64::from(p.gamma1());
        let s_hat = transformed(Interval::symmetric(p.eta.into()));
        let t0_hat = transformed(Interval::new(1 - (1 << 12), 1 << 12));
        let y_hat = transformed(Interval::new(1 - gamma1, gamma1));
        let c_hat = transformed(Interval::symmetric(1));
        for hat in [s_hat, t0_hat, y_hat, c_hat] {
            assert!(hat.reach() < 9 * Q64);
        }

        // t = A s1 + s2; w = A y.
        let t = transformed_back(row(&[(a_hat, s_hat)].repeat(p.l)));
        canonical(t.add(Interval::symmetric(p.eta.into())));
        let w = transformed_back(row(&[(a_hat, y_hat)].repeat(p.l)));
        let w = canonical(w);

        // c s1 + y, w - c s2 and w - c s2 + c t0, the products centred.
        transformed_back(multiply_add(c_hat, s_hat, y_hat));
        let centred = Interval::symmetric(Q64 / 2);
        for hat in [s_hat, t0_hat] {
            transformed_back(row(&[(c_hat, hat)]));
        }
        canonical(w.sub(centred));
        canonical(w.add(centred));

        // A z - c t1 2^13 as one row; the last factor is canonical in prepared keys.
        let t1_hat = transformed(Interval::new(0, ((1 << 10) - 1) << 13));
        let minus_t1_hat = canonical(Interval::new(0, 0).sub(t1_hat));
        let z_hat = transformed(Interval::symmetric(gamma1 - i64::from(p.beta()) - 1));
        assert!(z_hat.reach() < 9 * Q64);
        let mut terms = [(a_hat, z_hat)].repeat(p.l);
        terms.push((minus_t1_hat, c_hat));
        transformed_back(row(&terms));
    }

    #[test]
    fn no_intermediate_leaves_its_word() {
        for p in [&MlDsa44::PARAMS, &MlDsa65::PARAMS, &MlDsa87::PARAMS] {
            scheme(p);
        }
        // Bounds that the functions promise to callers in other crates.
        transformed(Interval::symmetric((1 << 31) - 1 - 8 * Q64));
        transformed_back(Interval::symmetric(Q64 - 1));
        row(&[(
            Interval::symmetric(Q64 - 1),
            Interval::symmetric(9 * Q64 - 1),
        ); 8]);
    }

    // Planted: what the bounds exclude is noticed.

    #[test]
    #[should_panic(expected = "i32::MAX")]
    fn a_transform_of_too_much_is_noticed() {
        transformed(Interval::symmetric((1 << 31) - 1));
    }

    #[test]
    #[should_panic(expected = "i32::MAX")]
    fn an_inverse_transform_without_reduction_is_noticed() {
        inv_ntt_in_place(&mut [Interval::symmetric(2 * Q64); N]);
    }

    #[test]
    #[should_panic(expected = "contract")]
    fn a_row_of_too_many_terms_is_noticed() {
        row(&[(
            Interval::symmetric(Q64 - 1),
            Interval::symmetric(9 * Q64 - 1),
        ); 29]);
    }
}
