//! The schedules of this backend on intervals: every intermediate of every
//! possible input is followed, and none leaves its word.

mod controls;

use super::ntt::{Nearest, Shoup, inv_ntt_registers, ntt_registers, reduce, to_standard_order};
use super::product::{Sums, split};
use super::registers::Aligned;
use super::registers::EvenLanes;
use super::secret_rows::back;
use super::tests::on_this_cpu;
use super::unpack::{Range, load, minus_t1_2d, response, store};
use super::vector::{Vector, Wide};
use super::*;
use crate::params::N;
use crate::params::Q;
use crate::random::Random;
use crate::ring::ntt::Coefficient;
use crate::ring::ntt::bounds::{Interval, Q64};
use core::arch::x86_64::*;

/// Sixteen intervals of `i32`.
#[derive(Clone, Copy)]
struct Intervals([Interval; 16]);

impl Intervals {
    fn new(low: i64, high: i64) -> Self {
        Self([Interval::new(low, high); 16])
    }

    fn point(value: i32) -> Self {
        Self::new(value.into(), value.into())
    }

    fn map(self, f: impl Fn(Interval) -> Interval) -> Self {
        Self(self.0.map(f))
    }

    fn both(self, b: Self, f: impl Fn(Interval, Interval) -> Interval) -> Self {
        Self(core::array::from_fn(|n| f(self.0[n], b.0[n])))
    }

    /// Lanes of the pair, `b` from 16 on.
    fn pick(self, b: Self, lane: impl Fn(usize) -> usize) -> Self {
        Self(core::array::from_fn(|n| match lane(n) {
            from @ 0..16 => self.0[from],
            from => b.0[from - 16],
        }))
    }
}

fn constant(a: Interval) -> i64 {
    assert_eq!(a.low, a.high);
    a.low
}

impl Vector for Intervals {
    type Sum = [(i64, i64); 16];

    fn product(self, b: Self) -> Self::Sum {
        self.accumulate(b, [Interval::NO_SUM; 16])
    }

    fn accumulate(self, b: Self, sum: Self::Sum) -> Self::Sum {
        core::array::from_fn(|n| Interval::accumulate(sum[n], self.0[n], b.0[n]))
    }

    fn montgomery(self, sum: Self::Sum, _: EvenLanes) -> Self {
        Self(sum.map(Interval::reduce))
    }

    fn splat(self, value: i32) -> Self {
        Self::point(value)
    }

    fn load(self, values: &Aligned<[i32; 16]>) -> Self {
        Self(
            values
                .0
                .map(|value| Interval::new(value.into(), value.into())),
        )
    }

    fn add(self, b: Self) -> Self {
        self.both(b, Interval::plus)
    }

    fn sub(self, b: Self) -> Self {
        self.both(b, Interval::minus)
    }

    fn mul(self, factor: i32) -> Self {
        let factor = i64::from(factor);
        assert!(factor > 0);
        self.map(|a| Interval::new(a.low * factor, a.high * factor))
    }

    /// With `w 2^32 = w' q + e` and `f = b w' mod 2^32` the result is
    /// `(b e + f q) / 2^32`.
    fn shoup(self, w: Self, w_even: Self, w_odd: Self, _: EvenLanes) -> Self {
        Self(core::array::from_fn(|n| {
            let quotient = constant(if n % 2 == 0 {
                w_even.0[n]
            } else {
                w_odd.0[n - 1]
            });
            let e = (constant(w.0[n]) << 32) - quotient * Q64;
            assert!(2 * e.abs() <= Q64, "the quotient of another factor");
            let ends = [self.0[n].low * e, self.0[n].high * e];
            let f = (1 << 32) - 1;
            Interval::new(
                (ends[0].min(ends[1]) + f) >> 32,
                (ends[0].max(ends[1]) + f * Q64) >> 32,
            )
        }))
    }

    type Ratio = [f32; 16];

    fn splat_ratio(self, value: f32) -> [f32; 16] {
        [value; 16]
    }

    fn load_ratio(self, values: &Aligned<[f32; 16]>) -> [f32; 16] {
        values.0
    }

    /// The quotient is off by a half, and by `2^-24` of itself for each of three
    /// roundings: of b (exact below 2^24), of the ratio, of their product.
    fn nearest(self, w: Self, ratio: [f32; 16]) -> Self {
        Self(core::array::from_fn(|n| {
            let exact = constant(w.0[n]) as f64 / f64::from(Q);
            let error = (f64::from(ratio[n]) - exact).abs();
            assert!(
                error <= exact.abs() / f64::from(1 << 24),
                "the ratio of another factor"
            );
            let quotient = self.0[n].reach() as f64 * exact.abs();
            assert!(quotient < f64::from(1 << 30), "beyond 31 bits");
            let reach = (0.5 + quotient * 3.001 / f64::from(1 << 24)) * f64::from(Q);
            Interval::new(-reach.ceil() as i64, reach.ceil() as i64)
        }))
    }

    fn scaled_ends(self, b: Self, _: [(i32, u32); 2], _: EvenLanes) -> (Self, Self) {
        for end in [self.add(b), self.sub(b)].iter().flat_map(|end| end.0) {
            assert!(end.reach() <= 256 * Q64, "too far for `scaled_ends`");
        }
        (Self::new(0, Q64 - 1), Self::new(0, Q64 - 1))
    }

    fn canonical(self) -> Self {
        self.map(|a| {
            assert!(-Q64 < a.low && a.high < 2 * Q64, "too far for `canonical`");
            Interval::new(0, Q64 - 1)
        })
    }

    fn low_dwords(self, b: Self) -> Self {
        self.pick(b, |n| n / 4 * 4 + n % 4 / 2 + n % 2 * 16)
    }

    fn high_dwords(self, b: Self) -> Self {
        self.pick(b, |n| n / 4 * 4 + 2 + n % 4 / 2 + n % 2 * 16)
    }

    fn low_qwords(self, b: Self) -> Self {
        self.pick(b, |n| n / 4 * 4 + n % 2 + n % 4 / 2 * 16)
    }

    fn high_qwords(self, b: Self) -> Self {
        self.pick(b, |n| n / 4 * 4 + 2 + n % 2 + n % 4 / 2 * 16)
    }

    fn dwords<const MASK: i32>(self, b: Self) -> Self {
        self.pick(b, |n| {
            n / 4 * 4 + (MASK as usize >> (n % 4 * 2) & 3) + n % 4 / 2 * 16
        })
    }

    fn blocks<const MASK: i32>(self, b: Self) -> Self {
        self.pick(b, |n| {
            (MASK as usize >> (n / 4 * 2) & 3) * 4 + n % 4 + n / 8 * 16
        })
    }

    fn permute_dwords(self, order: &Aligned<[i32; 16]>, b: Self) -> Self {
        self.pick(b, |n| order.0[n] as usize)
    }

    fn permute_qwords(self, order: &Aligned<[i64; 8]>, b: Self) -> Self {
        self.pick(b, |n| order.0[n / 2] as usize * 2 + n % 2)
    }
}

/// Eight intervals of `u64`.
#[derive(Clone, Copy)]
struct WideIntervals([(u128, u128); 8]);

impl WideIntervals {
    const ZERO: Self = Self([(0, 0); 8]);

    fn checked(low: u128, high: u128) -> (u128, u128) {
        assert!(low <= high && high < 1 << 64, "beyond 64 bits");
        (low, high)
    }

    /// Lanes `first`, `first + 2` and so on.
    fn lanes(v: Intervals, first: usize) -> Self {
        Self(core::array::from_fn(|n| {
            let a = v.0[2 * n + first];
            assert!(a.low >= 0, "an entry of unsigned products");
            (a.low as u128, a.high as u128)
        }))
    }

    fn both(self, b: Self, f: impl Fn((u128, u128), (u128, u128)) -> (u128, u128)) -> Self {
        Self(core::array::from_fn(|n| f(self.0[n], b.0[n])))
    }
}

impl Wide for WideIntervals {
    type Narrow = Intervals;

    fn broadcast(self, value: u32) -> Self {
        Self([(value.into(), value.into()); 8])
    }

    fn even(v: Intervals) -> Self {
        Self::lanes(v, 0)
    }

    fn odd(v: Intervals) -> Self {
        Self::lanes(v, 1)
    }

    fn plus(self, b: Self) -> Self {
        self.both(b, |a, b| Self::checked(a.0 + b.0, a.1 + b.1))
    }

    fn low_product(self, b: Self) -> Self {
        let low = |a: (u128, u128)| {
            if a.1 < 1 << 32 { a } else { (0, (1 << 32) - 1) }
        };
        self.both(b, |a, b| {
            Self::checked(low(a).0 * low(b).0, low(a).1 * low(b).1)
        })
    }

    fn accumulate(self, a: Self, b: Self) -> Self {
        let products = a.both(b, |a, b| {
            assert!(a.1.max(b.1).max(a.1 * b.1) < 1 << 52, "beyond 52 bits");
            (a.0 * b.0, a.1 * b.1)
        });
        self.plus(products)
    }

    fn upper_halves(even: Self, odd: Self) -> Intervals {
        Intervals(core::array::from_fn(|n| {
            let a = [even, odd][n % 2].0[n / 2];
            Interval::new((a.0 >> 32) as i64, (a.1 >> 32) as i64)
        }))
    }
}

/// One row: `terms` products of a matrix entry and a vector entry, and the last.
fn row(terms: usize, entry: Intervals, last: (Intervals, Intervals)) -> Intervals {
    let biased = split(Intervals::new(0, 22 * Q64 - 1));
    let mut sums = Sums::new(WideIntervals::ZERO);
    for _ in 0..terms {
        sums = sums.add(split(entry), biased);
    }
    sums.add(split(last.0), split(last.1)).reduce()
}

type Sixteen = [Intervals; 16];

/// Every lane of the registers within `low < a < high`.
fn within(v: &Sixteen, low: i64, high: i64) {
    for a in v.iter().flat_map(|v| v.0) {
        assert!(low < a.low && a.high < high, "{a:?} in ({low}, {high})");
    }
}

fn transformed(input: Intervals) -> Sixteen {
    let reach = input.0[0].reach();
    let mut v = [input; 16];
    ntt_registers(&mut v);
    within(&v, -reach - 10 * Q64, reach + 10 * Q64);
    v
}

/// The steps of the rows of a commitment, from the fields of a signature and a public
/// key to w.
#[test]
fn no_intermediate_leaves_its_word() {
    for gamma1 in [1 << 17, 1 << 19] {
        let z = response(Intervals::new(0, 2 * gamma1 - 1), gamma1 as i32);
        within(&[z; 16], -gamma1, gamma1 + 1);
        for a in transformed(z) {
            within(&[Range::Biased.of(a); 16], 0, 22 * Q64);
        }
    }
    let t1 = minus_t1_2d(Intervals::new(0, (1 << 10) - 1));
    within(&[t1; 16], -Q64, 1);
    for a in transformed(t1)
        .into_iter()
        .chain(transformed(Intervals::new(-1, 1)))
    {
        within(&[Range::Biased.of(a); 16], 0, 22 * Q64);
        within(
            &[Range::Reduced.of(a); 16],
            3 * Q64 / 4 - 1,
            9 * Q64 / 4 + 1,
        );
        within(&[Range::Canonical.of(a); 16], -1, Q64);
    }
    // As far as the functions promise.
    transformed(Intervals::new(
        10 * Q64 - i64::from(i32::MAX),
        i64::from(i32::MAX) - 10 * Q64,
    ));
    let reduced = reduce(Intervals::new(-i64::from(i32::MAX), i64::from(i32::MAX)));
    within(&[reduced; 16], -Q64 / 4 - 1, 5 * Q64 / 4 + 1);

    // With a prepared key, and with t1 as it comes by a reduced challenge.
    let canonical = Intervals::new(0, Q64 - 1);
    let biased = Intervals::new(0, 22 * Q64 - 1);
    let reduced = Intervals::new(3 * Q64 / 4, 9 * Q64 / 4);
    for last in [(canonical, biased), (biased, reduced)] {
        within(&[row(7, canonical, last); 16], -Q64 - 1, Q64);
    }

    let mut w = [Intervals::new(-Q64, Q64); 16];
    inv_ntt_registers::<_, Nearest>(&mut w);
    within(&w, -1, Q64);
}

/// The steps on secrets, in integers: from packed secrets and masks to products with A
/// and with the challenge, and back.
#[test]
fn no_intermediate_of_a_secret_leaves_its_word() {
    let lanes = EvenLanes::new();
    let largest = |input: Intervals| {
        let reach = |v: &Intervals| v.0.iter().map(|a| a.reach()).max();
        let reach = transformed(input).iter().filter_map(reach).max().unwrap();
        assert!(reach < 11 * Q64);
        Intervals::new(-reach, reach)
    };
    let back_from = |v: Intervals| {
        within(&[v; 16], -Q64, Q64);
        let mut v = [v; 16];
        back(&mut v);
        within(&v, -1, Q64);
    };
    let secret = largest(Intervals::new(-4, 4));
    let t0 = largest(Intervals::new(1 - (1 << 12), 1 << 12));
    let mask = largest(Intervals::new(1 - (1 << 19), 1 << 19));
    let challenge = largest(Intervals::new(-1, 1));
    // As far as the entries promise.
    let any = Intervals::new(1 - 11 * Q64, 11 * Q64 - 1);
    let entry = Intervals::new(0, Q64 - 1);
    for b in [secret, mask, any] {
        let sum = (1..8).fold(entry.product(b), |sum, _| entry.accumulate(b, sum));
        back_from(entry.montgomery(sum, lanes));
    }
    for (c, s) in [(challenge, secret), (challenge, t0), (any, any)] {
        back_from(c.montgomery(c.product(s), lanes));
        for y in [mask, any] {
            let y = y.product(y.splat(1));
            back_from(c.montgomery(c.accumulate(s, y), lanes));
        }
    }
}

/// That the intervals follow the registers: from single values they contain what
/// the CPU computes, lane by lane.
#[test]
fn intervals_contain_what_the_registers_hold() {
    on_this_cpu!({
        let mut random = Random::new(9);
        let points = |poly: &[i32; N]| -> Sixteen {
            core::array::from_fn(|i| {
                Intervals(core::array::from_fn(|n| {
                    let value = poly[16 * i + n].into();
                    Interval::new(value, value)
                }))
            })
        };
        let check = |v: &[__m512i; 16], intervals: &Sixteen| {
            let mut out = [0; N];
            store(v, out.as_mut_ptr());
            for (a, interval) in out.iter().zip(intervals.iter().flat_map(|v| v.0)) {
                let a = i64::from(*a);
                assert!(interval.low <= a && a <= interval.high, "{a} {interval:?}");
            }
        };
        for _ in 0..50 {
            // Rearrangements move points, which have to agree exactly.
            let a = random.poly(Q - 1);
            let (mut v, mut intervals) = (load(&a), points(&a));
            fn rearranged<V: Vector>(v: &mut [V; 16]) {
                let (a, b) = (v[0], v[1]);
                v[0] = a.low_dwords(b);
                v[1] = a.high_dwords(b);
                v[2] = a.low_qwords(b);
                v[3] = a.high_qwords(b);
                v[4] = a.dwords::<0x88>(b);
                v[5] = a.dwords::<0xdd>(b);
                v[6] = a.blocks::<0x44>(b);
                v[7] = a.blocks::<0xee>(b);
                v[8] = a.blocks::<0x88>(b);
                v[9] = a.blocks::<0xdd>(b);
                (v[10], v[11]) = to_standard_order(a, b);
                v[12] = a.permute_qwords(&Aligned([0, 1, 8, 9, 2, 3, 10, 11]), b);
                v[13] = a.mul(5).sub(b).add(a.splat(7));
                v[14] = a.canonical();
            }
            rearranged(&mut v);
            rearranged(&mut intervals);
            check(&v, &intervals);

            let a = random.poly(i32::MAX - 10 * Q);
            let (mut v, mut intervals) = (load(&a), points(&a));
            ntt_registers(&mut v);
            ntt_registers(&mut intervals);
            check(&v, &intervals);

            let a = random.poly(Q);
            let (mut v, mut intervals) = (load(&a), points(&a));
            inv_ntt_registers::<_, Shoup>(&mut v);
            inv_ntt_registers::<_, Shoup>(&mut intervals);
            check(&v, &intervals);
            let (mut v, mut intervals) = (load(&a), points(&a));
            inv_ntt_registers::<_, Nearest>(&mut v);
            inv_ntt_registers::<_, Nearest>(&mut intervals);
            check(&v, &intervals);
            check(&v.map(reduce), &intervals.map(reduce));

            // Signed sums of products.
            fn signed<V: Vector>(a: &[V; 16], b: &[V; 16]) -> V {
                let sum = a[0].product(b[0]);
                let sum = (1..8).fold(sum, |sum, n| a[n].accumulate(b[n], sum));
                a[0].montgomery(sum, EvenLanes::new())
            }
            let (a, b) = (random.poly(Q - 1), random.poly(11 * Q - 1));
            let v = signed(&load(&a), &load(&b));
            check(&[v; 16], &[signed(&points(&a), &points(&b)); 16]);

            // Sums of products, from canonical and biased entries.
            let entries =
                |random: &mut Random, bound: i32| random.poly(bound / 2).map(|a| a + bound / 2);
            let (a, b) = (
                entries(&mut random, Q - 1),
                entries(&mut random, 22 * Q - 2),
            );
            fn summed<W: Wide>(zero: W, a: &[W::Narrow; 16], b: &[W::Narrow; 16]) -> W::Narrow {
                (0..8)
                    .fold(Sums::new(zero), |sums, n| {
                        sums.add(split(a[n]), split(b[n]))
                    })
                    .reduce()
            }
            let v = summed(_mm512_setzero_si512(), &load(&a), &load(&b));
            let intervals = summed(WideIntervals::ZERO, &points(&a), &points(&b));
            check(&[v; 16], &[intervals; 16]);
        }
    });
}
