//! NTT and inverse NTT with the whole polynomial in sixteen `zmm` registers.
//!
//! Products of the forward transform are in Shoup's form: with
//! `w' = round(w 2^32 / q)` kept beside `w`, `t = floor(b w' / 2^32)` and `b w - t q`
//! lies in `(-q/4, 5q/4)` for every `|b| < 2^31`, since `|b| * 0.5 / 2^32 < 1/4`.
//! Those of the inverse need to be small only against sums that double at every
//! level: their quotients come from single precision. See `docs/simd.md`.
//!
//! The last four levels work inside registers; the order they leave the
//! coefficients in is private to this backend ([`Order`]).

use super::registers::{Aligned, EvenLanes};
use super::vector::Vector;
use crate::params::Q;

/// One twiddle factor for every lane.
#[inline(always)]
fn shoup_by<V: Vector>(b: V, w: (i32, i32), lanes: EvenLanes) -> V {
    let w_shoup = b.splat(w.1);
    b.shoup(b.splat(w.0), w_shoup, w_shoup, lanes)
}

#[inline(always)]
fn shoup_lanes<V: Vector>(b: V, w: &LaneTwiddle, lanes: EvenLanes) -> V {
    b.shoup(b.load(&w.w), b.load(&w.even), b.load(&w.odd), lanes)
}

/// One factor for every lane, and one per lane.
#[inline(always)]
fn nearest_by<V: Vector>(b: V, w: (i32, f32)) -> V {
    b.nearest(b.splat(w.0), b.splat_ratio(w.1))
}

#[inline(always)]
fn nearest_lanes<V: Vector>(b: V, w: &LaneRatio) -> V {
    b.nearest(b.load(&w.w), b.load_ratio(&w.ratio))
}

macro_rules! forward {
    ($v:ident, $multiply:ident; $(($i:literal, $j:literal, $w:expr)),* $(,)?) => {
        $(
            let t = $multiply($v[$j], $w);
            $v[$j] = $v[$i].sub(t);
            $v[$i] = $v[$i].add(t);
        )*
    };
}

macro_rules! inverse {
    ($v:ident, $multiply:ident; $(($i:literal, $j:literal, $w:expr)),* $(,)?) => {
        $(
            let difference = $v[$i].sub($v[$j]);
            $v[$i] = $v[$i].add($v[$j]);
            $v[$j] = $multiply(difference, $w);
        )*
    };
}

/// Applies two two-source shuffles to every pair of neighbouring registers.
macro_rules! repack {
    ($v:ident, $low:expr, $high:expr) => {
        repack!(@ $v, $low, $high; (0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11), (12, 13), (14, 15))
    };
    (@ $v:ident, $low:expr, $high:expr; $(($i:literal, $j:literal)),*) => {
        $( ($v[$i], $v[$j]) = ($low($v[$i], $v[$j]), $high($v[$i], $v[$j])); )*
    };
}

macro_rules! lane_level {
    ($step:ident, $multiply:ident, $v:ident, $table:expr) => {
        $step!($v, $multiply;
            (0, 1, &$table[0]), (2, 3, &$table[1]), (4, 5, &$table[2]), (6, 7, &$table[3]),
            (8, 9, &$table[4]), (10, 11, &$table[5]), (12, 13, &$table[6]), (14, 15, &$table[7]))
    };
}

macro_rules! register_levels {
    ($step:ident, $multiply:ident, $v:ident, $w:ident, 128) => {
        $step!($v, $multiply;
            (0, 8, $w(1)), (1, 9, $w(1)), (2, 10, $w(1)), (3, 11, $w(1)),
            (4, 12, $w(1)), (5, 13, $w(1)), (6, 14, $w(1)), (7, 15, $w(1)))
    };
    ($step:ident, $multiply:ident, $v:ident, $w:ident, 64) => {
        $step!($v, $multiply;
            (0, 4, $w(2)), (1, 5, $w(2)), (2, 6, $w(2)), (3, 7, $w(2)),
            (8, 12, $w(3)), (9, 13, $w(3)), (10, 14, $w(3)), (11, 15, $w(3)))
    };
    ($step:ident, $multiply:ident, $v:ident, $w:ident, 32) => {
        $step!($v, $multiply;
            (0, 2, $w(4)), (1, 3, $w(4)), (4, 6, $w(5)), (5, 7, $w(5)),
            (8, 10, $w(6)), (9, 11, $w(6)), (12, 14, $w(7)), (13, 15, $w(7)))
    };
    ($step:ident, $multiply:ident, $v:ident, $w:ident, 16) => {
        $step!($v, $multiply;
            (0, 1, $w(8)), (2, 3, $w(9)), (4, 5, $w(10)), (6, 7, $w(11)),
            (8, 9, $w(12)), (10, 11, $w(13)), (12, 13, $w(14)), (14, 15, $w(15)))
    };
}

/// Algorithm 41, out in private order.
///
/// Bounds: `|v| < B` in, `|v| < B + 10 q` out, `B + 10 q < 2^31`.
#[inline(always)]
pub(super) fn ntt_registers<V: Vector>(v: &mut [V; 16]) {
    #[inline(always)]
    const fn w(k: usize) -> (i32, i32) {
        ZETAS[k]
    }
    let lanes = EvenLanes::new();
    let by = |b, w| shoup_by(b, w, lanes);
    let by_lanes = |b, w| shoup_lanes(b, w, lanes);
    register_levels!(forward, by, v, w, 128);
    register_levels!(forward, by, v, w, 64);
    register_levels!(forward, by, v, w, 32);
    register_levels!(forward, by, v, w, 16);
    repack!(v, V::blocks::<0x44>, V::blocks::<0xee>);
    lane_level!(forward, by_lanes, v, FORWARD[0]);
    repack!(v, V::blocks::<0x88>, V::blocks::<0xdd>);
    lane_level!(forward, by_lanes, v, FORWARD[1]);
    repack!(v, V::low_qwords, V::high_qwords);
    lane_level!(forward, by_lanes, v, FORWARD[2]);
    repack!(v, V::dwords::<0x88>, V::dwords::<0xdd>);
    lane_level!(forward, by_lanes, v, FORWARD[3]);
}

/// Algorithm 42 times `2^32`, from private order.
///
/// Bounds: `|v| <= q` in, `[0, q)` out. In between sums at most double at each
/// level; the product of a difference `|b| <= 2^n q` stays below
/// `(1/2 + 3/4 2^n) q`, which is less.
#[inline(always)]
pub(super) fn inv_ntt_registers<V: Vector>(v: &mut [V; 16]) {
    #[inline(always)]
    const fn w(k: usize) -> (i32, f32) {
        INVERSE_ZETAS[k]
    }
    let lanes = EvenLanes::new();
    lane_level!(inverse, nearest_lanes, v, INVERSE[3]);
    repack!(v, V::low_dwords, V::high_dwords);
    lane_level!(inverse, nearest_lanes, v, INVERSE[2]);
    repack!(v, V::low_qwords, V::high_qwords);
    lane_level!(inverse, nearest_lanes, v, INVERSE[1]);
    let [low, high] = &UNDO_QUARTERS;
    repack!(v, |a: V, b| a.permute_qwords(low, b), |a: V, b| a
        .permute_qwords(high, b));
    lane_level!(inverse, nearest_lanes, v, INVERSE[0]);
    repack!(v, V::blocks::<0x44>, V::blocks::<0xee>);
    register_levels!(inverse, nearest_by, v, w, 16);
    register_levels!(inverse, nearest_by, v, w, 32);
    register_levels!(inverse, nearest_by, v, w, 64);
    // The last level multiplies both halves, the upper one by zeta too.
    for n in 0..8 {
        (v[n], v[n + 8]) = v[n].scaled_ends(v[n + 8], SCALE, lanes);
    }
}

/// Any `|v| < 2^31` to the same residue in `(-q/4, 5q/4)`.
#[inline(always)]
pub(super) fn reduce<V: Vector>(v: V) -> V {
    shoup_by(v, const { (1, quotient(1)) }, EvenLanes::new())
}

/// The order that a polynomial in NTT form has in memory.
pub(super) trait Order {
    /// One pair of registers as [`ntt_registers`] leaves it, in this order.
    fn from_private<V: Vector>(a: V, b: V) -> (V, V);
    /// One pair of registers in this order, as [`inv_ntt_registers`] takes it.
    fn to_private<V: Vector>(a: V, b: V) -> (V, V);
}

/// The order of algorithm 41.
pub(super) enum Standard {}

impl Order for Standard {
    #[inline(always)]
    fn from_private<V: Vector>(a: V, b: V) -> (V, V) {
        to_standard_order(a, b)
    }

    #[inline(always)]
    fn to_private<V: Vector>(a: V, b: V) -> (V, V) {
        from_standard_order(a, b)
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

/// Reorders one pair of registers from private to standard order.
#[inline(always)]
pub(super) fn to_standard_order<V: Vector>(a: V, b: V) -> (V, V) {
    let [low, high] = &TO_STANDARD;
    (a.permute_dwords(low, b), a.permute_dwords(high, b))
}

/// Reorders one pair of registers from standard to private order.
#[inline(always)]
pub(super) fn from_standard_order<V: Vector>(a: V, b: V) -> (V, V) {
    let [low, high] = &FROM_STANDARD;
    (a.permute_dwords(low, b), a.permute_dwords(high, b))
}

/// Sixteen factors, their Shoup quotients, and the odd quotients moved down.
struct LaneTwiddle {
    w: Aligned<[i32; 16]>,
    even: Aligned<[i32; 16]>,
    odd: Aligned<[i32; 16]>,
}

impl LaneTwiddle {
    const EMPTY: Self = Self {
        w: Aligned([0; 16]),
        even: Aligned([0; 16]),
        odd: Aligned([0; 16]),
    };
}

/// Sixteen factors, and each over q.
struct LaneRatio {
    w: Aligned<[i32; 16]>,
    ratio: Aligned<[f32; 16]>,
}

impl LaneRatio {
    const EMPTY: Self = Self {
        w: Aligned([0; 16]),
        ratio: Aligned([0.0; 16]),
    };
}

/// `zeta^brv(k)` and its quotient.
static ZETAS: [(i32, i32); 256] = {
    let zetas = zetas(false);
    let mut table = [(0, 0); 256];
    let mut k = 0;
    while k < 256 {
        table[k] = (zetas[k], quotient(zetas[k]));
        k += 1;
    }
    table
};
/// `-zeta^brv(3 2^m - 1 - k)` for `2^m <= k < 2^(m+1)`, and that over q: the factor
/// the inverse uses where the forward transform used number `k`.
static INVERSE_ZETAS: [(i32, f32); 256] = {
    let zetas = zetas(true);
    let mut table = [(0, 0.0); 256];
    let mut k = 0;
    while k < 256 {
        table[k] = (zetas[k], ratio(zetas[k]));
        k += 1;
    }
    table
};
static FORWARD: [[LaneTwiddle; 8]; 4] = {
    let mut tables = [const { [LaneTwiddle::EMPTY; 8] }; 4];
    let mut n = 0;
    while n < 4 * 8 * 16 {
        let (level, pair, lane) = (n / 128, n / 16 % 8, n % 16);
        let (w, quotient) = ZETAS[zeta_number(level, pair, lane)];
        let twiddle = &mut tables[level][pair];
        twiddle.w.0[lane] = w;
        twiddle.even.0[lane] = quotient;
        if lane % 2 == 1 {
            twiddle.odd.0[lane - 1] = quotient;
        }
        n += 1;
    }
    tables
};
static INVERSE: [[LaneRatio; 8]; 4] = {
    let mut tables = [const { [LaneRatio::EMPTY; 8] }; 4];
    let mut n = 0;
    while n < 4 * 8 * 16 {
        let (level, pair, lane) = (n / 128, n / 16 % 8, n % 16);
        let (w, ratio) = INVERSE_ZETAS[zeta_number(level, pair, lane)];
        tables[level][pair].w.0[lane] = w;
        tables[level][pair].ratio.0[lane] = ratio;
        n += 1;
    }
    tables
};

/// `2^32 / 256`, which also takes away the factor `2^-32` that products leave, and
/// the same times the last factor of the inverse transform.
const SCALE: [(i32, u32); 2] = {
    let scale = pow_mod(2, 24);
    [
        unsigned_pair(scale),
        unsigned_pair(INVERSE_ZETAS_LAST * scale % Q as i64),
    ]
};
/// `-zeta^brv(1)`.
const INVERSE_ZETAS_LAST: i64 = Q as i64 - pow_mod(1753, 128);

/// Where lane `n` of the register pair after level `level` (0: length 8, 3:
/// length 1) comes from, counted from the first coefficient of the pair.
///
/// This is the repacking of [`ntt_registers`] on indices; the tables of factors
/// and both reorderings follow from it.
const fn pair_order(level: usize) -> [usize; 32] {
    let mut order = [0; 32];
    let mut n = 0;
    while n < 32 {
        order[n] = n;
        n += 1;
    }
    let mut step = 0;
    while step <= level {
        let before = order;
        let mut n = 0;
        while n < 16 {
            // (source of lane n of the low register, same for the high register)
            let (low, high) = match step {
                0 => {
                    let s = (n / 8) * 16 + n % 8;
                    (s, s + 8)
                }
                1 => {
                    let s = (n / 8) * 16 + (n / 4 % 2) * 8 + n % 4;
                    (s, s + 4)
                }
                2 => {
                    let s = (n / 4) * 4 + n % 2 + (n / 2 % 2) * 16;
                    (s, s + 2)
                }
                _ => {
                    let s = (n / 4) * 4 + (n % 2) * 2 + (n / 2 % 2) * 16;
                    (s, s + 1)
                }
            };
            order[n] = before[low];
            order[16 + n] = before[high];
            n += 1;
        }
        step += 1;
    }
    order
}

/// The number of the factor for a lane of a pair of registers; levels as in
/// [`pair_order`].
const fn zeta_number(level: usize, pair: usize, lane: usize) -> usize {
    let length = 8 >> level;
    let coefficient = 32 * pair + pair_order(level)[lane];
    128 / length + coefficient / (2 * length)
}

static FROM_STANDARD: [Aligned<[i32; 16]>; 2] = {
    let order = pair_order(3);
    let mut table = [Aligned([0; 16]), Aligned([0; 16])];
    let mut n = 0;
    while n < 32 {
        table[n / 16].0[n % 16] = order[n] as i32;
        n += 1;
    }
    table
};

static TO_STANDARD: [Aligned<[i32; 16]>; 2] = {
    let order = pair_order(3);
    let mut table = [Aligned([0; 16]), Aligned([0; 16])];
    let mut n = 0;
    while n < 32 {
        table[order[n] / 16].0[order[n] % 16] = n as i32;
        n += 1;
    }
    table
};

/// Inverse of the repacking before length 4, on 64-bit elements.
static UNDO_QUARTERS: [Aligned<[i64; 8]>; 2] = [
    Aligned([0, 1, 8, 9, 2, 3, 10, 11]),
    Aligned([4, 5, 12, 13, 6, 7, 14, 15]),
];

const fn pow_mod(base: i64, exponent: u32) -> i64 {
    let mut result = 1;
    let mut n = 0;
    while n < exponent {
        result = result * base % Q as i64;
        n += 1;
    }
    result
}

/// `round(w 2^32 / q)`. Bounds: `|w| < q / 2`.
const fn quotient(w: i32) -> i32 {
    let (w, q) = (w as i64, Q as i64);
    let half = if w < 0 { -(q / 2) } else { q / 2 };
    (((w << 32) + half) / q) as i32
}

/// `w / q`, rounded once: both are exact in single precision.
const fn ratio(w: i32) -> f32 {
    w as f32 / Q as f32
}

/// A factor in `[0, q)` and `floor(w 2^32 / q)`.
const fn unsigned_pair(w: i64) -> (i32, u32) {
    (w as i32, ((w << 32) / Q as i64) as u32)
}

/// The factors of a transform, centred in `(-q/2, q/2)`.
const fn zetas(inverse: bool) -> [i32; 256] {
    let q = Q as i64;
    let mut powers = [1; 256];
    let mut n = 1;
    while n < 256 {
        powers[n] = powers[n - 1] * 1753 % q;
        n += 1;
    }
    let mut table = [0; 256];
    let mut k: usize = 1;
    while k < 256 {
        // Level m uses numbers 2^m..2^(m+1); the inverse walks them backwards.
        let level = 1usize << (k as u32).ilog2();
        let (k_used, negate) = if inverse {
            (3 * level - 1 - k, true)
        } else {
            (k, false)
        };
        let zeta = powers[(k_used as u8).reverse_bits() as usize];
        let w = if negate { q - zeta } else { zeta };
        table[k] = (if w > q / 2 { w - q } else { w }) as i32;
        k += 1;
    }
    table
}
