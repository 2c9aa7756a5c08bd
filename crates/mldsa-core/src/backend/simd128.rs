//! simd128, WebAssembly's vectors of 128 bits: transforms and products of eight coefficients in two
//! registers, Keccak in two lanes. A module has them or not: a host that lacks them refuses it as
//! a whole.
//!
//! # Arithmetic
//!
//! The files of `shared128`, which NEON uses, are written in the names of NEON's instructions.
//! `simd128/registers.rs` gives each name its meaning in WebAssembly's. So both backends have the
//! same schedules, orders and bounds.
//!
//! **Products by constants**: there is no instruction for the upper half of a product. Two products
//! of 64 bits are rounded and their upper halves gathered, so the quotient is `round(w 2^32 / q)`
//! and `t = round(b w' / 2^32)`. The result `(b e + f q) / 2^32` with `-2^31 <= f < 2^31` and `|e|
//! <= q / 2` is within `(-3q/4, 3q/4)`.
//!
//! **Keccak**: a lone state occupies one lane of a register of two. A module cannot overwrite the
//! registers of its host.
#![allow(unsafe_code)]
#![allow(
    unused_unsafe,
    clippy::redundant_closure,
    reason = "where features belong to the module, their instructions are safe"
)]

use super::cpu::Simd128;
use super::kernels::{Kernels, counter, entry, secret_entry};

mod registers;
mod tuning;
#[path = "shared128/vector.rs"]
mod vector;
#[path = "shared128/keccak.rs"]
mod keccak;
mod permutations;
#[path = "shared/ntt.rs"]
mod ntt;
#[path = "shared128/sums.rs"]
mod sums;
#[path = "shared/product.rs"]
mod product;
#[path = "shared128/fields.rs"]
mod fields;
#[path = "shared/unpack.rs"]
mod unpack;
#[path = "shared128/pack.rs"]
mod pack;
#[path = "shared128/w1.rs"]
mod w1;
#[path = "shared/rows.rs"]
mod rows;
#[path = "shared128/reject.rs"]
mod reject;
#[path = "shared/secret_rows.rs"]
mod secret_rows;
#[path = "shared/hint_row.rs"]
mod hint_row;
#[path = "shared128/streams.rs"]
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

/// The table. A module that runs can use it.
pub(super) fn kernels() -> &'static Kernels {
    &KERNELS
}

impl Simd128 {
    fn kernels(self) -> &'static Kernels {
        &KERNELS
    }
}

mod lanes {
    use crate::backend::cpu::Simd128;

    crate::backend::kernels::lane_entries!(Simd128, "simd128");
}

static KERNELS: Kernels = {
    let own = table::Own {
        name: "simd128",
        dispatched: counter!(),
        keccak_f1600: secret_entry!(|state| permutations::permute(state)),
        expand_a_interleaved: None,
        mask_lanes: 2,
        shake256: entry!(|hashes| lanes::shake256(hashes)),
        verify: entry!(|p, job, results| lanes::verify(p, job, results)),
    };
    // SAFETY: a module that runs has the features.
    unsafe { table::kernels::<Simd128>(own) }
};
