//! AVX-512 (F, BW, DQ, VL, VBMI, IFMA): 512-bit kernels for verification.
//!
//! Functions carry their `#[target_feature]`, so that the compiler rejects a call from one with
//! fewer features to one with more. Other code reaches them through the table, which is returned
//! after detection only, and through the traits of `lanes/`, whose methods take a proof:
//! [`Avx512`] or a register, which only code for this CPU makes.
//! Derivations: `backend/ARITHMETIC.md`.
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
mod tuning;
mod ninth_state;
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
