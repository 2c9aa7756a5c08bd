//! NTT and inverse NTT on eight registers of eight coefficients at a time: three levels
//! between registers that are far apart, then five on 64 neighbouring coefficients.
//!
//! Products are in Shoup's form: each `w` is stored with a quotient, `w` over q, and
//! [`Vector::shoup`] multiplies with both. Constant time.
//!
//! The last three levels work inside registers; the order they leave the coefficients
//! in is private to a backend ([`Order`]).

use crate::params::Q;
use crate::ring::field::montgomery_reduce_portable;
use crate::ring::ntt;

/// Eight coefficients in the registers of a backend.
///
/// There is no safe way to a register but through code for a CPU that has them, so a
/// register proves the features, and every method takes one.
pub(super) trait Vector: Copy {
    /// The factors, with quotients as [`Self::shoup`] takes them.
    const TABLES: &'static Tables;

    /// The same value in every lane, whatever is in this register.
    fn splat(self, value: i32) -> Self;
    /// A table, whatever is in this register.
    fn load(self, values: &Aligned<[i32; 8]>) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    /// The product by one constant a lane, `even` and `odd` its quotients, those of the
    /// odd lanes moved down.
    fn shoup(self, w: Self, even: Self, odd: Self) -> Self;
    /// `(-q, 2 q)` to `[0, q)`.
    fn canonical(self) -> Self;
    /// `(-q / 2, 3 q / 2)` to `(-q / 2, q / 2]`.
    fn centred(self) -> Self;

    // Rearrangements of two registers; halves have 128 bits.

    /// The lower halves.
    fn low_halves(self, b: Self) -> Self;
    /// The upper halves.
    fn high_halves(self, b: Self) -> Self;
    /// The lower 64 bits of all halves, of each register in turn.
    fn low_qwords(self, b: Self) -> Self;
    /// The upper 64 bits.
    fn high_qwords(self, b: Self) -> Self;
    /// The lower 64 bits of all halves, 32 bits of each register in turn.
    fn low_dwords(self, b: Self) -> Self;
    /// The upper 64 bits.
    fn high_dwords(self, b: Self) -> Self;
    /// In every half the even lanes of this register, then those of `b`.
    fn even_dwords(self, b: Self) -> Self;
    /// The odd lanes.
    fn odd_dwords(self, b: Self) -> Self;
}

/// A table that no load of a register straddles a cache line of.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Aligned<T>(pub(super) T);

/// One factor for every lane.
#[inline(always)]
fn by<V: Vector>(b: V, w: Factor) -> V {
    let quotient = b.splat(w.1);
    b.shoup(b.splat(w.0), quotient, quotient)
}

/// One factor a lane.
#[inline(always)]
fn by_lanes<V: Vector>(b: V, w: &LaneFactors) -> V {
    b.shoup(b.load(&w.w), b.load(&w.even), b.load(&w.odd))
}

/// One factor for each pair of lanes.
#[inline(always)]
fn by_pairs<V: Vector>(b: V, w: &PairFactors) -> V {
    let quotient = b.load(&w.quotient);
    b.shoup(b.load(&w.w), quotient, quotient)
}

macro_rules! forward {
    ($v:ident, $multiply:ident; $(($i:literal, $j:literal, $w:expr)),* $(,)?) => { $(
        let t = $multiply($v[$j], $w);
        $v[$j] = $v[$i].sub(t);
        $v[$i] = $v[$i].add(t);
    )* };
}

macro_rules! inverse {
    ($v:ident, $multiply:ident; $(($i:literal, $j:literal, $w:expr)),* $(,)?) => { $(
        let difference = $v[$i].sub($v[$j]);
        $v[$i] = $v[$i].add($v[$j]);
        $v[$j] = $multiply(difference, $w);
    )* };
}

/// One level between neighbouring registers.
macro_rules! pairs {
    ($step:ident, $multiply:ident, $v:ident, $table:expr) => {
        $step!($v, $multiply; (0, 1, &$table[0]), (2, 3, &$table[1]), (4, 5, &$table[2]), (6, 7, &$table[3]))
    };
}

/// Applies two two-source shuffles to every pair of neighbouring registers.
macro_rules! repack {
    ($v:ident, $low:expr, $high:expr) => {
        repack!(@ $v, $low, $high; (0, 1), (2, 3), (4, 5), (6, 7))
    };
    (@ $v:ident, $low:expr, $high:expr; $(($i:literal, $j:literal)),*) => {
        $( ($v[$i], $v[$j]) = ($low($v[$i], $v[$j]), $high($v[$i], $v[$j])); )*
    };
}

/// The levels of algorithm 41 of lengths 128, 64 and 32, on registers 4 apart.
#[inline(always)]
pub(super) fn outer_levels<V: Vector>(v: &mut [V; 8]) {
    let w = |k: usize| V::TABLES.outer[k];
    forward!(v, by; (0, 4, w(1)), (1, 5, w(1)), (2, 6, w(1)), (3, 7, w(1)));
    forward!(v, by; (0, 2, w(2)), (1, 3, w(2)), (4, 6, w(3)), (5, 7, w(3)));
    forward!(v, by; (0, 1, w(4)), (2, 3, w(5)), (4, 5, w(6)), (6, 7, w(7)));
}

/// The levels of lengths 16 to 1, on 64 coefficients; out in private order.
#[inline(always)]
pub(super) fn inner_levels<V: Vector>(v: &mut [V; 8], w: &Inner) {
    let [low, high] = w.sixteens;
    forward!(v, by; (0, 2, low), (1, 3, low), (4, 6, high), (5, 7, high));
    let [a, b, c, d] = w.eights;
    forward!(v, by; (0, 1, a), (2, 3, b), (4, 5, c), (6, 7, d));
    repack!(v, V::low_halves, V::high_halves);
    pairs!(forward, by_pairs, v, w.fours);
    repack!(v, V::low_qwords, V::high_qwords);
    pairs!(forward, by_pairs, v, w.twos);
    repack!(v, V::even_dwords, V::odd_dwords);
    pairs!(forward, by_lanes, v, w.ones);
}

/// The levels of algorithm 42 of lengths 1 to 16, from private order.
#[inline(always)]
pub(super) fn inverse_inner_levels<V: Vector>(v: &mut [V; 8], w: &Inner) {
    pairs!(inverse, by_lanes, v, w.ones);
    repack!(v, V::low_dwords, V::high_dwords);
    pairs!(inverse, by_pairs, v, w.twos);
    repack!(v, V::low_qwords, V::high_qwords);
    pairs!(inverse, by_pairs, v, w.fours);
    repack!(v, V::low_halves, V::high_halves);
    let [a, b, c, d] = w.eights;
    inverse!(v, by; (0, 1, a), (2, 3, b), (4, 5, c), (6, 7, d));
    let [low, high] = w.sixteens;
    inverse!(v, by; (0, 2, low), (1, 3, low), (4, 6, high), (5, 7, high));
}

/// The levels of lengths 32 to 128 and the scale `2^32 / 256`.
///
/// Bounds: with `|v| <= q` before the first of all levels `|v| <= 256 q < 2^31` before
/// the last product, which leaves `(-q/4, 5q/4)`.
#[inline(always)]
pub(super) fn inverse_outer_levels<V: Vector>(v: &mut [V; 8]) {
    let w = |k: usize| V::TABLES.inverse_outer[k];
    inverse!(v, by; (0, 1, w(4)), (2, 3, w(5)), (4, 5, w(6)), (6, 7, w(7)));
    inverse!(v, by; (0, 2, w(2)), (1, 3, w(2)), (4, 6, w(3)), (5, 7, w(3)));
    // The last level multiplies both halves, the upper one by its factor too.
    inverse!(v, by; (0, 4, w(1)), (1, 5, w(1)), (2, 6, w(1)), (3, 7, w(1)));
    for v in &mut v[..4] {
        *v = by(*v, V::TABLES.scale);
    }
}

/// Any `|v| < 2^31` to the same residue in `(-q/4, 5q/4)`.
#[inline(always)]
pub(super) fn reduce<V: Vector>(v: V) -> V {
    by(v, V::TABLES.one)
}

/// z from its field. Bounds: `0 <= x < 2 gamma1` gives `-gamma1 < out <= gamma1`.
#[inline(always)]
pub(super) fn response<V: Vector>(x: V, gamma1: i32) -> V {
    x.splat(gamma1).sub(x)
}

/// The order that a polynomial in NTT form has in memory.
pub(super) trait Order {
    /// One pair of registers as [`inner_levels`] leaves it, in this order.
    fn from_private<V: Vector>(a: V, b: V) -> (V, V);
    /// One pair of registers in this order, as [`inverse_inner_levels`] takes it.
    fn to_private<V: Vector>(a: V, b: V) -> (V, V);
}

/// The order of algorithm 41.
pub(super) enum Standard {}

impl Order for Standard {
    #[inline(always)]
    fn from_private<V: Vector>(a: V, b: V) -> (V, V) {
        let (a, b) = (a.low_dwords(b), a.high_dwords(b));
        let (a, b) = (a.low_qwords(b), a.high_qwords(b));
        (a.low_halves(b), a.high_halves(b))
    }

    #[inline(always)]
    fn to_private<V: Vector>(a: V, b: V) -> (V, V) {
        let (a, b) = (a.low_halves(b), a.high_halves(b));
        let (a, b) = (a.low_qwords(b), a.high_qwords(b));
        (a.even_dwords(b), a.odd_dwords(b))
    }
}

/// The order of this backend, in which nothing has to move.
pub(super) enum Private {}

impl Order for Private {
    #[inline(always)]
    fn from_private<V: Vector>(a: V, b: V) -> (V, V) {
        (a, b)
    }

    #[inline(always)]
    fn to_private<V: Vector>(a: V, b: V) -> (V, V) {
        (a, b)
    }
}

/// Eight registers in private order from, or to, another.
#[inline(always)]
pub(super) fn reorder<V: Vector>(v: &mut [V; 8], order: impl Fn(V, V) -> (V, V)) {
    for pair in v.as_chunks_mut::<2>().0 {
        (pair[0], pair[1]) = order(pair[0], pair[1]);
    }
}

/// Registers of `$load` for eight numbers from `$first` on. A macro, because registers would
/// be returned through memory.
macro_rules! eight {
    ($load:expr, $first:expr, $step:literal) => {
        [
            $load($first),
            $load($first + $step),
            $load($first + 2 * $step),
            $load($first + 3 * $step),
            $load($first + 4 * $step),
            $load($first + 5 * $step),
            $load($first + 6 * $step),
            $load($first + 7 * $step),
        ]
    };
}

pub(super) use eight;

/// A factor, centred, and its quotient.
type Factor = (i32, i32);

/// Eight factors and their quotients.
pub(super) struct LaneFactors {
    w: Aligned<[i32; 8]>,
    even: Aligned<[i32; 8]>,
    odd: Aligned<[i32; 8]>,
}

/// Eight factors, two neighbours the same, and their quotients.
pub(super) struct PairFactors {
    w: Aligned<[i32; 8]>,
    quotient: Aligned<[i32; 8]>,
}

/// The factors of five levels on 64 coefficients.
pub(super) struct Inner {
    sixteens: [Factor; 2],
    eights: [Factor; 4],
    fours: [PairFactors; 4],
    twos: [PairFactors; 4],
    ones: [LaneFactors; 4],
}

/// All factors, centred, each with `round(w 2^bits / q)`.
pub(super) struct Tables {
    /// Factors by their number in algorithm 41; the inverse has its own under the same numbers.
    outer: [Factor; 8],
    inverse_outer: [Factor; 8],
    /// Factors for each 64 coefficients.
    pub(super) inner: [Inner; 4],
    pub(super) inverse_inner: [Inner; 4],
    /// `2^32 / 256`, which also takes away the factor `2^-32` that products leave.
    scale: Factor,
    one: Factor,
}

/// `2^32 / 256`.
const SCALE: i64 = 1 << 24;

impl Tables {
    /// Bounds: `bits` is at most 32, for quotients of 32 bits.
    pub(super) const fn new(bits: u32) -> Self {
        Self {
            outer: outer(false, bits),
            inverse_outer: outer(true, bits),
            inner: inner(false, bits),
            inverse_inner: inner(true, bits),
            scale: factor(SCALE, bits),
            one: factor(1, bits),
        }
    }
}

const fn outer(inverse: bool, bits: u32) -> [Factor; 8] {
    let mut table = [(0, 0); 8];
    let mut k = 1;
    while k < 8 {
        let mut w = zeta(k, inverse);
        if inverse && k == 1 {
            w = w * SCALE % Q as i64;
        }
        table[k] = factor(w, bits);
        k += 1;
    }
    table
}

const fn inner(inverse: bool, bits: u32) -> [Inner; 4] {
    const EMPTY: Inner = Inner {
        sixteens: [(0, 0); 2],
        eights: [(0, 0); 4],
        fours: [const {
            PairFactors {
                w: Aligned([0; 8]),
                quotient: Aligned([0; 8]),
            }
        }; 4],
        twos: [const {
            PairFactors {
                w: Aligned([0; 8]),
                quotient: Aligned([0; 8]),
            }
        }; 4],
        ones: [const {
            LaneFactors {
                w: Aligned([0; 8]),
                even: Aligned([0; 8]),
                odd: Aligned([0; 8]),
            }
        }; 4],
    };
    let mut table = [EMPTY; 4];
    let mut b = 0;
    while b < 4 {
        let inner = &mut table[b];
        let mut n = 0;
        while n < 2 {
            inner.sixteens[n] = factor(zeta(8 + 2 * b + n, inverse), bits);
            n += 1;
        }
        let mut n = 0;
        while n < 4 {
            inner.eights[n] = factor(zeta(16 + 4 * b + n, inverse), bits);
            let mut lane = 0;
            while lane < 8 {
                let pair = 4 * b + n;
                let (w, quotient) = factor(zeta(number(4, pair, lane), inverse), bits);
                inner.fours[n].w.0[lane] = w;
                inner.fours[n].quotient.0[lane] = quotient;
                let (w, quotient) = factor(zeta(number(2, pair, lane), inverse), bits);
                inner.twos[n].w.0[lane] = w;
                inner.twos[n].quotient.0[lane] = quotient;
                let (w, quotient) = factor(zeta(number(1, pair, lane), inverse), bits);
                inner.ones[n].w.0[lane] = w;
                inner.ones[n].even.0[lane] = quotient;
                if lane % 2 == 1 {
                    inner.ones[n].odd.0[lane - 1] = quotient;
                }
                lane += 1;
            }
            n += 1;
        }
        b += 1;
    }
    table
}

/// The number of the factor of a lane in a pair of registers at the level of that
/// length, by where the repacking of [`inner_levels`] takes the lane from.
const fn number(length: usize, pair: usize, lane: usize) -> usize {
    let from = match length {
        4 => lane + lane / 4 * 4,
        2 => lane / 4 * 8 + lane % 4 / 2 * 4 + lane % 2,
        _ => lane / 4 * 8 + lane % 2 * 4 + lane % 4 / 2 * 2,
    };
    (128 + (16 * pair + from) / 2) / length
}

/// `zeta^brv(k)`; for the inverse `-zeta^brv(3 2^m - 1 - k)` where
/// `2^m <= k < 2^(m+1)`.
const fn zeta(k: usize, inverse: bool) -> i64 {
    let level = 1 << k.ilog2();
    if inverse {
        -(montgomery_reduce_portable(ntt::ZETAS[3 * level - 1 - k] as i64) as i64)
    } else {
        montgomery_reduce_portable(ntt::ZETAS[k] as i64) as i64
    }
}

const fn factor(w: i64, bits: u32) -> Factor {
    let q = Q as i64;
    let w = w.rem_euclid(q);
    let w = if w > q / 2 { w - q } else { w };
    let half = if w < 0 { -(q / 2) } else { q / 2 };
    (w as i32, (((w << bits) + half) / q) as i32)
}
