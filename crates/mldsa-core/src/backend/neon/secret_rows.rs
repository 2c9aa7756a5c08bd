//! The rows of signing and key generation. Constant time; verdicts are secret.

use core::arch::aarch64::*;

use super::ntt::{inv_ntt, ntt};
use super::pack::{pack, pack_fours, pack_threes};
use super::product::{Sums, row_sums};
use super::unpack::{eta_field, field, short_field};
use super::vector::{Eight, bytes, get, low_bytes, positive, put, put_bytes_at};
use super::w1::{high_bits, rounded, wrapped};
use crate::backend::transform::{Order, Standard, Vector, response};
use crate::coding::hint::HINT_ROW_LEN;
use crate::memory::ct::is_negative;
use crate::memory::secret::Secret;
use crate::params::{D, GAMMA2_88, N, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};

/// Fused BitUnpack and NTT of one y. Bounds: `|out| < 9 q`.
#[target_feature(enable = "neon")]
pub(super) fn unpack_mask_ntt(gamma1_bits: u32, bytes: &[u8], out: &mut NttPoly) {
    match gamma1_bits {
        17 => ntt::<Standard>(
            #[inline(always)]
            |n| response(field::<18>(bytes, n), 1 << 17),
            &mut out.0,
        ),
        _ => ntt::<Standard>(
            #[inline(always)]
            |n| response(field::<20>(bytes, n), 1 << 19),
            &mut out.0,
        ),
    }
}

/// Fused BitUnpack, range check and NTT of one row of s1 or s2. Bounds: `|out| < 9 q`.
#[target_feature(enable = "neon")]
pub(super) fn unpack_eta_ntt(eta: i32, bytes: &[u8], out: &mut NttPoly) -> bool {
    let mut largest = Largest::none();
    ntt::<Standard>(
        #[inline(always)]
        |n| {
            let code = eta_field(eta, bytes, n);
            largest.of(code);
            response(code, eta)
        },
        &mut out.0,
    );
    largest.within(2 * eta)
}

/// Fused BitUnpack and NTT of one row of t0. Bounds: `|out| < 9 q`.
#[target_feature(enable = "neon")]
pub(super) fn unpack_t0_ntt(bytes: &[u8], out: &mut NttPoly) {
    ntt::<Standard>(
        #[inline(always)]
        |n| response(short_field::<{ D as usize }>(bytes, n), 1 << (D - 1)),
        &mut out.0,
    );
}

/// BitPack of one row of s1 or s2.
#[target_feature(enable = "neon")]
pub(super) fn pack_eta(eta: i32, s: &Poly, out: &mut [u8]) {
    let mut codes = Secret::<[u8; N]>::zeroed();
    let codes = codes.expose_mut();
    for n in 0..N / 16 {
        let a = response(get(&s.0, 2 * n), eta);
        let b = response(get(&s.0, 2 * n + 1), eta);
        put_bytes_at(codes, 16 * n, low_bytes(a, b));
    }
    if eta == 2 {
        pack_threes(codes, out);
    } else {
        pack_fours(codes, out);
    }
}

/// One row of `Power2Round(A s1 + s2)`, packed.
#[target_feature(enable = "neon")]
pub(super) fn public_row(
    eta: i32,
    a_row: &[NttPoly],
    s1_hat: &[NttPoly],
    s2: &[u8],
    t1_out: &mut [u8; T1_POLY_LEN],
    t0_out: &mut [u8; T0_POLY_LEN],
) {
    let mut t = Secret::<Poly>::zeroed();
    let t = t.expose_mut();
    row_of_product(a_row, s1_hat, t);
    for n in 0..N / 8 {
        let s2 = response(eta_field(eta, s2, n), eta);
        // -eta <= t + s2 < q + eta
        let t = get(&t.0, n).add(s2).canonical();
        let up = t.splat((1 << (D - 1)) - 1);
        let t1 = t.add(up).map(
            #[inline(always)]
            |t| vshrq_n_s32::<{ D as i32 }>(t),
        );
        let t0 = t.sub(t1.map(
            #[inline(always)]
            |t1| vshlq_n_s32::<{ D as i32 }>(t1),
        ));
        pack::<10>(t1, n, t1_out);
        pack::<{ D as i32 }>(response(t0, 1 << (D - 1)), n, t0_out);
    }
}

/// One row of a commitment: w = A y and its packed high bits.
#[target_feature(enable = "neon")]
pub(super) fn commit_row(
    gamma2: i32,
    a_row: &[NttPoly],
    y_hat: &[NttPoly],
    w: &mut Poly,
    w1: &mut [u8],
) {
    row_of_product(a_row, y_hat, w);
    match gamma2 {
        GAMMA2_88 => high_bits::<true>(w, w1),
        _ => high_bits::<false>(w, w1),
    }
}

/// One row of z = y + c s1, packed, and its norm check.
#[target_feature(enable = "neon")]
pub(super) fn respond_row(
    gamma1_bits: u32,
    bound: i32,
    c_hat: &NttPoly,
    s1_hat: &NttPoly,
    y_hat: &NttPoly,
    out: &mut [u8],
) -> bool {
    let mut z = Secret::<Poly>::zeroed();
    let z = z.expose_mut();
    // |c s1 + y| < 121 q^2 + 11 q; the common factor 2^-32 leaves with the inverse
    // transform.
    centred_inv_ntt(
        #[inline(always)]
        |n| Sums::of(get(&c_hat.0, n), get(&s1_hat.0, n)).add_one(get(&y_hat.0, n)),
        z,
    );
    let mut largest = Largest::none();
    for n in 0..N / 8 {
        let z = get(&z.0, n);
        largest.of(magnitude(z));
        match gamma1_bits {
            17 => pack::<18>(response(z, 1 << 17), n, out),
            _ => pack::<20>(response(z, 1 << 19), n, out),
        }
    }
    largest.within(bound - 1)
}

/// One row of w - c s2 in the place of w, and the check of its low bits.
#[target_feature(enable = "neon")]
pub(super) fn low_bits_row(
    gamma2: i32,
    bound: i32,
    c_hat: &NttPoly,
    s2_hat: &NttPoly,
    w: &mut Poly,
) -> bool {
    let mut cs2 = Secret::<Poly>::zeroed();
    let cs2 = cs2.expose_mut();
    product_inv_ntt(c_hat, s2_hat, cs2);
    let mut largest = Largest::none();
    for n in 0..N / 8 {
        let r = get(&w.0, n).sub(get(&cs2.0, n)).canonical();
        put(&mut w.0, n, r);
        let r0 = match gamma2 {
            GAMMA2_88 => low_bits::<true>(gamma2, r),
            _ => low_bits::<false>(gamma2, r),
        };
        largest.of(magnitude(r0));
    }
    largest.within(bound - 1)
}

/// MakeHint of one row as a bitmap, and the norm check of c t0.
#[target_feature(enable = "neon")]
pub(super) fn hint_row(
    gamma2: i32,
    c_hat: &NttPoly,
    t0_hat: &NttPoly,
    w: &Poly,
    bitmap: &mut [u8; HINT_ROW_LEN],
) -> bool {
    let mut ct0 = Secret::<Poly>::zeroed();
    let ct0 = ct0.expose_mut();
    product_inv_ntt(c_hat, t0_hat, ct0);
    let mut largest = Largest::none();
    for (n, bits) in bitmap.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let mut sums = |n: usize| {
            let (w, ct0) = (get(&w.0, n), get(&ct0.0, n));
            largest.of(magnitude(ct0));
            (w, w.add(ct0).canonical())
        };
        let ((a, a_sum), (b, b_sum)) = (sums(2 * n), sums(2 * n + 1));
        *bits = match gamma2 {
            GAMMA2_88 => changed_high_bits::<true>([a, b], [a_sum, b_sum]),
            _ => changed_high_bits::<false>([a, b], [a_sum, b_sum]),
        };
    }
    largest.within(gamma2 - 1)
}

/// The product of two polynomials, back in centred coefficients.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn product_inv_ntt(a: &NttPoly, b: &NttPoly, out: &mut Poly) {
    centred_inv_ntt(
        #[inline(always)]
        |n| Sums::of(get(&a.0, n), get(&b.0, n)),
        out,
    );
}

/// The centred coefficients of what the sums are the product of.
#[inline]
#[target_feature(enable = "neon")]
fn centred_inv_ntt(sums: impl Fn(usize) -> Sums, out: &mut Poly) {
    inv_ntt(
        #[inline(always)]
        |n| Standard::to_private(sums(2 * n).reduce(), sums(2 * n + 1).reduce()).into(),
        #[inline(always)]
        |v| v.centred(),
        &mut out.0,
    );
}

/// A row of A times a vector, back in canonical coefficients.
#[inline]
#[target_feature(enable = "neon")]
fn row_of_product(a: &[NttPoly], b: &[NttPoly], out: &mut Poly) {
    inv_ntt(
        #[inline(always)]
        |n| {
            let product = |n| row_sums(a, b, n).reduce();
            Standard::to_private(product(2 * n), product(2 * n + 1)).into()
        },
        #[inline(always)]
        |v| {
            v.map(
                #[inline(always)]
                |v| positive(v),
            )
        },
        &mut out.0,
    );
}

/// Algorithm 38 on canonical coefficients.
#[inline]
#[target_feature(enable = "neon")]
fn low_bits<const SIX_BITS: bool>(gamma2: i32, r: Eight) -> Eight {
    let r1 = rounded::<SIX_BITS>(r);
    let four = |r: int32x4_t, r1: int32x4_t| {
        let r0 = vmlsq_s32(r, r1, vdupq_n_s32(2 * gamma2));
        // The topmost residues, whose r1 is one too many, have r - q instead of
        // r - (q - 1).
        let topmost = vcgtq_s32(r1, vdupq_n_s32(if SIX_BITS { 43 } else { 15 }));
        vaddq_s32(r0, vreinterpretq_s32_u32(topmost))
    };
    Eight(four(r.0, r1.0), four(r.1, r1.1))
}

/// One bit for each of sixteen coefficients: whether their high bits differ.
#[inline]
#[target_feature(enable = "neon")]
fn changed_high_bits<const SIX_BITS: bool>(before: [Eight; 2], after: [Eight; 2]) -> [u8; 2] {
    let high = |[a, b]: [Eight; 2]| {
        let (a, b) = (rounded::<SIX_BITS>(a), rounded::<SIX_BITS>(b));
        wrapped::<SIX_BITS>(low_bytes(a, b))
    };
    let same = vceqq_u8(high(before), high(after));
    let bits = vbicq_u8(
        bytes(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]),
        same,
    );
    let bits = vpaddq_u8(bits, bits);
    let bits = vpaddq_u8(bits, bits);
    let bits = vpaddq_u8(bits, bits);
    vgetq_lane_u16::<0>(vreinterpretq_u16_u8(bits)).to_le_bytes()
}

/// |a|.
#[inline]
#[target_feature(enable = "neon")]
fn magnitude(a: Eight) -> Eight {
    a.map(
        #[inline(always)]
        |a| vabsq_s32(a),
    )
}

/// The largest of many coefficients, which are not negative.
struct Largest(int32x4_t);

impl Largest {
    #[inline]
    #[target_feature(enable = "neon")]
    fn none() -> Self {
        Self(vdupq_n_s32(0))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn of(&mut self, a: Eight) {
        self.0 = vmaxq_s32(self.0, vmaxq_s32(a.0, a.1));
    }

    /// The verdict, passed through the value barrier: the caller declassifies it.
    #[inline]
    #[target_feature(enable = "neon")]
    fn within(self, limit: i32) -> bool {
        !is_negative(limit - vmaxvq_s32(self.0))
    }
}
