//! Bit fields to coefficients, fused with the forward transform. Constant time.

use super::fields::{field, short_field};
use super::ntt::ntt;
use super::vector::{Largest, magnitude, shift_left, widened};
use crate::backend::transform::{Order, response};
use crate::params::{D, N};
use crate::ring::poly::NttPoly;

/// Fused BitUnpack (algorithm 19), norm check and NTT of one polynomial of z.
/// `bytes` holds `32 * BITS` bytes, `BITS` is 18 or 20. Returns whether every
/// `|z| < bound`.
///
/// Bounds: `|out| < 9 q`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn unpack_z_ntt<const BITS: usize, O: Order>(
    bytes: &[u8],
    bound: i32,
    out: &mut NttPoly,
) -> bool {
    let mut largest = Largest::none();
    ntt::<O>(
        #[inline(always)]
        |n| {
            let z = response(field::<BITS>(bytes, n), 1 << (BITS - 1));
            largest.of(magnitude(z));
            z
        },
        &mut out.0,
    );
    largest.within(bound - 1)
}

/// NTT of the challenge. Bounds: `|out| < 9 q`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn challenge_ntt<O: Order>(c: &[i8; N], out: &mut NttPoly) {
    let chunks = c.as_chunks::<8>().0;
    ntt::<O>(
        #[inline(always)]
        |n| widened(&chunks[n]),
        &mut out.0,
    );
}

/// `NTT(-t1 2^13)` from the 320 packed bytes of one row of t1.
///
/// Bounds: `|out| < 9.1 q`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn unpack_t1_ntt<O: Order>(bytes: &[u8], out: &mut NttPoly) {
    ntt::<O>(
        #[inline(always)]
        // 0 <= t1 < 2^10 gives -q < -t1 2^13 <= 0.
        |n| shift_left::<{ D as i32 }>(response(short_field::<10>(bytes, n), 0)),
        &mut out.0,
    );
}
