//! NTT and inverse NTT with the whole polynomial in sixteen `zmm` registers.
//!
//! Products of the forward transform are in Shoup's form: with
//! `w' = round(w 2^32 / q)` stored with `w`, `t = floor(b w' / 2^32)` and `b w - t q`
//! is in `(-q/4, 5q/4)` for every `|b| < 2^31`, since `|b| * 0.5 / 2^32 < 1/4`.
//! Those of the inverse need to be small only against sums that double at every
//! level: on public data their quotients come from single precision ([`Nearest`]), on
//! secrets from the same integers ([`Shoup`]). Bounds: `avx512.rs`.
//!
//! The last four levels work inside registers; the order they leave the
//! coefficients in is private to this backend ([`Order`]).

use super::registers::{Aligned, EvenLanes, for_each_register};
use super::vector::Vector;
use crate::params::Q;
use core::arch::x86_64::__m512i;

/// One twiddle factor for every lane.
#[inline(always)]
fn shoup_by(b: __m512i, w: (i32, i32), lanes: EvenLanes) -> __m512i {
    let w_shoup = b.splat(w.1);
    b.shoup(b.splat(w.0), w_shoup, w_shoup, lanes)
}

#[inline(always)]
fn shoup_lanes(b: __m512i, w: &LaneTwiddle, lanes: EvenLanes) -> __m512i {
    b.shoup(b.load(&w.w), b.load(&w.even), b.load(&w.odd), lanes)
}

/// Multiplication by factors in the inverse transform.
pub(super) trait Products {
    /// Multiplies by factor number `k` in every lane.
    fn by(b: __m512i, k: usize, lanes: EvenLanes) -> __m512i;
    /// Multiplies by the factors of a pair of registers, one for each lane; levels are as in
    /// [`pair_order`].
    fn by_lanes(b: __m512i, level_pair: (usize, usize), lanes: EvenLanes) -> __m512i;
}

/// Products in integers, `(-q/4, 5q/4)`.
pub(super) enum Shoup {}

impl Products for Shoup {
    #[inline(always)]
    fn by(b: __m512i, k: usize, lanes: EvenLanes) -> __m512i {
        shoup_by(b, INVERSE_ZETAS[k], lanes)
    }

    #[inline(always)]
    fn by_lanes(b: __m512i, (level, pair): (usize, usize), lanes: EvenLanes) -> __m512i {
        shoup_lanes(b, &INVERSE[level][pair], lanes)
    }
}

/// Products with quotients from single precision, fewer instructions. Public data:
/// what floating point instructions take is nowhere promised.
pub(super) enum Nearest {}

impl Products for Nearest {
    #[inline(always)]
    fn by(b: __m512i, k: usize, _: EvenLanes) -> __m512i {
        let w = INVERSE_ZETAS[k].0;
        b.nearest(b.splat(w), b.splat_ratio(ratio(w)))
    }

    #[inline(always)]
    fn by_lanes(b: __m512i, (level, pair): (usize, usize), _: EvenLanes) -> __m512i {
        let w = &INVERSE_RATIOS[level][pair];
        b.nearest(b.load(&w.w), b.load_ratio(&w.ratio))
    }
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
    ($step:ident, $multiply:ident, $v:ident, $level:literal) => {
        $step!($v, $multiply;
            (0, 1, ($level, 0)), (2, 3, ($level, 1)), (4, 5, ($level, 2)), (6, 7, ($level, 3)),
            (8, 9, ($level, 4)), (10, 11, ($level, 5)), (12, 13, ($level, 6)), (14, 15, ($level, 7)))
    };
}

macro_rules! register_levels {
    ($step:ident, $multiply:ident, $v:ident, 128) => {
        $step!($v, $multiply;
            (0, 8, 1), (1, 9, 1), (2, 10, 1), (3, 11, 1),
            (4, 12, 1), (5, 13, 1), (6, 14, 1), (7, 15, 1))
    };
    ($step:ident, $multiply:ident, $v:ident, 64) => {
        $step!($v, $multiply;
            (0, 4, 2), (1, 5, 2), (2, 6, 2), (3, 7, 2),
            (8, 12, 3), (9, 13, 3), (10, 14, 3), (11, 15, 3))
    };
    ($step:ident, $multiply:ident, $v:ident, 32) => {
        $step!($v, $multiply;
            (0, 2, 4), (1, 3, 4), (4, 6, 5), (5, 7, 5),
            (8, 10, 6), (9, 11, 6), (12, 14, 7), (13, 15, 7))
    };
    ($step:ident, $multiply:ident, $v:ident, 16) => {
        $step!($v, $multiply;
            (0, 1, 8), (2, 3, 9), (4, 5, 10), (6, 7, 11),
            (8, 9, 12), (10, 11, 13), (12, 13, 14), (14, 15, 15))
    };
}

/// Algorithm 41, out in private order.
///
/// Bounds: `|v| < B` in, `|v| < B + 10 q` out, `B + 10 q < 2^31`.
#[inline(always)]
pub(super) fn ntt_registers(v: &mut [__m512i; 16]) {
    let lanes = EvenLanes::new();
    let by = |b, k: usize| shoup_by(b, ZETAS[k], lanes);
    let by_lanes = |b, (level, pair): (usize, usize)| shoup_lanes(b, &FORWARD[level][pair], lanes);
    register_levels!(forward, by, v, 128);
    register_levels!(forward, by, v, 64);
    register_levels!(forward, by, v, 32);
    register_levels!(forward, by, v, 16);
    repack!(v, Vector::blocks::<0x44>, Vector::blocks::<0xee>);
    lane_level!(forward, by_lanes, v, 0);
    repack!(v, Vector::blocks::<0x88>, Vector::blocks::<0xdd>);
    lane_level!(forward, by_lanes, v, 1);
    repack!(v, Vector::low_qwords, Vector::high_qwords);
    lane_level!(forward, by_lanes, v, 2);
    repack!(v, Vector::dwords::<0x88>, Vector::dwords::<0xdd>);
    lane_level!(forward, by_lanes, v, 3);
}

/// Algorithm 42 times `2^32`, from private order.
///
/// Bounds: `|v| <= q` in, `[0, q)` out. In between sums at most double at each
/// level; the product of a difference `|b| <= 2^n q`, `n > 0`, is less: below
/// `(1/2 + 3/4 2^n) q` with [`Nearest`] and below `5q/4` with [`Shoup`].
#[inline(always)]
pub(super) fn inv_ntt_registers<P: Products>(v: &mut [__m512i; 16]) {
    let lanes = EvenLanes::new();
    let by = |b, k: usize| P::by(b, k, lanes);
    let by_lanes = |b, level_pair| P::by_lanes(b, level_pair, lanes);
    lane_level!(inverse, by_lanes, v, 3);
    repack!(v, Vector::low_dwords, Vector::high_dwords);
    lane_level!(inverse, by_lanes, v, 2);
    repack!(v, Vector::low_qwords, Vector::high_qwords);
    lane_level!(inverse, by_lanes, v, 1);
    let [low, high] = &UNDO_QUARTERS;
    repack!(
        v,
        |a: __m512i, b| a.permute_qwords(low, b),
        |a: __m512i, b| a.permute_qwords(high, b)
    );
    lane_level!(inverse, by_lanes, v, 0);
    repack!(v, Vector::blocks::<0x44>, Vector::blocks::<0xee>);
    register_levels!(inverse, by, v, 16);
    register_levels!(inverse, by, v, 32);
    register_levels!(inverse, by, v, 64);
    // The last level multiplies both halves, the upper one by zeta too.
    for_each_register!(n in 0..8, {
        (v[n], v[n + 8]) = v[n].scaled_ends(v[n + 8], SCALE, lanes);
    });
}

/// Any `|v| < 2^31` to the same residue in `(-q/4, 5q/4)`.
#[inline(always)]
pub(super) fn reduce(v: __m512i) -> __m512i {
    shoup_by(v, const { (1, quotient(1)) }, EvenLanes::new())
}

/// The order that a polynomial in NTT form has in memory.
pub(super) trait Order {
    /// One pair of registers as [`ntt_registers`] leaves it, in this order.
    fn from_private(a: __m512i, b: __m512i) -> (__m512i, __m512i);
    /// One pair of registers in this order, as [`inv_ntt_registers`] takes it.
    fn to_private(a: __m512i, b: __m512i) -> (__m512i, __m512i);
}

/// The order of algorithm 41.
pub(super) enum Standard {}

impl Order for Standard {
    #[inline(always)]
    fn from_private(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        to_standard_order(a, b)
    }

    #[inline(always)]
    fn to_private(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        from_standard_order(a, b)
    }
}

/// The order of this backend, in which nothing has to move.
pub(super) enum Private {}

impl Order for Private {
    #[inline(always)]
    fn from_private(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        (a, b)
    }

    #[inline(always)]
    fn to_private(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        (a, b)
    }
}

/// Reorders one pair of registers from private to standard order.
#[inline(always)]
pub(super) fn to_standard_order(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let [low, high] = &TO_STANDARD;
    (a.permute_dwords(low, b), a.permute_dwords(high, b))
}

/// Reorders one pair of registers from standard to private order.
#[inline(always)]
pub(super) fn from_standard_order(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
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
// Not a static, whose value the compiler does not know in other codegen units.
const ZETAS: &[(i32, i32); 256] = &with_quotients(zetas(false));
/// `-zeta^brv(3 2^m - 1 - k)` for `2^m <= k < 2^(m+1)` and its quotient: the factor
/// the inverse uses where the forward transform used number `k`.
const INVERSE_ZETAS: &[(i32, i32); 256] = &with_quotients(zetas(true));

const fn with_quotients(zetas: [i32; 256]) -> [(i32, i32); 256] {
    let mut table = [(0, 0); 256];
    let mut k = 0;
    while k < 256 {
        table[k] = (zetas[k], quotient(zetas[k]));
        k += 1;
    }
    table
}

static FORWARD: [[LaneTwiddle; 8]; 4] = lane_twiddles(ZETAS);
static INVERSE: [[LaneTwiddle; 8]; 4] = lane_twiddles(INVERSE_ZETAS);

const fn lane_twiddles(factors: &[(i32, i32); 256]) -> [[LaneTwiddle; 8]; 4] {
    let mut tables = [const { [LaneTwiddle::EMPTY; 8] }; 4];
    let mut n = 0;
    while n < 4 * 8 * 16 {
        let (level, pair, lane) = (n / 128, n / 16 % 8, n % 16);
        let (w, quotient) = factors[zeta_number(level, pair, lane)];
        let twiddle = &mut tables[level][pair];
        twiddle.w.0[lane] = w;
        twiddle.even.0[lane] = quotient;
        if lane % 2 == 1 {
            twiddle.odd.0[lane - 1] = quotient;
        }
        n += 1;
    }
    tables
}

static INVERSE_RATIOS: [[LaneRatio; 8]; 4] = {
    let mut tables = [const { [LaneRatio::EMPTY; 8] }; 4];
    let mut n = 0;
    while n < 4 * 8 * 16 {
        let (level, pair, lane) = (n / 128, n / 16 % 8, n % 16);
        let (w, _) = INVERSE_ZETAS[zeta_number(level, pair, lane)];
        tables[level][pair].w.0[lane] = w;
        tables[level][pair].ratio.0[lane] = ratio(w);
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

/// Source of lane `n` of the register pair after level `level` (0: length 8, 3:
/// length 1), counted from the first coefficient of the pair.
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
