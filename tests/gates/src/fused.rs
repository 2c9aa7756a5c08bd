//! Kernels are whole: what a kernel is made of has been inlined into it. A helper that
//! became a function of its own passes vectors through memory; cargo's default profile
//! cuts a crate in 16 units, where that happens unless it is written so that it cannot.

use std::collections::BTreeSet;

use crate::branches::{self, Dialect};
use crate::{Verdict, installed, unknown};

/// Functions that stand alone, and why.
type Alone = &'static [(&'static str, &'static [&'static str])];

/// Target, its dialect, its features, where its kernels are, and which of
/// them stand alone; names without `mldsa_core::`.
const TARGETS: [(&str, Dialect, &str, &[&str], Alone); 2] = [
    (
        "x86_64-unknown-linux-gnu",
        Dialect::X86,
        "simd",
        &["backend::avx2::", "backend::avx512::"],
        X86,
    ),
    (
        "thumbv7em-none-eabi",
        Dialect::Thumb,
        "",
        &["memory::ct::", "memory::barrier::", "ring::", "streaming::"],
        THUMB,
    ),
];

const X86: Alone = &[
    (
        "an entry of the table, or what it jumps to",
        &[
            "backend::avx2::reject::expand_a",
            "backend::avx2::rows::inv_ntt_use_hint",
            "backend::avx2::rows::inverse_transform",
            "backend::avx2::product::row_product",
            "backend::avx2::rows::transform",
            "backend::avx2::rows::unpack_z_ntt",
            "backend::avx2::secret_rows::commit_row",
            "backend::avx2::hint_row::hint_row",
            "backend::avx2::secret_rows::low_bits_row",
            "backend::avx2::pack::pack_eta",
            "backend::avx2::secret_rows::product_inv_ntt",
            "backend::avx2::secret_rows::public_row",
            "backend::avx2::secret_rows::respond_row",
            "backend::avx2::secret_rows::unpack_eta_ntt",
            "backend::avx2::secret_rows::unpack_mask_ntt",
            "backend::avx2::secret_rows::unpack_t0_ntt",
            "backend::avx2::secret_streams::expand_masks",
            "backend::avx2::secret_streams::expand_s",
            "backend::avx2::lanes::shake256",
            "backend::avx2::lanes::verify",
            "backend::avx2::verify::prepare",
            "backend::avx512::reject::Stream::expand",
            "backend::avx512::secret_rows::commit_row",
            "backend::avx512::secret_rows::hint_row",
            "backend::avx512::secret_rows::inv_ntt",
            "backend::avx512::secret_rows::low_bits_row",
            "backend::avx512::secret_rows::pack_secret",
            "backend::avx512::secret_rows::product_inv_ntt",
            "backend::avx512::secret_rows::public_row",
            "backend::avx512::secret_rows::respond_row",
            "backend::avx512::secret_rows::row_product",
            "backend::avx512::secret_streams::expand_masks",
            "backend::avx512::secret_streams::expand_s",
            "backend::avx512::shake256",
            "backend::avx512::unpack::ntt",
            "backend::avx512::unpack::unpack_eta_ntt",
            "backend::avx512::unpack::unpack_mask_ntt",
            "backend::avx512::unpack::unpack_t0_ntt",
            "backend::avx512::unpack::unpack_z_ntt",
            "backend::avx512::verify",
            "backend::avx512::verify::expand_a",
            "backend::avx512::verify::prepare",
        ],
    ),
    (
        "a loop over rows or entries, whose frame must be released before its caller continues",
        &[
            "backend::avx2::product::product_of",
            "backend::avx2::streams::squeeze",
            "backend::avx2::unpack::unpack_t1_ntt",
            "backend::avx2::verify::encoded",
            "backend::avx2::verify::pack_row",
            "backend::avx2::verify::prepared",
            "backend::avx2::verify::transform",
            "backend::avx2::lanes::verify_up_to",
            "backend::avx2::w1::inv_ntt_use_hint",
            "backend::avx512::product::RowSums::add",
            "backend::avx512::product::product_of",
            "backend::avx512::secret_streams::expand_group",
            "backend::avx512::unpack::challenge_ntt",
            "backend::avx512::unpack::unpack_t1_ntt",
            "backend::avx512::verify::encoded",
            "backend::avx512::verify::prepared",
            "backend::avx512::verify_up_to",
            "backend::avx512::w1::inv_ntt_use_hint",
        ],
    ),
    (
        "works on states, which are in memory",
        &[
            "backend::avx2::keccak::absorb_x4",
            "backend::avx2::keccak::permute_x1",
            "backend::avx2::keccak::permute_x4",
            "backend::avx2::keccak::permute_x4_and_one",
            "backend::avx512::ninth_state::NinthState::permute",
            "backend::avx512::keccak_x1::digest",
            "backend::avx512::keccak_x1::permute_x1",
            "backend::avx512::sponge::absorb_x4",
            "backend::avx512::sponge::absorb_x8",
            "backend::avx512::word::permute_x4",
            "backend::avx512::word::permute_x8",
            "backend::avx512::word::permute_x8_and_one",
        ],
    ),
    (
        "overwrites registers, whatever is in them",
        &[
            "backend::avx2::vector::clear_registers",
            "backend::avx512::registers::clear_registers",
        ],
    ),
    (
        "one transform or one sampler for several entries, through memory",
        &[
            "backend::avx2::ntt::inv_ntt",
            "backend::avx2::streams::accept",
            "backend::avx512::reject::accept_last",
        ],
    ),
    (
        "once in a call",
        &[
            "backend::avx2::keccak::X4::splat",
            "backend::avx512::tuning::prefer_spare_lane",
            "backend::avx512::detect",
            "backend::avx512::verify::place",
            "backend::avx512::word::X4::new",
            "backend::avx512::word::X8::splat",
        ],
    ),
];

const THUMB: Alone = &[
    (
        "a row, or as much of it as there is memory for",
        &[
            "streaming::row_steps::absorb_high_bits",
            "streaming::row_steps::absorb_hinted",
            "streaming::row_steps::absorb_w1_row",
            "streaming::row_steps::hint_row",
            "streaming::row_steps::low_row",
            "streaming::row_steps::power2round_row",
            "streaming::row_steps::r0_row_reaches",
            "streaming::row_steps::response_row_reaches",
            "streaming::row_steps::subtract_ct1",
            "streaming::row_steps::z_row_reaches",
            "streaming::row_steps::z_row_write",
            "streaming::sparse::SparseChallenge::sample_in_ball_vartime",
            "streaming::sparse::SparseChallenge::signed_places",
            "streaming::sparse::code_words",
            "streaming::window::add_products",
            "streaming::window::add_quarter",
            "streaming::window::expand_compact",
            "streaming::window::finish_row",
            "streaming::window::last_layers",
            "streaming::window::load_compact",
            "streaming::window::multiply_accumulate_two",
            "streaming::window::ntt_in_place",
            "streaming::window::store_compact",
        ],
    ),
    (
        "the verdict of a comparison, once in a call",
        &["memory::ct::is_zero"],
    ),
];

/// A helper in `tests/gates/roots/src/planted.rs` that must be noticed.
const PLANTED: &str = "planted::note";

/// `--print`: every function that is not fused.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    if let Some(argument) = unknown(arguments, &["--print"], |_| false) {
        return Verdict::Failed(format!("no option `{argument}`"));
    }
    let print = !arguments.is_empty();
    let mut complaints = Vec::new();
    let mut absent = Vec::new();
    for (target, dialect, features, places, alone) in TARGETS {
        if let Err(reason) = installed(target) {
            absent.push(reason);
            continue;
        }
        // Level and units of cargo's default profile.
        let found = match branches::compile(target, dialect, features, "3", "16") {
            Ok(found) => found,
            Err(reason) => return Verdict::Failed(format!("{target}: {reason}")),
        };
        let names: BTreeSet<String> = found
            .jumps
            .keys()
            .map(|name| branches::plain(name))
            .collect();
        if !names.iter().any(|name| name.ends_with(PLANTED)) {
            complaints.push(format!("{target}: planted helper was not detected"));
        }
        let kernels: BTreeSet<&str> = names
            .iter()
            .filter_map(|name| name.strip_prefix("mldsa_core::"))
            .filter(|name| places.iter().any(|place| name.starts_with(place)))
            .map(without_closures)
            .collect();
        println!("{target}: {} kernels stand alone", kernels.len());
        if print {
            kernels.iter().for_each(|name| println!("  {name}"));
        }
        let listed: BTreeSet<&str> = alone
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        for name in kernels.difference(&listed) {
            complaints.push(format!("{target}: {name} is a function of its own"));
        }
        for name in listed.difference(&kernels) {
            complaints.push(format!(
                "{target}: {name} is listed, but is not a function of its own"
            ));
        }
    }
    let advice = "\nmake it fuse (#[inline(always)], docs/simd.md), or list it in \
                  tests/gates/src/fused.rs";
    Verdict::of(&complaints, advice, &absent)
}

/// `a::b` of `a::b::{closure#0}`.
fn without_closures(name: &str) -> &str {
    name.split("::{").next().unwrap_or(name)
}
