//! NEON, which every AArch64 CPU of the targets that this file is compiled for has:
//! transforms and products of eight coefficients in two registers, Keccak in two lanes;
//! and NEON with the instructions for SHA-3.
//!
//! Functions carry their `#[target_feature]`, as in `avx2.rs`. Derivations:
//! `docs/simd.md`.
#![allow(unsafe_code)]

use super::cpu::{Neon, NeonSha3};
use super::kernels::{Kernels, counter, entry, secret_entry};

mod vector;
mod tuning;
mod scalar;
mod rounds;
mod keccak;
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

/// The table, if this CPU can use it; it can.
pub(super) fn detect() -> Option<&'static Kernels> {
    Neon::is_detected().then_some(&NEON)
}

/// The table with the instructions for SHA-3, if this CPU can use it.
pub(super) fn detect_sha3() -> Option<&'static Kernels> {
    NeonSha3::is_detected().then_some(&NEON_SHA3)
}

impl Neon {
    fn kernels(self) -> &'static Kernels {
        &NEON
    }
}

impl NeonSha3 {
    fn kernels(self) -> &'static Kernels {
        &NEON_SHA3
    }
}

mod plain_lanes {
    use crate::backend::cpu::Neon;

    crate::backend::kernels::lane_entries!(Neon, "neon");
}

mod sha3_lanes {
    use crate::backend::cpu::NeonSha3;

    crate::backend::kernels::lane_entries!(NeonSha3, "neon,sha3");
}

/// The table of one of the two CPUs.
macro_rules! kernels {
    ($name:literal, $cpu:ident, $lanes:ident, $keccak_f1600:expr) => {
        Kernels {
            name: $name,
            dispatched: counter!(),
            keccak_f1600: $keccak_f1600,
            ntt: secret_entry!(|src, dst| rows::transform(src, dst)),
            inv_ntt: secret_entry!(|src, dst| rows::inverse_transform(src, dst)),
            row_product: secret_entry!(|a, b, out| product::row_product(a, b, out)),
            product_inv_ntt: secret_entry!(|a, b, out| secret_rows::product_inv_ntt(a, b, out)),
            expand_a: entry!(|rho, l, first, out| reject::expand_a(
                $cpu::here(),
                rho,
                l,
                first,
                out
            )),
            expand_s: secret_entry!(|rho_p, eta, first, out| secret_streams::expand_s(
                $cpu::here(),
                rho_p,
                eta,
                first,
                out
            )),
            expand_masks: secret_entry!(|seeds, len, out| secret_streams::expand_masks(
                $cpu::here(),
                seeds,
                len,
                out
            )),
            mask_lanes: 2,
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
            public_row: secret_entry!(|eta, a_row, s1_hat, s2, t1, t0| {
                secret_rows::public_row(eta, a_row, s1_hat, s2, t1, t0)
            }),
            commit_row: secret_entry!(|gamma2, a_row, y_hat, w, w1| secret_rows::commit_row(
                gamma2, a_row, y_hat, w, w1
            )),
            respond_row: secret_entry!(|gamma1_bits, bound, c_hat, s1_hat, y_hat, out| {
                secret_rows::respond_row(gamma1_bits, bound, c_hat, s1_hat, y_hat, out)
            }),
            low_bits_row: secret_entry!(|gamma2, bound, c_hat, s2_hat, w| {
                secret_rows::low_bits_row(gamma2, bound, c_hat, s2_hat, w)
            }),
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
            prepare: Some(entry!(|p, pk, rows| verify::prepare(
                $cpu::here(),
                p,
                pk,
                rows
            ))),
            // A third entry takes the scalar state.
            expand_a_interleaved: None,
            clear_registers: entry!(|| vector::clear_registers()),
            shake256: Some(entry!(|hashes| $lanes::shake256(hashes))),
            verify: Some(entry!(|p, job, results| $lanes::verify(p, job, results))),
        }
    };
}

static NEON: Kernels = kernels!(
    "neon",
    Neon,
    plain_lanes,
    secret_entry!(|state| keccak::permute(state))
);

// This file returns it after detection only, or for a proof.
static NEON_SHA3: Kernels = kernels!(
    "neon-sha3",
    NeonSha3,
    sha3_lanes,
    secret_entry!(|state| keccak::permute_sha3(state))
);
