//! AVX-512 (F, BW, DQ, VL, VBMI, IFMA): 512-bit kernels for verification.
//!
//! Functions carry their `#[target_feature]`, so that the compiler sees to it that one
//! with fewer calls none with more. The ways in from elsewhere are the table, which is
//! handed out behind detection only, and the traits of `lanes/`, whose methods take a
//! proof: [`Avx512`] or a register, which only code for this CPU makes.
//! Derivations: `docs/simd.md`.
#![allow(unsafe_code)]

use super::avx2;
use super::cpu::Avx512;
use super::kernels::{Kernels, counter, entry, lane_entries};
#[cfg(test)]
use super::portable;

mod shape;
mod registers;
mod vector;
mod ntt;
mod unpack;
mod w1;
mod product;
mod word;
mod plane;
mod sponge;
mod reject;
mod verify;
#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod bounds;
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
    keccak_f1600: entry!(|state| plane::permute_x1(state)),
    expand_a: entry!(|rho, l, first, out| verify::expand_a(rho, l, first, out)),
    prepare: Some(entry!(|p, pk, rows| verify::prepare(p, pk, rows))),
    expand_s: entry!(|rho_p, eta, first, out| expand_s(rho_p, eta, first, out)),
    shake256: Some(entry!(|hashes| shake256(hashes))),
    verify: Some(entry!(|p, job, results| verify(p, job, results))),
    // SAFETY: a CPU that this table is for has the features of that one too.
    ..unsafe { avx2::kernels() }
};
