//! The schedules of this backend on intervals: every intermediate of every possible
//! input is followed, and none leaves its word.

use super::ntt::{
    INNER, INVERSE_INNER, Order, Private, Standard, get, inner_levels, inv_ntt,
    inverse_inner_levels, inverse_outer_levels, ntt, outer_levels, put, reduce, reorder,
};
use super::tests::on_this_cpu;
use super::unpack::response;
use super::vector::{Aligned, Vector};
use super::*;
use crate::params::{D, N, Q};
use crate::random::Random;
use crate::ring::ntt::Coefficient;
use crate::ring::ntt::bounds::{Interval, Q64};

/// Eight intervals of `i32`.
#[derive(Clone, Copy)]
struct Intervals([Interval; 8]);

impl Intervals {
    fn new(low: i64, high: i64) -> Self {
        Self([Interval::new(low, high); 8])
    }

    fn map(self, f: impl Fn(Interval) -> Interval) -> Self {
        Self(self.0.map(f))
    }

    /// Lanes of the pair, `b` from 8 on.
    fn pick(self, b: Self, lanes: [usize; 8]) -> Self {
        Self(lanes.map(|from| {
            if from < 8 {
                self.0[from]
            } else {
                b.0[from - 8]
            }
        }))
    }
}

/// `b w - floor(b w' / 2^32) q`: with `w 2^32 = w' q + e` and `f = b w' mod 2^32` that
/// is `(b e + f q) / 2^32`.
fn shoup(b: Interval, w: Interval, quotient: Interval) -> Interval {
    assert!(w.low == w.high && quotient.low == quotient.high);
    let e = (w.low << 32) - quotient.low * Q64;
    assert!(2 * e.abs() <= Q64, "the quotient of another factor");
    let f = (1 << 32) - 1;
    let (low, high) = if e < 0 {
        (b.high, b.low)
    } else {
        (b.low, b.high)
    };
    Interval::new((low * e + f) >> 32, (high * e + f * Q64) >> 32)
}

impl Vector for Intervals {
    fn splat(self, value: i32) -> Self {
        Self::new(value.into(), value.into())
    }

    fn load(self, values: &Aligned<[i32; 8]>) -> Self {
        Self(
            values
                .0
                .map(|value| Interval::new(value.into(), value.into())),
        )
    }

    fn add(self, b: Self) -> Self {
        Self(core::array::from_fn(|n| self.0[n].plus(b.0[n])))
    }

    fn sub(self, b: Self) -> Self {
        Self(core::array::from_fn(|n| self.0[n].minus(b.0[n])))
    }

    fn shoup(self, w: Self, even: Self, odd: Self) -> Self {
        Self(core::array::from_fn(|n| {
            let quotient = if n % 2 == 0 { even.0[n] } else { odd.0[n - 1] };
            shoup(self.0[n], w.0[n], quotient)
        }))
    }

    fn canonical(self) -> Self {
        self.map(|a| {
            assert!(-Q64 < a.low && a.high < 2 * Q64, "too far for `canonical`");
            Interval::new(0, Q64 - 1)
        })
    }

    fn centred(self) -> Self {
        self.map(|a| {
            assert!(
                -Q64 / 2 <= a.low && a.high <= 3 * Q64 / 2,
                "too far for `centred`"
            );
            Interval::new(-Q64 / 2, Q64 / 2)
        })
    }

    fn low_halves(self, b: Self) -> Self {
        self.pick(b, [0, 1, 2, 3, 8, 9, 10, 11])
    }

    fn high_halves(self, b: Self) -> Self {
        self.pick(b, [4, 5, 6, 7, 12, 13, 14, 15])
    }

    fn low_qwords(self, b: Self) -> Self {
        self.pick(b, [0, 1, 8, 9, 4, 5, 12, 13])
    }

    fn high_qwords(self, b: Self) -> Self {
        self.pick(b, [2, 3, 10, 11, 6, 7, 14, 15])
    }

    fn low_dwords(self, b: Self) -> Self {
        self.pick(b, [0, 8, 1, 9, 4, 12, 5, 13])
    }

    fn high_dwords(self, b: Self) -> Self {
        self.pick(b, [2, 10, 3, 11, 6, 14, 7, 15])
    }

    fn even_dwords(self, b: Self) -> Self {
        self.pick(b, [0, 2, 8, 10, 4, 6, 12, 14])
    }

    fn odd_dwords(self, b: Self) -> Self {
        self.pick(b, [1, 3, 9, 11, 5, 7, 13, 15])
    }
}

type Poly32 = [Intervals; 32];

/// Every fourth register from `i` on, through `levels`.
fn outer(v: &mut Poly32, levels: impl Fn(&mut [Intervals; 8])) {
    for i in 0..4 {
        let mut eight = core::array::from_fn(|j| v[i + 4 * j]);
        levels(&mut eight);
        for (j, register) in eight.into_iter().enumerate() {
            v[i + 4 * j] = register;
        }
    }
}

/// The transform as [`ntt`] puts it together, in private order.
fn transformed(mut v: Poly32) -> Poly32 {
    outer(&mut v, outer_levels);
    for (eight, w) in v.as_chunks_mut::<8>().0.iter_mut().zip(&INNER) {
        inner_levels(eight, w);
    }
    v
}

/// The inverse as [`inv_ntt`] puts it together, before its last step.
fn transformed_back(mut v: Poly32) -> Poly32 {
    for (eight, w) in v.as_chunks_mut::<8>().0.iter_mut().zip(&INVERSE_INNER) {
        inverse_inner_levels(eight, w);
    }
    outer(&mut v, inverse_outer_levels);
    v
}

/// Every lane of the registers within `low <= a <= high`.
fn within(v: &[Intervals], low: i64, high: i64) {
    for a in v.iter().flat_map(|v| v.0) {
        assert!(low <= a.low && a.high <= high, "{a:?} in [{low}, {high}]");
    }
}

/// The NTT of what is within the interval: at most `more` beyond it.
fn hat(input: Intervals, more: i64) -> Interval {
    let reach = input.0[0].reach() + more;
    within(&transformed([input; 32]), -reach, reach);
    Interval::new(-reach, reach)
}

#[test]
fn no_intermediate_leaves_its_word() {
    let eighth = Q64 / 8;
    let near = 8 * Q64 + eighth;
    let hats = [
        response(Intervals::new(0, (1 << 18) - 1), 1 << 17),
        response(Intervals::new(0, (1 << 20) - 1), 1 << 19),
        response(Intervals::new(0, (1 << D) - 1), 1 << (D - 1)),
        response(Intervals::new(0, 15), 4),
        Intervals::new(-1, 1),
    ]
    .map(|input| {
        let hat = hat(input, near);
        assert!(hat.reach() < 9 * Q64);
        hat
    });
    let t1_hat = hat(Intervals::new(1 - Q64, 0), near);
    // As far as the functions promise.
    let furthest = i64::from(i32::MAX) - 10 * Q64;
    hat(Intervals::new(-furthest, furthest), 10 * Q64);
    let reduced = reduce(Intervals::new(-i64::from(i32::MAX), i64::from(i32::MAX)));
    within(&[reduced], -Q64 / 4 - 1, 5 * Q64 / 4 + 1);
    within(&[reduced.canonical()], 0, Q64 - 1);

    // Rows with a prepared key and with t1 as it comes, and the products of signing.
    let canonical = Interval::new(0, Q64 - 1);
    let furthest = Interval::new(1 - 11 * Q64, 11 * Q64 - 1);
    for last in [(canonical, furthest), (t1_hat, hats[4])] {
        let mut sums = Interval::accumulate((0, 0), last.0, last.1);
        for _ in 0..7 {
            sums = Interval::accumulate(sums, canonical, furthest);
        }
        assert!(Interval::reduce(sums).reach() <= Q64);
    }
    let product = Interval::accumulate((0, 0), furthest, furthest);
    let sums = Interval::accumulate(product, furthest, Interval::new(1, 1));
    let row = Interval::reduce(sums).reach();
    assert!(row <= Q64);

    let w = transformed_back([Intervals::new(-Q64, Q64); 32]);
    within(&w, -Q64 / 4 - 1, 5 * Q64 / 4 + 1);
    within(&w.map(Vector::canonical), 0, Q64 - 1);
    within(&w.map(Vector::centred), -Q64 / 2, Q64 / 2);
}

/// That the intervals follow the registers: from single values they contain what the
/// CPU computes, lane by lane.
#[test]
fn intervals_contain_what_the_registers_hold() {
    let points = |poly: &[i32; N]| -> Poly32 {
        core::array::from_fn(|i| {
            Intervals(core::array::from_fn(|n| {
                let value = poly[8 * i + n].into();
                Interval::new(value, value)
            }))
        })
    };
    let check = |out: &[i32; N], intervals: &Poly32| {
        for (a, interval) in out.iter().zip(intervals.iter().flat_map(|v| v.0)) {
            let a = i64::from(*a);
            assert!(interval.low <= a && a <= interval.high, "{a} {interval:?}");
        }
    };
    on_this_cpu!({
        let mut random = Random::new(9);
        for _ in 0..50 {
            let a = random.poly(i32::MAX - 10 * Q);
            let mut out = [0; N];
            ntt::<Private>(|n| get(&a, n), &mut out);
            check(&out, &transformed(points(&a)));

            // Rearrangements move points, which have to agree exactly.
            let mut ordered = points(&out);
            for eight in ordered.as_chunks_mut::<8>().0 {
                reorder(eight, Standard::from_private);
            }
            let mut standard = [0; N];
            ntt::<Standard>(|n| get(&a, n), &mut standard);
            check(&standard, &ordered);
            for eight in ordered.as_chunks_mut::<8>().0 {
                reorder(eight, Standard::to_private);
            }
            check(&out, &ordered);

            let a = random.poly(Q);
            let pair = |n| [get(&a, 2 * n), get(&a, 2 * n + 1)];
            inv_ntt(pair, |v| v, &mut out);
            let intervals = transformed_back(points(&a));
            check(&out, &intervals);
            let (before, intervals) = (out, points(&out));
            for n in 0..N / 8 {
                put(&mut out, n, get(&before, n).canonical());
            }
            for (a, before) in out.iter().zip(before) {
                assert_eq!(*a, before.rem_euclid(Q));
            }
            check(&out, &intervals.map(Vector::canonical));
            for n in 0..N / 8 {
                put(&mut out, n, get(&before, n).centred());
            }
            check(&out, &intervals.map(Vector::centred));
        }
    });
}
