//! The schedules on intervals: every intermediate of every possible input is followed,
//! and none leaves its word.

use core::marker::PhantomData;

use super::{
    Aligned, Order, Standard, Tables, Vector, inner_levels, inverse_inner_levels,
    inverse_outer_levels, outer_levels, reduce, reorder, response,
};
use crate::params::{D, N, Q};
use crate::random::Random;
use crate::ring::ntt::Coefficient;
use crate::ring::ntt::bounds::{Interval, Q64};

/// Multiplication by constants of a backend.
pub(in crate::backend) trait Product: Copy {
    /// Its factors.
    const TABLES: &'static Tables;
    /// The quotients that the odd lanes are multiplied with.
    const ODD: Odd;
    /// Products of what the contracts allow, in eighths of q.
    const EIGHTHS: (i64, i64);

    /// `b w - t q` with `w 2^bits = quotient q + error`.
    fn shoup(b: Interval, error: i64) -> Interval;
    /// The bits of its quotients.
    const BITS: u32;
}

/// Position of the quotient of an odd lane.
#[derive(PartialEq)]
pub(in crate::backend) enum Odd {
    /// Moved down to the even lane, in a table of its own.
    Below,
    /// In its lane.
    Itself,
}

/// `t = floor(b w' / 2^32)`.
#[derive(Clone, Copy)]
pub(in crate::backend) struct Floor;

/// `t = floor(b w' / 2^31 + 1/2)`.
#[derive(Clone, Copy)]
pub(in crate::backend) struct Rounded;

static OF_FLOOR: Tables = Tables::new(32);
static OF_ROUNDED: Tables = Tables::new(31);

impl Product for Floor {
    const TABLES: &'static Tables = &OF_FLOOR;
    const ODD: Odd = Odd::Below;
    const EIGHTHS: (i64, i64) = (-2, 10);
    const BITS: u32 = 32;

    /// With `f = b w' mod 2^32` that is `(b e + f q) / 2^32`.
    fn shoup(b: Interval, error: i64) -> Interval {
        let (low, high) = ends(b, error);
        Interval::new(
            low >> 32,
            (high + ((1 << 32) - 1) * Q64 + (1 << 32) - 1) >> 32,
        )
    }
}

impl Product for Rounded {
    const TABLES: &'static Tables = &OF_ROUNDED;
    const ODD: Odd = Odd::Itself;
    const EIGHTHS: (i64, i64) = (-8, 8);
    const BITS: u32 = 31;

    /// With `f = (b w' + 2^30) mod 2^31 - 2^30` that is `(b e + f q) / 2^31`.
    fn shoup(b: Interval, error: i64) -> Interval {
        let (low, high) = ends(b, error);
        Interval::new(
            (low - (1 << 30) * Q64) >> 31,
            (high + ((1 << 30) - 1) * Q64 + (1 << 31) - 1) >> 31,
        )
    }
}

/// The ends of `b error`.
fn ends(b: Interval, error: i64) -> (i64, i64) {
    let ends = [b.low * error, b.high * error];
    (ends[0].min(ends[1]), ends[0].max(ends[1]))
}

/// Eight intervals of `i32`.
#[derive(Clone, Copy)]
pub(in crate::backend) struct Intervals<P>(pub(in crate::backend) [Interval; 8], PhantomData<P>);

impl<P: Product> Intervals<P> {
    fn new(low: i64, high: i64) -> Self {
        Self([Interval::new(low, high); 8], PhantomData)
    }

    /// Those of single values.
    fn point(values: &[i32; 8]) -> Self {
        let point = |value: i32| Interval::new(value.into(), value.into());
        Self(values.map(point), PhantomData)
    }

    fn map(self, f: impl Fn(Interval) -> Interval) -> Self {
        Self(self.0.map(f), PhantomData)
    }

    /// Lanes of the pair, `b` from 8 on.
    fn pick(self, b: Self, lanes: [usize; 8]) -> Self {
        let lane = |from| {
            if from < 8 {
                self.0[from]
            } else {
                b.0[from - 8]
            }
        };
        Self(lanes.map(lane), PhantomData)
    }
}

impl<P: Product> Vector for Intervals<P> {
    const TABLES: &'static Tables = P::TABLES;

    fn splat(self, value: i32) -> Self {
        Self::new(value.into(), value.into())
    }

    fn load(self, values: &Aligned<[i32; 8]>) -> Self {
        Self::point(&values.0)
    }

    fn add(self, b: Self) -> Self {
        Self(
            core::array::from_fn(|n| self.0[n].plus(b.0[n])),
            PhantomData,
        )
    }

    fn sub(self, b: Self) -> Self {
        Self(
            core::array::from_fn(|n| self.0[n].minus(b.0[n])),
            PhantomData,
        )
    }

    fn shoup(self, w: Self, even: Self, odd: Self) -> Self {
        let product = |n: usize| {
            let quotient = match P::ODD {
                Odd::Below if n % 2 == 1 => odd.0[n - 1],
                _ => even.0[n],
            };
            let w = w.0[n];
            assert!(w.low == w.high && quotient.low == quotient.high);
            let error = (w.low << P::BITS) - quotient.low * Q64;
            assert!(2 * error.abs() <= Q64, "the quotient of another factor");
            P::shoup(self.0[n], error)
        };
        Self(core::array::from_fn(product), PhantomData)
    }

    fn canonical(self) -> Self {
        self.map(|a| {
            assert!(-Q64 < a.low && a.high < 2 * Q64, "too far for `canonical`");
            Interval::new(0, Q64 - 1)
        })
    }

    fn centred(self) -> Self {
        self.map(|a| {
            let least = if P::ODD == Odd::Below {
                -Q64 / 2
            } else {
                1 - Q64
            };
            assert!(
                least <= a.low && a.high <= 3 * Q64 / 2,
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

pub(in crate::backend) type Poly32<P> = [Intervals<P>; 32];

/// Every fourth register from `i` on, through `levels`.
fn outer<P: Product>(v: &mut Poly32<P>, levels: impl Fn(&mut [Intervals<P>; 8])) {
    for i in 0..4 {
        let mut eight = core::array::from_fn(|j| v[i + 4 * j]);
        levels(&mut eight);
        for (j, register) in eight.into_iter().enumerate() {
            v[i + 4 * j] = register;
        }
    }
}

/// The transform as the backends put it together, in private order.
fn transformed<P: Product>(mut v: Poly32<P>) -> Poly32<P> {
    outer(&mut v, outer_levels);
    for (eight, w) in v.as_chunks_mut::<8>().0.iter_mut().zip(&P::TABLES.inner) {
        inner_levels(eight, w);
    }
    v
}

/// The inverse as the backends put it together, before its last step.
fn transformed_back<P: Product>(mut v: Poly32<P>) -> Poly32<P> {
    for (eight, w) in v
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .zip(&P::TABLES.inverse_inner)
    {
        inverse_inner_levels(eight, w);
    }
    outer(&mut v, inverse_outer_levels);
    v
}

/// Every lane of the registers within `low <= a <= high`.
fn within<P: Product>(v: &[Intervals<P>], low: i64, high: i64) {
    for a in v.iter().flat_map(|v| v.0) {
        assert!(low <= a.low && a.high <= high, "{a:?} in [{low}, {high}]");
    }
}

/// The NTT of what is within the interval: at most `more` beyond it.
fn hat<P: Product>(input: Intervals<P>, more: i64) -> Interval {
    let reach = input.0[0].reach() + more;
    within(&transformed([input; 32]), -reach, reach);
    Interval::new(-reach, reach)
}

/// The schedules of key generation, signing and verification with one kind of product.
fn follow<P: Product>() {
    let eighth = Q64 / 8;
    let near = 8 * Q64 + eighth;
    let hats = [
        response(Intervals::<P>::new(0, (1 << 18) - 1), 1 << 17),
        response(Intervals::<P>::new(0, (1 << 20) - 1), 1 << 19),
        response(Intervals::<P>::new(0, (1 << D) - 1), 1 << (D - 1)),
        response(Intervals::<P>::new(0, 15), 4),
        Intervals::<P>::new(-1, 1),
    ]
    .map(|input| {
        let hat = hat(input, near);
        assert!(hat.reach() < 9 * Q64);
        hat
    });
    let t1_hat = hat(Intervals::<P>::new(1 - Q64, 0), near);
    // As far as the functions promise.
    let furthest = i64::from(i32::MAX) - 10 * Q64;
    hat(Intervals::<P>::new(-furthest, furthest), 10 * Q64);
    let reduced = reduce(Intervals::<P>::new(
        -i64::from(i32::MAX),
        i64::from(i32::MAX),
    ));
    let (low, high) = (P::EIGHTHS.0 * Q64 / 8 - 1, P::EIGHTHS.1 * Q64 / 8 + 1);
    within(&[reduced], low, high);
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

    let w = transformed_back([Intervals::<P>::new(-Q64, Q64); 32]);
    within(&w, low, high);
    within(&w.map(Vector::canonical), 0, Q64 - 1);
    within(&w.map(Vector::centred), -Q64 / 2, Q64 / 2);
}

#[test]
fn no_intermediate_leaves_its_word() {
    follow::<Floor>();
    follow::<Rounded>();
}

/// That the intervals follow the registers: from single values they contain what the
/// CPU computes, lane by lane. Both transforms, and the steps on single registers that
/// end them.
pub(in crate::backend) struct Registers {
    /// In private order.
    pub(in crate::backend) ntt: fn(&[i32; N], &mut [i32; N]),
    /// In standard order.
    pub(in crate::backend) standard_ntt: fn(&[i32; N], &mut [i32; N]),
    /// From private order, its last product as it is.
    pub(in crate::backend) inv_ntt: fn(&[i32; N], &mut [i32; N]),
    pub(in crate::backend) canonical: fn(&[i32; N], &mut [i32; N]),
    pub(in crate::backend) centred: fn(&[i32; N], &mut [i32; N]),
}

/// See [`Registers`].
pub(in crate::backend) fn contain_what_they_hold<P: Product>(registers: &Registers) {
    let points = |poly: &[i32; N]| -> Poly32<P> {
        core::array::from_fn(|i| Intervals::point(&poly.as_chunks().0[i]))
    };
    let check = |out: &[i32; N], intervals: &Poly32<P>| {
        for (a, interval) in out.iter().zip(intervals.iter().flat_map(|v| v.0)) {
            let a = i64::from(*a);
            assert!(interval.low <= a && a <= interval.high, "{a} {interval:?}");
        }
    };
    let mut random = Random::new(9);
    for _ in 0..50 {
        let a = random.poly(i32::MAX - 10 * Q);
        let mut out = [0; N];
        (registers.ntt)(&a, &mut out);
        check(&out, &transformed(points(&a)));

        // Rearrangements move points, which have to agree exactly.
        let mut ordered = points(&out);
        for eight in ordered.as_chunks_mut::<8>().0 {
            reorder(eight, Standard::from_private);
        }
        let mut standard = [0; N];
        (registers.standard_ntt)(&a, &mut standard);
        check(&standard, &ordered);
        for eight in ordered.as_chunks_mut::<8>().0 {
            reorder(eight, Standard::to_private);
        }
        check(&out, &ordered);

        let a = random.poly(Q);
        (registers.inv_ntt)(&a, &mut out);
        let intervals = transformed_back(points(&a));
        check(&out, &intervals);
        let (before, intervals) = (out, points(&out));
        (registers.canonical)(&before, &mut out);
        for (a, before) in out.iter().zip(before) {
            assert_eq!(*a, before.rem_euclid(Q));
        }
        check(&out, &intervals.map(Vector::canonical));
        (registers.centred)(&before, &mut out);
        for (a, before) in out.iter().zip(before) {
            let residue = before.rem_euclid(Q);
            assert_eq!(*a, residue - if residue > Q / 2 { Q } else { 0 });
        }
        check(&out, &intervals.map(Vector::centred));
    }
}
