//! AVX2, and BMI1 and BMI2 as every CPU with AVX2 has: Keccak in four lanes, transforms
//! and products of eight coefficients at a time.
//!
//! Functions carry their `#[target_feature]`, as in `avx512.rs`.
//!
//! # Arithmetic
//!
//! 256 coefficients are 32 registers and there are sixteen: a transform passes through memory
//! twice, eight registers at a time. The first pass has the levels of lengths 128, 64 and 32, the
//! second the five others on 64 neighbouring coefficients. Verification under a prepared key stays
//! in the order that results; such keys are kept in it, as `[block of 8][row][column]`, the t1
//! column last.
//!
//! **Products by constants** are Shoup's in both directions, as in `avx512.rs`: on integers, so
//! that secrets go through the same code.
//!
//! | value | bound |
//! |---|---|
//! | a transform | in B, out B + 10 q, any B below 2^31 - 10 q; in at most q, out at most B + 8 q + q/8: the quotients of small operands are nearly exact |
//! | sum of products | signed, in 64 bits: any below 2^31 q = 256 q^2; 7 terms of `q * 11 q` and one of `9.2 q * 9 q` are below `160 q^2` |
//! | after the reduction by 2^32 | `(-q, q)` |
//! | inside the inverse transform | sums double at each level: at most `256 q < 2^31` |
//! | out of it | `(-q/4, 5q/4)`, then canonical or centred; the scale 2^32/256 sits in the last level's factors |
//!
//! Nothing has to be reduced before a product, in the cold path too.
//!
//! **HighBits, MakeHint and UseHint** work on 16 bits as with AVX-512, LowBits on 32.
#![allow(unsafe_code)]

use super::cpu::Avx2;
use super::kernels::{Kernels, counter, entry};

pub(super) mod keccak;
mod registers;
mod vector;
#[path = "shared/ntt.rs"]
mod ntt;
mod sums;
#[path = "shared/product.rs"]
mod product;
mod fields;
#[path = "shared/unpack.rs"]
mod unpack;
mod pack;
mod w1;
#[path = "shared/rows.rs"]
mod rows;
mod reject;
#[path = "shared/secret_rows.rs"]
mod secret_rows;
#[path = "shared/hint_row.rs"]
mod hint_row;
mod streams;
#[path = "shared/secret_streams.rs"]
mod secret_streams;
#[path = "shared/verify.rs"]
mod verify;
#[path = "shared/table.rs"]
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "shared/kernel_tests.rs"]
mod kernel_tests;

/// The table, if this CPU can use it.
#[inline(always)]
pub(super) fn detect() -> Option<&'static Kernels> {
    Avx2::is_detected().then_some(&KERNELS)
}

impl Avx2 {
    fn kernels(self) -> &'static Kernels {
        &KERNELS
    }
}

mod lanes {
    use crate::backend::cpu::Avx2;

    crate::backend::kernels::lane_entries!(Avx2, "avx2,bmi1,bmi2");
}

// SAFETY: this file returns the table after detection only, or for a proof.
static KERNELS: Kernels = unsafe { kernels() };

/// The table, for one that has more.
///
/// # Safety
/// Only CPUs that have the features of [`Avx2`] may run what is in it.
pub(super) const unsafe fn kernels() -> Kernels {
    let own = table::Own {
        name: "avx2",
        dispatched: counter!(),
        keccak_f1600: entry!(|state| keccak::permute_x1(state)),
        expand_a_interleaved: Some(entry!(|rho, l, first, out, interleaved| {
            reject::expand_a(Avx2::here(), rho, l, first, out, interleaved)
        })),
        mask_lanes: 4,
        shake256: entry!(|hashes| lanes::shake256(hashes)),
        verify: entry!(|p, job, results| lanes::verify(p, job, results)),
    };
    // SAFETY: the caller's.
    unsafe { table::kernels::<Avx2>(own) }
}
