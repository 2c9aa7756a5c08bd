//! NEON, which every AArch64 CPU of the targets that this file is compiled for has:
//! transforms and products of eight coefficients in two registers, Keccak in two lanes;
//! and NEON with the instructions for SHA-3.
//!
//! Functions carry their `#[target_feature]`, as in `avx2.rs`.
//!
//! # Arithmetic
//!
//! Two registers of four coefficients take the place of one of AVX2's: what AVX2 does in halves of
//! 128 bits is done in either, and exchanging halves costs nothing. So the schedules of the
//! transforms, their orders and their tables (`backend/transform.rs`) serve both.
//!
//! **Products by constants** are Shoup's with another quotient: `w' = round(w 2^31 / q)`, and `t =
//! round(b w' / 2^31)` is one instruction (`sqrdmulh`). With `w 2^31 = w' q + e`, `b w - t q` is
//! `(b e + f q) / 2^31` where `-2^30 <= f < 2^30` and `|e| <= q / 2`. For every `|b| < 2^31` this
//! is within `(-q, q)`. It takes three instructions for four coefficients.
//!
//! | value | bound |
//! |---|---|
//! | a transform | in B, out B + 8.1 q, any B below 2^31 - 10 q |
//! | sum of products | signed, in 64 bits (`smlal`): any below 2^31 q = 256 q^2 |
//! | after the reduction by 2^32 | `(-q, q)` |
//! | inside the inverse transform | sums double at each level: at most `256 q < 2^31` |
//! | out of it | `(-q, q)`, then canonical or centred |
//!
//! **HighBits** is a doubled product's upper half and a rounding shift, two instructions: `w1.rs`
//! gives the reason why that is exact. UseHint rounds all coefficients and then the few hinted ones
//! again, one by one.
//!
//! **Keccak.** Which form is best depends on the core (`backend/neon/tuning.rs`). Two states in
//! vectors keep all 25 words in registers (`rounds.rs`, assembly); on Neoverse cores two more
//! states run in scalar registers in parallel, and scalar code rotates late where logical
//! instructions rotate an operand at no cost (`scalar.rs`). No measurement on an ARM CPU has
//! confirmed the choices.
#![allow(unsafe_code)]

use super::cpu::{Neon, NeonSha3};
use super::kernels::{Kernels, counter, entry, secret_entry};

mod registers;
#[path = "shared128/vector.rs"]
mod vector;
mod tuning;
#[macro_use]
mod scalar;
mod rounds;
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

// No table has an entry that interleaves: a third entry of A takes the scalar state.

static NEON: Kernels = {
    let own = table::Own {
        name: "neon",
        dispatched: counter!(),
        keccak_f1600: secret_entry!(|state| permutations::permute(state)),
        expand_a_interleaved: None,
        mask_lanes: 2,
        shake256: entry!(|hashes| plain_lanes::shake256(hashes)),
        verify: entry!(|p, job, results| plain_lanes::verify(p, job, results)),
    };
    // SAFETY: this file returns the table after detection only, or for a proof.
    unsafe { table::kernels::<Neon>(own) }
};

static NEON_SHA3: Kernels = {
    let own = table::Own {
        name: "neon-sha3",
        dispatched: counter!(),
        keccak_f1600: secret_entry!(|state| permutations::permute_sha3(state)),
        expand_a_interleaved: None,
        mask_lanes: 2,
        shake256: entry!(|hashes| sha3_lanes::shake256(hashes)),
        verify: entry!(|p, job, results| sha3_lanes::verify(p, job, results)),
    };
    // SAFETY: this file returns the table after detection only, or for a proof.
    unsafe { table::kernels::<NeonSha3>(own) }
};
