//! Kernels for ARMv7-M and its successors (Cortex-M3, M4, M7, M33), chosen at compile time. Their
//! bodies are in assembly, which `cargo xtask armv7m` generates; bounds are in the heads of those files.
//!
//! Constant time on CPUs whose multiplications are: on a Cortex-M3 `smull` and `smlal` take
//! between 3 and 7 cycles, depending on their operands, in portable code as here.

#![allow(unsafe_code)]

use core::arch::naked_asm;

#[cfg(mldsa_interleaved)]
use crate::hash::{keccak::ROUND_CONSTANTS, lane::stored};
use crate::params::N;
use crate::ring::field::montgomery_reduce_portable;
use crate::ring::ntt::{INV_256_MONT, ZETAS};
use crate::ring::poly::NttPoly;

/// Words of a quarter of a transform.
pub(crate) const QUARTER: usize = N / 4;

/// Rotations of the even and the odd word of each lane: a value is the stored word rotated right.
#[cfg(mldsa_interleaved)]
pub(crate) const ROTATIONS: [[u8; 2]; 25] = include!("armv7m/rotations.in");

/// The round constants as lane 0 stores them, and a word that is none of them.
#[cfg(mldsa_interleaved)]
static CONSTANTS: [u32; 49] = {
    let mut words = [u32::MAX; 49];
    let mut n = 0;
    while n < 24 {
        let lane = stored(ROUND_CONSTANTS[n], ROTATIONS[0]);
        words[2 * n] = lane as u32;
        words[2 * n + 1] = (lane >> 32) as u32;
        n += 1;
    }
    words
};

/// Zetas of the first two layers.
static FIRST: [i32; 3] = [ZETAS[1], ZETAS[2], ZETAS[3]];

/// Zetas of the other six layers, by quarter, as trees of three layers: one whose coefficients are
/// eight apart, then eight of neighbours. The inverse reads them backwards.
static OTHER: [[i32; 63]; 4] = {
    let mut zetas = [[0; 63]; 4];
    let mut quarter = 0;
    while quarter < 4 {
        let mut tree = 0;
        while tree < 9 {
            let root = if tree == 0 {
                4 + quarter
            } else {
                32 + 8 * quarter + tree - 1
            };
            let mut n = 0;
            while n < 7 {
                // Places in the tree: 1; 2, 3; 4 to 7.
                let layer = (n + 1usize).ilog2();
                zetas[quarter][7 * tree + n] = ZETAS[(root << layer) + n + 1 - (1 << layer)];
                n += 1;
            }
            tree += 1;
        }
        quarter += 1;
    }
    zetas
};

/// Zetas of the last two layers of the inverse, its factor, and the factor times the last zeta.
static LAST: [i32; 4] = {
    let product = INV_256_MONT as i64 * ZETAS[1] as i64;
    [
        ZETAS[3],
        ZETAS[2],
        INV_256_MONT,
        montgomery_reduce_portable(product),
    ]
};

macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*), $file:literal) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($argument: $type),*) {
            naked_asm!(include_str!(concat!("armv7m/", $file)), options(raw))
        }
    };
}

#[cfg(mldsa_interleaved)]
kernel! {
    /// Permutes; four rounds in the loop.
    keccak(state: *mut [u64; 25], constants: *const [u32; 49]), "keccak_4.s"
}
kernel! {
    /// The first two layers of the NTT.
    first_layers(w: *mut [i32; N], zetas: *const [i32; 3], from: *const [i32; N]), "first_layers.s"
}
kernel! {
    /// The other six.
    other_layers(w: *mut [i32; QUARTER], zetas: *const [i32; 63]), "last_layers.s"
}
kernel! {
    /// The first six layers of the inverse; the pointer is behind the zetas.
    first_inverse_layers(w: *mut [i32; QUARTER], zetas: *const [i32; 63], from: *const [i32; QUARTER]), "first_inverse_layers.s"
}
kernel! {
    /// The last two.
    last_inverse_layers(w: *mut [i32; N], factors: *const [i32; 4]), "last_inverse_layers.s"
}

#[cfg(feature = "unstable-internals")]
kernel! {
    /// Sums of three products, to the second and before the third.
    products(a: *const [i32; 8], b: *mut [[i32; 8]; 2], factors: *const [i32; 3]), "sums_of_three.s"
}

kernel! {
    /// Products of `count` polynomials each.
    sums(a: *const NttPoly, b: *const NttPoly, out: *mut NttPoly, count: usize), "row_product.s"
}

/// Keccak-f[1600] on lanes as [`stored`] makes them. Constant time.
#[cfg(mldsa_interleaved)]
#[inline(always)]
pub(crate) fn permute(state: &mut [u64; 25]) {
    // SAFETY: the function reads and writes the 25 lanes, and reads the constants.
    unsafe { keccak(state, &CONSTANTS) }
}

/// [`crate::ring::ntt::ntt`].
#[inline(always)]
pub(crate) fn ntt(src: &[i32; N], dst: &mut [i32; N]) {
    // SAFETY: the function reads N words at `src` and the zetas, and writes N words to `dst`.
    unsafe { first_layers(dst, &FIRST, src) }
    other_quarters(dst);
}

/// [`crate::ring::ntt::ntt`] in place.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub(crate) fn ntt_in_place(w: &mut [i32; N]) {
    // SAFETY: as above; the function reads the words of a step before it writes them.
    unsafe { first_layers(w, &FIRST, w) }
    other_quarters(w);
}

fn other_quarters(w: &mut [i32; N]) {
    for (quarter, w) in w.as_chunks_mut().0.iter_mut().enumerate() {
        last_layers(quarter, w);
    }
}

/// The last six layers of [`ntt`] on one quarter.
#[inline(always)]
pub(crate) fn last_layers(quarter: usize, w: &mut [i32; QUARTER]) {
    // SAFETY: the function reads and writes 64 words, and reads the zetas.
    unsafe { other_layers(w, &OTHER[quarter % 4]) }
}

/// [`crate::ring::ntt::inv_ntt`].
#[inline(always)]
pub(crate) fn inv_ntt(src: &[i32; N], dst: &mut [i32; N]) {
    let quarters = dst.as_chunks_mut().0.iter_mut().zip(src.as_chunks().0);
    for ((dst, src), zetas) in quarters.zip(OTHER.iter().rev()) {
        // SAFETY: the function reads 64 words at `src` and the zetas, which end at the pointer, and
        // writes 64 words to `dst`.
        unsafe { first_inverse_layers(dst, core::ptr::from_ref(zetas).add(1), src) }
    }
    // SAFETY: the function reads and writes N words, and reads the factors.
    unsafe { last_inverse_layers(dst, &LAST) }
}

/// [`crate::ring::ntt::inv_ntt`] in place.
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub(crate) fn inv_ntt_in_place(w: &mut [i32; N]) {
    for (w, zetas) in w.as_chunks_mut().0.iter_mut().zip(OTHER.iter().rev()) {
        // SAFETY: as above; the function reads eight words before it writes them.
        unsafe { first_inverse_layers(w, core::ptr::from_ref(zetas).add(1), w) }
    }
    // SAFETY: as above.
    unsafe { last_inverse_layers(w, &LAST) }
}

/// [`crate::ring::ntt::row_product`].
#[inline(always)]
pub(crate) fn row_product(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
    match a.len().min(b.len()) {
        0 => out.0.fill(0),
        // SAFETY: the function reads `count` polynomials of both, and writes `out`.
        count => unsafe { sums(a.as_ptr(), b.as_ptr(), out, count) },
    }
}

/// [`crate::ring::field::sums_of_three`].
#[cfg(feature = "unstable-internals")]
#[inline(always)]
pub(crate) fn sums_of_three(factors: &[i32; 3], a: &[i32; 8], b: &mut [[i32; 8]; 2]) {
    // SAFETY: the function reads what the pointers point to, and writes 8 words to `b`.
    unsafe { products(a, b, factors) }
}
