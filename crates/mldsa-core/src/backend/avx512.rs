//! AVX-512 (F, BW, DQ, VL, VBMI, IFMA): 512-bit kernels for verification.
//!
//! Functions carry their `#[target_feature]`, so that the compiler rejects a call from one with
//! fewer features to one with more. Other code reaches them through the table, which is returned
//! after detection only, and through the traits of `lanes/`, whose methods take a proof:
//! [`Avx512`] or a register, which only code for this CPU makes.
//!
//! # Arithmetic
//!
//! 256 coefficients are sixteen registers, so a transform is one load, eight levels and one store.
//! The last four levels work inside registers after repacking pairs of them. The order that results
//! is private. Prepared keys are kept in it, as `[block of 16][row][column]`, the t1 column last in
//! each row.
//!
//! **Products by constants** are Shoup's: each `w`, centred, is stored with `w' = round(w 2^32 /
//! q)`. With `t = floor(b w' / 2^32)` the result `b w - t q` is congruent to `b w`. For every `|b|
//! < 2^31` it is in `(-q/4, 5q/4)`, because `|b w'/2^32 - b w/q| <= |b|/2^33 < 1/4`.
//!
//! | value | bound |
//! |---|---|
//! | `ntt_registers` | in B, out B + 10 q (eight levels of 5q/4), any B below 2^31 - 10 q |
//! | z, c, t1 biased | `|v| < 11 q` plus 11 q: `(0, 22 q)`, below 2^28 |
//! | c reduced (cold path) | `(3q/4, 9q/4)` |
//! | product of two entries | `q * 22 q` or `9q/4 * 22 q`, below `49.5 q^2 < 2^52`: exact in the low half of IFMA |
//! | sum of at most eight | `7 * 22 q^2 + 49.5 q^2 < 204 q^2 < 2^54` |
//! | after the reduction by 2^32 | `[-q, q)`, since `204 q^2 / 2^32 < q` |
//! | inside `inv_ntt_registers` | sums double at each level: at most `256 q < 2^31`; products of `|b| <= 2^n q` stay below `(1/2 + 3/4 2^n) q` |
//! | out of it | `[0, q)`; the scale 2^32/256 sits in the last level's factors |
//!
//! In the cold path t1 stays unreduced and the challenge, of which there is one, is reduced
//! instead. `canonical` needs no comparison: of `x`, `x + q` and `x - q` the wanted one is the
//! smallest unsigned number.
//!
//! **The inverse transform** needs products only to stay below sums that double at every level, so
//! an approximate quotient suffices: `t = round(b (w / q))` in single precision is off by at most
//! `1/2 + |b| 3/4 / q`: three roundings of 2^-24 and the last. The rounding mode is part of the
//! instructions (`{rn-sae}`). Only verification uses these products (`Nearest`), because no vendor
//! promises what floating point takes. Secrets go through the same schedule with the products of
//! the forward transform (`Shoup`). The last level multiplies unsigned numbers (256 q more makes
//! them so) by 32-bit quotients; the rest is in `[0, 2q)`, and one subtraction ends it.
//!
//! **Secrets** (`secret_rows.rs`) have one entry for each row: commitment, response, low bits,
//! hints, Power2Round. Rows of A and transformed secrets are in standard order; the two
//! permutations of a pair of registers at each border are cheaper than a second layout. Products
//! are signed and Montgomery's: `vpmuldq` takes the even lanes as they are.
//!
//! | value | bound |
//! |---|---|
//! | transformed s1, s2, t0, y, c | `|v| < 11 q`, not reduced |
//! | row of A, at most seven terms | `7 q 11 q < 2^31 q` |
//! | c s1 + y, c s2, c t0 | `121 q^2 + 11 q < 2^31 q` |
//! | after the reduction by 2^32 | `(-q, q)` |
//! | inside `inv_ntt_registers` with `Shoup` | sums double at each level, products in `(-q/4, 5q/4)`; out `[0, q)` |
//!
//! From `[0, q)` on nothing is centred. Let `x = z + bound - 1 mod q`, one addition and one
//! unsigned minimum: then `|z| < bound` means `x <= 2 bound - 2`, and the field of z is a constant
//! less x. With `x = t + 2^12 - 1`, t1 is the upper part of x, and the field of t0 its complemented
//! lower part.
//!
//! All lanes go through all of it, and the verdict of a row is one comparison of a maximum, which
//! passes the value barrier. The loops over the sixteen registers are unrolled
//! (`for_each_register!`), because the compiler would keep the array of a loop in memory, secrets
//! included.
//!
//! **UseHint** works on 16 bits, because 2 gamma2 is a multiple of 128. With `s = ceil(r / 128)`,
//! r1 is s over 1488 or 4092, rounded, and r0 is positive where s exceeds that multiple. At the
//! topmost residues r1 is taken before its wrap. There r0 is at most zero, as the special case of
//! algorithm 36 requires. Wrapping is one byte permutation for 64 coefficients. Tested for every r
//! and both hints.
#![allow(unsafe_code)]

use super::avx2;
use super::cpu::Avx512;
use super::kernels::{Kernels, counter, entry, lane_entries, secret_entry};
#[cfg(test)]
use super::portable;
use crate::lanes::interleaved::InterleavedHash;
use crate::params::GAMMA2_88;
use secret_rows::{commit_row, hint_row, low_bits_row, pack_secret, public_row, respond_row};
use secret_streams::{expand_masks, expand_s};
use unpack::{unpack_eta_ntt, unpack_mask_ntt};

mod dims;
mod registers;
mod vector;
mod ntt;
mod unpack;
mod w1;
mod pack;
mod secret_rows;
mod product;
mod word;
mod keccak_x1;
mod sponge;
mod secret_streams;
mod reject;
mod verify;
#[cfg(test)]
mod tests;

/// The table, if this CPU can use it.
pub(super) fn detect() -> Option<&'static Kernels> {
    Avx512::is_detected().then_some(&KERNELS)
}

lane_entries!(
    Avx512,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi1,bmi2,popcnt"
);

static KERNELS: Kernels = Kernels {
    name: "avx512",
    dispatched: counter!(),
    keccak_f1600: entry!(|state| keccak_x1::permute_x1(state)),
    expand_a: entry!(|rho, l, first, out| {
        verify::expand_a(rho, l, first, out, &mut InterleavedHash::empty())
    }),
    expand_a_interleaved: Some(entry!(|rho, l, first, out, interleaved| verify::expand_a(
        rho,
        l,
        first,
        out,
        interleaved
    ))),
    prepare: Some(entry!(|p, pk, rows| verify::prepare(p, pk, rows))),
    ntt: secret_entry!(|a, out| unpack::ntt(a, out)),
    inv_ntt: secret_entry!(|a, out| secret_rows::inv_ntt(a, out)),
    row_product: secret_entry!(|a, b, out| secret_rows::row_product(a, b, out)),
    product_inv_ntt: secret_entry!(|a, b, out| secret_rows::product_inv_ntt(a, b, out)),
    expand_s: secret_entry!(|rho_p, eta, first, out| expand_s(rho_p, eta, first, out)),
    expand_masks: secret_entry!(|seeds, len, out| expand_masks(seeds, len, out)),
    mask_lanes: 8,
    unpack_mask_ntt: secret_entry!(|gamma1_bits, bytes, out| match gamma1_bits {
        17 => unpack_mask_ntt::<18>(bytes, out),
        _ => unpack_mask_ntt::<20>(bytes, out),
    }),
    pack_eta: secret_entry!(|eta, s, out| match eta {
        2 => pack_secret::<3>(s, out),
        _ => pack_secret::<4>(s, out),
    }),
    unpack_eta_ntt: secret_entry!(|eta, bytes, out| match eta {
        2 => unpack_eta_ntt::<3>(bytes, out),
        _ => unpack_eta_ntt::<4>(bytes, out),
    }),
    unpack_t0_ntt: secret_entry!(|bytes, out| unpack::unpack_t0_ntt(bytes, out)),
    public_row: secret_entry!(|eta, a, s1_hat, s2, t1, t0| match eta {
        2 => public_row::<3>(a, s1_hat, s2, t1, t0),
        _ => public_row::<4>(a, s1_hat, s2, t1, t0),
    }),
    commit_row: secret_entry!(|gamma2, a, y_hat, w, w1| match gamma2 {
        GAMMA2_88 => commit_row::<true>(a, y_hat, w, w1),
        _ => commit_row::<false>(a, y_hat, w, w1),
    }),
    respond_row: secret_entry!(|gamma1_bits, bound, c, s1, y, out| match gamma1_bits {
        17 => respond_row::<18, 36>(bound, c, s1, y, out),
        _ => respond_row::<20, 40>(bound, c, s1, y, out),
    }),
    low_bits_row: secret_entry!(|gamma2, bound, c, s2, w| match gamma2 {
        GAMMA2_88 => low_bits_row::<true>(bound, c, s2, w),
        _ => low_bits_row::<false>(bound, c, s2, w),
    }),
    hint_row: secret_entry!(|gamma2, c, t0, w, bitmap| match gamma2 {
        GAMMA2_88 => hint_row::<true>(c, t0, w, bitmap),
        _ => hint_row::<false>(c, t0, w, bitmap),
    }),
    clear_registers: entry!(|| registers::clear_registers()),
    shake256: Some(entry!(|hashes| shake256(hashes))),
    verify: Some(entry!(|p, job, results| verify(p, job, results))),
    // SAFETY: a CPU that this table is for has the features of that one too.
    ..unsafe { avx2::kernels() }
};
