//! The functions that are left out of the comparison. Every entry has to be met by some run.

use super::program::Cut;

/// Functions that work on declassified values.
pub(super) type Cuts = &'static [Cut];

/// Every operation on a device.
pub(super) const DEVICE: Cuts = &[
    ("trace_device::report", "prints the result, which is public"),
    ("mldsa_core::coding::hint::hint_bit_pack_vartime", HINT),
];

const HINT: &str = "the hint is part of the finished signature";

/// Cuts for runs with different masks, and so challenges.
pub(super) const MASK: Cuts = &[
    (
        "mldsa_core::streaming::sparse::SparseChallenge::sample_in_ball_vartime",
        CHALLENGE,
    ),
    (
        "mldsa_core::streaming::sparse::SparseChallenge::times_secret",
        "reads secrets where the challenge says; `rows` has one challenge for all",
    ),
    (
        "mldsa_core::streaming::sparse::SparseChallenge::times_row",
        "reads secrets where the challenge says; `rows` has one challenge for all",
    ),
];

const CHALLENGE: &str = "the challenge of an attempt is public";

/// Cuts for runs with keys from seeds, and so different `rho`.
pub(super) const SEED: Cuts = &[
    (
        "mldsa_core::sample::rej_bounded_packed",
        "which half-bytes ExpandS rejected is public",
    ),
    (
        "mldsa_core::streaming::window::multiply_accumulate",
        "draws A from rho; `import` has one rho for all",
    ),
];

/// Every operation of the program for hosts, on each of its targets.
pub(super) const HOSTS: Cuts = &[
    ("mldsa_core::sample::expand_a", MATRIX),
    ("mldsa_core::sample::expand_s", REJECTED_HALF_BYTES),
    (
        "mldsa_core::sample::Challenge::sample_in_ball_vartime",
        CHALLENGE,
    ),
    ("mldsa_core::sample::Challenge::from_block", CHALLENGE),
    ("mldsa_core::coding::hint::hint_bit_pack_vartime", HINT),
];

/// The backends of x86-64.
pub(super) const X86_64: Cuts = &[
    ("mldsa_core::backend::avx2::reject::expand_a", MATRIX),
    ("mldsa_core::backend::avx512::verify::expand_a", MATRIX),
    (
        "mldsa_core::backend::avx2::streams::accept",
        REJECTED_HALF_BYTES,
    ),
    (
        "mldsa_core::backend::avx512::secret_streams::accept",
        REJECTED_HALF_BYTES,
    ),
];

/// The backends of AArch64.
pub(super) const ARM: Cuts = &[
    ("mldsa_core::backend::neon::reject::expand_a", MATRIX),
    (
        "mldsa_core::backend::neon::streams::accept",
        REJECTED_HALF_BYTES,
    ),
];

const MATRIX: &str = "A is public";
const REJECTED_HALF_BYTES: &str = "which half-bytes ExpandS rejected is public";
