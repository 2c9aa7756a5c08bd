//! AVX-512 (F, BW, DQ, VL, VBMI, IFMA): 512-bit kernels for verification.
//!
//! Every function here carries its `#[target_feature]`; the table that leads to
//! them is handed out only after detection ([`super::Backend::available`]),
//! which is what the `unsafe` blocks rest on. Derivations: `docs/simd.md`.
#![allow(unsafe_code)]

#[cfg(feature = "count-dispatch")]
use core::sync::atomic::AtomicUsize;

use super::avx2;
use super::kernels::Kernels;
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

cpufeatures::new!(
    cpu,
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512vbmi",
    "avx512ifma",
    "bmi1",
    "bmi2",
    "popcnt"
);

/// The table, if this CPU has all of the above and the operating system keeps
/// the registers (XCR0: opmask, upper zmm, high zmm).
pub(super) fn detect() -> Option<&'static Kernels> {
    cpu::get().then_some(&KERNELS)
}

// SAFETY, of every entry: the table leaves this file through `detect` only.
static KERNELS: Kernels = Kernels {
    name: "avx512",
    #[cfg(feature = "count-dispatch")]
    dispatched: {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        &CALLS
    },
    // SAFETY: the table is handed out after detection only.
    keccak_f1600: |state| unsafe { plane::permute_x1(state) },
    // SAFETY: the table is handed out after detection only.
    expand_a: |rho, l, first, out| unsafe { verify::expand_a(rho, l, first, out) },
    // SAFETY: the table is handed out after detection only.
    prepare: Some(|p, pk, rows| unsafe { verify::prepare(p, pk, rows) }),
    // SAFETY: the table is handed out after detection only.
    expand_s: |rho_p, eta, first, out| unsafe { sponge::expand_s(rho_p, eta, first, out) },
    // SAFETY: the table is handed out after detection only.
    shake256: Some(|hashes| unsafe { sponge::shake256(hashes) }),
    // SAFETY: the table is handed out after detection only.
    verify: Some(|p, job, results| unsafe { verify::verify(p, job, results) }),
    ..avx2::KERNELS
};
