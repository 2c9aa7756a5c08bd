//! AVX2, and BMI1 and BMI2 as every CPU with AVX2 has: Keccak in four lanes, transforms
//! and products of eight coefficients at a time.
//!
//! Functions carry their `#[target_feature]`, as in `avx512.rs`. Derivations:
//! `docs/simd.md`.
#![allow(unsafe_code)]

use super::cpu::Avx2;
use super::kernels::{Kernels, counter, entry, lane_entries, secret_entry};
use crate::lanes::interleaved::InterleavedHash;

pub(super) mod keccak;
mod vector;
#[path = "eight/ntt.rs"]
mod ntt;
mod product;
mod unpack;
mod pack;
mod w1;
#[path = "eight/rows.rs"]
mod rows;
mod reject;
#[path = "eight/secret_rows.rs"]
mod secret_rows;
mod hint_row;
mod secret_streams;
mod verify;
#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod bounds;
#[cfg(test)]
mod tests;

/// The table, if this CPU can use it.
pub(super) fn detect() -> Option<&'static Kernels> {
    Avx2::is_detected().then_some(&KERNELS)
}

impl Avx2 {
    fn kernels(self) -> &'static Kernels {
        &KERNELS
    }
}

lane_entries!(Avx2, "avx2,bmi1,bmi2");

// SAFETY: this file returns the table after detection only, or for a proof.
static KERNELS: Kernels = unsafe { kernels() };

/// The table, for one that has more.
///
/// # Safety
/// Only CPUs that have the features of [`Avx2`] may run what is in it.
pub(super) const unsafe fn kernels() -> Kernels {
    Kernels {
        name: "avx2",
        dispatched: counter!(),
        ntt: secret_entry!(|src, dst| rows::transform(src, dst)),
        inv_ntt: secret_entry!(|src, dst| rows::inverse_transform(src, dst)),
        row_product: secret_entry!(|a, b, out| product::row_product(a, b, out)),
        product_inv_ntt: secret_entry!(|a, b, out| secret_rows::product_inv_ntt(a, b, out)),
        expand_masks: secret_entry!(|seeds, len, out| secret_streams::expand_masks(
            seeds, len, out
        )),
        mask_lanes: 4,
        unpack_mask_ntt: secret_entry!(|gamma1_bits, bytes, out| secret_rows::unpack_mask_ntt(
            gamma1_bits,
            bytes,
            out
        )),
        pack_eta: secret_entry!(|eta, s, out| pack::pack_eta(eta, s, out)),
        unpack_eta_ntt: secret_entry!(|eta, bytes, out| secret_rows::unpack_eta_ntt(
            eta, bytes, out
        )),
        unpack_t0_ntt: secret_entry!(|bytes, out| secret_rows::unpack_t0_ntt(bytes, out)),
        public_row: secret_entry!(|eta, a_row, s1_hat, s2, t1, t0| secret_rows::public_row(
            eta, a_row, s1_hat, s2, t1, t0
        )),
        commit_row: secret_entry!(|gamma2, a_row, y_hat, w, w1| secret_rows::commit_row(
            gamma2, a_row, y_hat, w, w1
        )),
        respond_row: secret_entry!(|gamma1_bits, bound, c_hat, s1_hat, y_hat, out| {
            secret_rows::respond_row(gamma1_bits, bound, c_hat, s1_hat, y_hat, out)
        }),
        low_bits_row: secret_entry!(|gamma2, bound, c_hat, s2_hat, w| secret_rows::low_bits_row(
            gamma2, bound, c_hat, s2_hat, w
        )),
        hint_row: secret_entry!(|gamma2, c_hat, t0_hat, w, bitmap| hint_row::hint_row(
            gamma2, c_hat, t0_hat, w, bitmap
        )),
        unpack_z_ntt: entry!(|gamma1_bits, bound, bytes, out| rows::unpack_z_ntt(
            gamma1_bits,
            bound,
            bytes,
            out
        )),
        inv_ntt_use_hint: entry!(|gamma2, w_hat, hint, w1| rows::inv_ntt_use_hint(
            gamma2, w_hat, hint, w1
        )),
        keccak_f1600: entry!(|state| keccak::permute_x1(state)),
        expand_a: entry!(|rho, l, first, out| {
            reject::expand_a(rho, l, first, out, &mut InterleavedHash::empty())
        }),
        expand_a_interleaved: Some(entry!(|rho, l, first, out, interleaved| reject::expand_a(
            rho,
            l,
            first,
            out,
            interleaved
        ))),
        prepare: Some(entry!(|p, pk, rows| verify::prepare(p, pk, rows))),
        expand_s: secret_entry!(|rho_p, eta, first, out| secret_streams::expand_s(
            rho_p, eta, first, out
        )),
        clear_registers: entry!(|| vector::clear_registers()),
        shake256: Some(entry!(|hashes| shake256(hashes))),
        verify: Some(entry!(|p, job, results| verify(p, job, results))),
    }
}
