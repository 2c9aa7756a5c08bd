//! The steps of key generation, signing and verification on one row at a time,
//! between packed encodings and one polynomial in memory.

use crate::coding::hint::HINT_ROW_LEN;
use crate::coding::pack::{
    GROUP, pack_t0_part, pack_t1_part, pack_z_part, part, part_mut, unpack_eta_part, unpack_z_part,
    w1_encode_part,
};
use crate::hash::transcript::CommitmentHash;
use crate::memory::ct::{abs, is_negative};
use crate::memory::secret::{Secret, declassify};
use crate::params::{D, GAMMA2_88, N, Params};
use crate::ring::field::canonical;
use crate::ring::rounding::{
    high_bits, low_and_flag, make_hint_low, power2round, use_hint_vartime,
};
use crate::streaming::sparse::{CHUNK, SparseChallenge, unpack_row};

/// Computes lines 5 and 6 of algorithm 6 for one row: adds the packed row of s2 to
/// `acc`, which holds the row of A s1 and is used up, and writes the packed rows
/// of t1 (320 bytes) and t0 (416 bytes); an empty slice for one not wanted.
///
/// Bounds: 0 <= acc < q. Constant time.
#[inline(never)]
pub fn power2round_row(eta: i32, acc: &mut [i32; N], s2: &[u8], t1: &mut [u8], t0: &mut [u8]) {
    let bits = if eta == 2 { 3 } else { 4 };
    let mut low = Secret::<[i32; GROUP]>::zeroed();
    let low = low.expose_mut();
    for (n, high) in (0..).step_by(GROUP).zip(acc.as_chunks_mut::<GROUP>().0) {
        unpack_eta_part(eta, part(s2, bits, n, GROUP), low);
        for (high, low) in high.iter_mut().zip(low.iter_mut()) {
            (*high, *low) = power2round(canonical(*high + *low));
        }
        pack_t1_part(high, part_mut(t1, 10, n, GROUP));
        pack_t0_part(low, part_mut(t0, 13, n, GROUP));
    }
}

/// Absorbs HighBits and w1Encode of a row of w.
///
/// Bounds: 0 <= w < q. Constant time.
#[inline(never)]
pub fn absorb_high_bits(gamma2: i32, w: &[i32; N], hash: &mut CommitmentHash) {
    let mut w1 = Secret::<[u8; 24]>::zeroed();
    let w1 = &mut w1.expose_mut()[..w1_part_len(gamma2)];
    for w in w.chunks_exact(4 * GROUP) {
        w1_encode_part(gamma2, w, w1, |a| high_bits(gamma2, a));
        hash.absorb_w1(w1);
    }
}

/// Bytes of 32 coefficients of w1.
const fn w1_part_len(gamma2: i32) -> usize {
    if gamma2 == GAMMA2_88 { 24 } else { 16 }
}

/// Computes [`low_and_flag`] of a row of w, in place.
///
/// Bounds: 0 <= w < q. Constant time.
#[inline(never)]
pub fn low_row(gamma2: i32, w: &mut [i32; N]) {
    for a in w {
        *a = low_and_flag(gamma2, *a);
    }
}

/// Returns whether a row of z = y + c s1 reaches gamma1 - beta. `y` and `s1` are packed
/// rows.
///
/// Constant time up to the verdict.
#[inline(never)]
pub fn z_row_reaches(p: &Params, c: &SparseChallenge, s1: &[u8], y: &[u8]) -> bool {
    let bits = 1 + p.gamma1_bits as usize;
    let mut z = Secret::<[i32; CHUNK]>::zeroed();
    let z = z.expose_mut();
    let mut sign = 0;
    c.times_secret(p.eta, s1, |n, cs1| {
        unpack_z_part(p.gamma1_bits, part(y, bits, n, CHUNK), z);
        for (&y, &cs1) in z.iter().zip(&*cs1) {
            sign |= p.gamma1() - p.beta() - 1 - abs(y + cs1);
        }
    });
    declassify(is_negative(sign), "z verdict of a row")
}

/// Packs a row of z = y + c s1 into `z`, for an accepted attempt.
///
/// Bounds: the row passed [`z_row_reaches`]. Constant time.
#[inline(never)]
pub fn z_row_write(p: &Params, c: &SparseChallenge, s1: &[u8], y: &[i32; N], z: &mut [u8]) {
    let bits = 1 + p.gamma1_bits as usize;
    let mut sum = Secret::<[i32; CHUNK]>::zeroed();
    let sum = sum.expose_mut();
    c.times_secret(p.eta, s1, |n, cs1| {
        for ((sum, &y), &cs1) in sum.iter_mut().zip(&y[n..]).zip(&*cs1) {
            *sum = y + cs1;
        }
        pack_z_part(p.gamma1_bits, sum, part_mut(z, bits, n, CHUNK));
    });
}

/// Returns whether the packed row `packed` holds the mask `y`. Constant time up to the verdict.
#[inline(never)]
pub fn is_mask_row(p: &Params, packed: &[u8], y: &[i32; N]) -> bool {
    let bits = 1 + p.gamma1_bits as usize;
    let mut row = Secret::<[i32; CHUNK]>::zeroed();
    let row = row.expose_mut();
    let mut difference = 0;
    for (n, y) in (0..).step_by(CHUNK).zip(y.chunks_exact(CHUNK)) {
        unpack_z_part(p.gamma1_bits, part(packed, bits, n, CHUNK), row);
        for (row, y) in row.iter().zip(y) {
            difference |= row ^ y;
        }
    }
    let differ = is_negative(difference | difference.wrapping_neg());
    !declassify(differ, "verdict of a self-verification")
}

/// Subtracts c s2 from a row of [`low_row`]; returns whether it reaches gamma2 -
/// beta. w0 - c s2 replaces LowBits(w - c s2): they differ only where both are
/// rejected.
///
/// Constant time up to the verdict.
#[inline(never)]
pub fn r0_row_reaches(p: &Params, c: &SparseChallenge, s2: &[u8], low: &mut [i32; N]) -> bool {
    let mut sign = 0;
    c.times_secret(p.eta, s2, |n, cs2| {
        for (low, &cs2) in low[n..].iter_mut().zip(&*cs2) {
            *low -= 2 * cs2;
            sign |= p.gamma2 - p.beta() - 1 - abs(*low >> 1);
        }
    });
    declassify(is_negative(sign), "r0 verdict of a row")
}

/// Computes MakeHint for one row, from what [`r0_row_reaches`] left and the packed row
/// of t0. Returns whether c t0 reaches gamma2; possible in ML-DSA-44 only.
///
/// Constant time up to the verdict: the bitmap is written without branches.
#[inline(never)]
pub fn hint_row(
    p: &Params,
    c: &SparseChallenge,
    t0: &[u8],
    low: &[i32; N],
    bitmap: &mut [u8; HINT_ROW_LEN],
) -> bool {
    let mut row = Secret::<[i16; N]>::zeroed();
    let row = row.expose_mut();
    unpack_row(row, 13, t0);
    let mut sign = 0;
    c.times_row::<GROUP>(row, |n, ct0| {
        let mut byte = 0;
        for (bit, (&ct0, &low)) in ct0.iter().zip(&low[n..]).enumerate() {
            sign |= p.gamma2 - 1 - abs(ct0);
            byte |= make_hint_low(p.gamma2, low, ct0) << bit;
        }
        bitmap[n / 8] = byte as u8;
    });
    declassify(is_negative(sign), "ct0 verdict of a row")
}

/// Returns whether a packed row of z reaches gamma1 - beta (algorithm 8 line 13).
#[inline(never)]
pub fn response_row_reaches(p: &Params, z: &[u8]) -> bool {
    let mut sign = 0;
    // A signer that checks itself may reject what it made.
    let mut group = Secret::<[i32; GROUP]>::zeroed();
    let group = group.expose_mut();
    for n in (0..N).step_by(GROUP) {
        let bytes = part(z, 1 + p.gamma1_bits as usize, n, GROUP);
        unpack_z_part(p.gamma1_bits, bytes, group);
        sign |= response_sign(p, group);
    }
    sign < 0
}

/// Returns a negative number if a coefficient of z reaches gamma1 - beta.
#[inline(always)]
pub fn response_sign(p: &Params, z: &[i32]) -> i32 {
    let mut sign = 0;
    for &z in z {
        sign |= p.gamma1() - p.beta() - 1 - abs(z);
    }
    sign
}

/// Computes lines 9 to 12 of algorithm 8 for one row: subtracts c t1 2^13 from `acc`,
/// which holds the row of A z and is used up, applies the row's hint indices,
/// and absorbs the packed row of w1.
///
/// Bounds: 0 <= acc < q; |c t1 2^13| <= 60 1023 2^13 < 2^29.
pub fn absorb_w1_row(
    p: &Params,
    c: &SparseChallenge,
    t1: &[u8],
    hint: &[u8],
    acc: &mut [i32; N],
    hash: &mut CommitmentHash,
) {
    subtract_ct1(c, t1, acc);
    absorb_hinted(p, hint, acc, hash);
}

/// The product. A frame of its own, released before that of the hash.
#[inline(never)]
fn subtract_ct1(c: &SparseChallenge, t1: &[u8], acc: &mut [i32; N]) {
    c.times_t1(t1, |n, ct1| {
        for (a, &ct1) in acc[n..].iter_mut().zip(&*ct1) {
            *a = canonical(*a - (ct1 << D));
        }
    });
}

/// UseHint and w1Encode.
#[inline(never)]
fn absorb_hinted(p: &Params, hint: &[u8], acc: &mut [i32; N], hash: &mut CommitmentHash) {
    let mut indices = hint.iter().map(|&n| usize::from(n)).peekable();
    for (n, a) in acc.iter_mut().enumerate() {
        let hinted = indices.next_if_eq(&n).is_some();
        *a = use_hint_vartime(p.gamma2, i32::from(hinted), *a);
    }
    let mut w1 = Secret::<[u8; 24]>::zeroed();
    let w1 = &mut w1.expose_mut()[..w1_part_len(p.gamma2)];
    for w in acc.chunks_exact(4 * GROUP) {
        w1_encode_part(p.gamma2, w, w1, |a| a);
        hash.absorb_w1(w1);
    }
}
