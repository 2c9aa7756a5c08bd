//! Kernel table: one for each instruction set.

#[cfg(feature = "count-dispatch")]
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::coding::encode::PublicKeyParts;
use crate::coding::hint::HINT_ROW_LEN;
use crate::error::VerifyError;
use crate::hash::xof::LaneHash;
use crate::lanes::job::Job;
use crate::params::{Params, SEED_LEN, T0_POLY_LEN, T1_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};

/// The kernels of one instruction set. An entry computes exactly what that of the
/// portable table computes, up to the representative modulo q where bounds say so.
/// Coarse entries exist where a fused form is faster; those that are `None` in the
/// portable table do what their callers otherwise put together from the others.
///
/// All but those on public data (A, a signature, a public key) are constant time, the
/// positions of half-bytes that ExpandS rejects excepted. A verdict that is returned
/// covers all coefficients and has passed the value barrier; its caller declassifies it.
///
/// Ranges of arguments and results are those of [`RANGES`].
///
/// The fields have the order of C, because `contrib/proofs` finds the entries in a linked program by [`ENTRIES`].
#[repr(C)]
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    pub(crate) dispatched: Counter,
    /// FIPS 202 Keccak-f[1600], one state.
    #[cfg_attr(
        not(mldsa_simd),
        allow(dead_code, reason = "called directly where there is no choice")
    )]
    pub(crate) keccak_f1600: fn(&mut [u64; 25]),
    /// Algorithm 41: |in| < [`bounds::NTT_IN`] gives |out| < max|in| + [`bounds::NTT_GROWTH`].
    pub(crate) ntt: fn(&Poly, &mut NttPoly),
    /// Algorithm 42 times 2^32. |in| < q gives |out| < q, [`bounds::REDUCED`].
    #[cfg_attr(
        not(feature = "unstable-internals"),
        allow(dead_code, reason = "only the sibling crates call it")
    )]
    pub(crate) inv_ntt: fn(&NttPoly, &mut Poly),
    /// A row of algorithm 48 times 2^-32: |a| < 11q, |b| < 11q and the sum of all
    /// |a b| under 2^31 q = 256 q^2 gives |out| < q.
    pub(crate) row_product: fn(&[NttPoly], &[NttPoly], &mut NttPoly),
    /// Fused product and inverse NTT: (a, b, out) with out the centred
    /// coefficients of a b. |a|, |b| < 11q.
    #[cfg_attr(
        not(feature = "unstable-internals"),
        allow(dead_code, reason = "only the sibling crates call it")
    )]
    pub(crate) product_inv_ntt: fn(&NttPoly, &NttPoly, &mut Poly),
    /// Algorithm 32, the entries `first..first + out.len()` of A in row order:
    /// (rho, l, first, out). 0 <= out < q.
    pub(crate) expand_a: fn(&[u8; SEED_LEN], usize, usize, &mut [NttPoly]),
    /// The same, and one permutation of the hash with each of its own; `None` where that
    /// gains nothing.
    #[cfg(mldsa_simd)]
    pub(crate) expand_a_interleaved: Option<ExpandAInterleaved>,
    /// Algorithm 33, the polynomials `first..first + out.len()` of s1 then s2:
    /// (rho_p, eta, first, out). |out| <= eta.
    pub(crate) expand_s: fn(&[u8; 64], i32, usize, &mut [Poly]),
    /// Algorithm 34, packed: (what each polynomial is made of, its bytes, out). `out` has
    /// room for as many.
    pub(crate) expand_masks: fn(&[MaskSeed<'_>], usize, &mut [u8]),
    /// Number of polynomials that `expand_masks` makes in the time of one, a power of two.
    pub(crate) mask_lanes: usize,
    /// Fused BitUnpack and NTT of one y: (gamma1_bits, bytes, out). |out| < 11q.
    pub(crate) unpack_mask_ntt: fn(u32, &[u8], &mut NttPoly),
    /// BitPack of one row of s1 or s2: (eta, s, bytes). |s| <= eta.
    pub(crate) pack_eta: fn(i32, &Poly, &mut [u8]),
    /// Fused BitUnpack, range check and NTT of one row of s1 or s2: (eta, bytes,
    /// out). Returns whether every code word was valid, which is secret; |out| < 11q.
    pub(crate) unpack_eta_ntt: fn(i32, &[u8], &mut NttPoly) -> bool,
    /// Fused BitUnpack and NTT of one row of t0. |out| < 11q.
    pub(crate) unpack_t0_ntt: fn(&[u8], &mut NttPoly),
    /// One row of `Power2Round(A s1 + s2)`, packed: (eta, row of A, s1_hat, packed row
    /// of s2, t1, t0). 0 <= a < q, |s1_hat| < 11q; s2 in range, or t1 and t0 mean
    /// nothing.
    pub(crate) public_row: PublicRowKernel,
    /// One row of a commitment, w = A y and w1Encode(HighBits(w)): (gamma2, row of A,
    /// y_hat, w, w1). 0 <= a < q, |y_hat| < 11q; 0 <= w < q.
    pub(crate) commit_row: fn(i32, &[NttPoly], &[NttPoly], &mut Poly, &mut [u8]),
    /// One row of z = y + c s1, packed, and its norm check: (gamma1_bits, bound, c_hat,
    /// s1_hat, y_hat, bytes). Returns whether every |z| < bound, which is secret: if
    /// not, the bytes mean nothing. |c_hat|, |s1_hat|, |y_hat| < 11q.
    pub(crate) respond_row: fn(u32, i32, &NttPoly, &NttPoly, &NttPoly, &mut [u8]) -> bool,
    /// One row of w - c s2 in the place of w, and the check of its low bits: (gamma2,
    /// bound, c_hat, s2_hat, w). Returns whether every |LowBits| < bound, which is
    /// secret. |c_hat|, |s2_hat| < 11q; 0 <= w < q before and after.
    pub(crate) low_bits_row: fn(i32, i32, &NttPoly, &NttPoly, &mut Poly) -> bool,
    /// MakeHint of one row as a bitmap, and the norm check of c t0: (gamma2, c_hat,
    /// t0_hat, w - c s2, bitmap). Returns whether every |c t0| < gamma2, which is
    /// secret. |c_hat|, |t0_hat| < 11q; 0 <= w - c s2 < q.
    pub(crate) hint_row: fn(i32, &NttPoly, &NttPoly, &Poly, &mut [u8; HINT_ROW_LEN]) -> bool,
    /// Fused BitUnpack, norm check and NTT of one z: (gamma1_bits, bound, bytes,
    /// out). Returns whether every |z| < bound; |out| < 11q. Public data.
    pub(crate) unpack_z_ntt: fn(u32, i32, &[u8], &mut NttPoly) -> bool,
    /// Fused inverse NTT, UseHint and w1Encode of one row: (gamma2, w_hat, hint
    /// indices, w1). Public data.
    pub(crate) inv_ntt_use_hint: fn(i32, &NttPoly, &[u8], &mut [u8]),
    /// Overwrites the vector registers, in which the kernels leave secrets.
    pub(crate) clear_registers: fn(),
    /// All rows of a prepared key, in a layout private to this backend: only `verify` of the
    /// same table reads it. `None` where rows are made one by one. 0 <= out < q.
    pub(crate) prepare: Option<fn(&Params, &PublicKeyParts<'_>, &mut [NttPoly])>,
    /// SHAKE256 of any number of strings, which may be secret; `None` where nothing
    /// is gained over one after the other.
    pub(crate) shake256: Option<HashKernel>,
    /// Algorithm 8 on any number of signatures; `None` where nothing is gained
    /// over one after the other.
    pub(crate) verify: Option<VerifyKernel>,
}

/// Bounds of coefficients: a value is in `-BOUND < x < BOUND`.
#[cfg(feature = "unstable-internals")]
pub mod bounds {
    use crate::params::Q;

    const Q64: i64 = Q as i64;
    /// What the entry `ntt` adds to the largest magnitude of its input.
    pub const NTT_GROWTH: i64 = 10 * Q64;
    /// Input of the transform, so that sums stay below 2^31.
    pub const NTT_IN: i64 = (1 << 31) - NTT_GROWTH;
    /// Transformed polynomials that are factors: masks, secrets, t0, z and challenges.
    pub const TRANSFORMED: i64 = 11 * Q64;
    /// Rows of products, and both sides of the inverse transform.
    pub const REDUCED: i64 = Q64;
    /// Canonical residues are from 0 on and below this.
    pub const CANONICAL: i64 = Q64;
}

/// The ranges that the kernels take and return: entry, name of the argument or result, lowest and
/// highest coefficient. `contrib/proofs` proves the results for all arguments in these ranges, and
/// that each result fits the arguments that receive it. `c` of `ntt` is a challenge and `c_hat` its
/// transform.
#[cfg(feature = "unstable-internals")]
pub const RANGES: [(&str, &str, i64, i64); 34] = {
    use bounds::{CANONICAL, NTT_GROWTH, NTT_IN, REDUCED, TRANSFORMED};
    const fn below(
        entry: &'static str,
        name: &'static str,
        b: i64,
    ) -> (&'static str, &'static str, i64, i64) {
        (entry, name, 1 - b, b - 1)
    }
    const fn canonical(
        entry: &'static str,
        name: &'static str,
    ) -> (&'static str, &'static str, i64, i64) {
        (entry, name, 0, CANONICAL - 1)
    }
    [
        below("ntt", "in", NTT_IN),
        below("ntt", "out", NTT_IN + NTT_GROWTH),
        below("ntt", "c", 2),
        below("ntt", "c_hat", 2 + NTT_GROWTH),
        below("inv_ntt", "in", REDUCED),
        below("inv_ntt", "out", REDUCED),
        below("row_product", "a", TRANSFORMED),
        below("row_product", "b", TRANSFORMED),
        below("row_product", "out", REDUCED),
        below("product_inv_ntt", "a", TRANSFORMED),
        below("product_inv_ntt", "b", TRANSFORMED),
        canonical("expand_a", "out"),
        below("unpack_mask_ntt", "out", TRANSFORMED),
        below("unpack_eta_ntt", "out", TRANSFORMED),
        below("unpack_t0_ntt", "out", TRANSFORMED),
        below("unpack_z_ntt", "out", TRANSFORMED),
        canonical("public_row", "a"),
        below("public_row", "s1_hat", TRANSFORMED),
        canonical("commit_row", "a"),
        below("commit_row", "y_hat", TRANSFORMED),
        canonical("commit_row", "w"),
        below("respond_row", "c_hat", TRANSFORMED),
        below("respond_row", "s1_hat", TRANSFORMED),
        below("respond_row", "y_hat", TRANSFORMED),
        below("low_bits_row", "c_hat", TRANSFORMED),
        below("low_bits_row", "s2_hat", TRANSFORMED),
        canonical("low_bits_row", "w"),
        below("hint_row", "c_hat", TRANSFORMED),
        below("hint_row", "t0_hat", TRANSFORMED),
        canonical("hint_row", "w - c s2"),
        below("inv_ntt_use_hint", "w_hat", REDUCED),
        canonical("prepare", "out"),
        below("pack_eta", "s", 5),
        below("expand_s", "out", 5),
    ]
};

/// Names of the entries of a table, after its name, and their offsets.
#[cfg(all(
    mldsa_simd,
    feature = "unstable-internals",
    not(feature = "count-dispatch"),
    target_pointer_width = "64"
))]
pub const ENTRIES: [(&str, usize); 25] = {
    macro_rules! offsets {
        ($($entry:ident)+) => {
            [$((stringify!($entry), core::mem::offset_of!(Kernels, $entry))),+]
        };
    }
    let entries = offsets!(
        keccak_f1600 ntt inv_ntt row_product product_inv_ntt expand_a expand_a_interleaved expand_s
        expand_masks mask_lanes unpack_mask_ntt pack_eta unpack_eta_ntt unpack_t0_ntt public_row
        commit_row respond_row low_bits_row hint_row unpack_z_ntt inv_ntt_use_hint clear_registers
        prepare shake256 verify
    );
    assert!(
        16 + 8 * entries.len() == size_of::<Kernels>(),
        "an entry is missing"
    );
    entries
};

/// Count of the lookups of a kernel; empty without the feature.
pub(crate) struct Counter {
    #[cfg(feature = "count-dispatch")]
    pub(crate) calls: &'static AtomicUsize,
}

impl Counter {
    #[inline(always)]
    pub(crate) fn increment(&self) {
        // Cheaper than an atomic addition, and exact on one thread.
        #[cfg(feature = "count-dispatch")]
        self.calls
            .store(self.get().wrapping_add(1), Ordering::Relaxed);
    }

    #[cfg(feature = "count-dispatch")]
    pub(crate) fn get(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// The counter of one table.
macro_rules! counter {
    () => {
        $crate::backend::kernels::Counter {
            #[cfg(feature = "count-dispatch")]
            calls: {
                static CALLS: core::sync::atomic::AtomicUsize =
                    core::sync::atomic::AtomicUsize::new(0);
                &CALLS
            },
        }
    };
}
pub(crate) use counter;

/// An entry that calls code for more features than every CPU has.
#[cfg(mldsa_simd)]
macro_rules! entry {
    (|| $call:expr) => {
        // SAFETY: as below.
        || unsafe { $call }
    };
    (|$($argument:ident $(: $t:ty)?),*| $call:expr) => {
        |$($argument $(: $t)?),*| {
            // SAFETY: a table exists only on a CPU with the features: it leaves the file
            // of its backend after detection, and its constructor is unsafe.
            unsafe { $call }
        }
    };
}
#[cfg(mldsa_simd)]
pub(crate) use entry;

/// An entry that computes on secrets. In builds with little optimisation its values are in its
/// frames, which are overwritten.
#[cfg(mldsa_simd)]
macro_rules! secret_entry {
    (|$($argument:ident),*| $call:expr) => {
        |$($argument),*| {
            let mut kernel = || {
                // SAFETY: as that of `entry`: the table is proof of the features.
                unsafe { $call }
            };
            if cfg!(any(mldsa_opt_level = "0", mldsa_opt_level = "1")) {
                const FRAMES: usize = $crate::backend::kernels::UNOPTIMISED_FRAMES;
                $crate::memory::secret::zeroize_stack::<FRAMES, _>(kernel)
            } else {
                kernel()
            }
        }
    };
}
#[cfg(mldsa_simd)]
pub(crate) use secret_entry;

/// Upper bound of the frames of an entry at opt-level 0 and 1.
#[cfg(mldsa_simd)]
pub(crate) const UNOPTIMISED_FRAMES: usize = if cfg!(mldsa_opt_level = "0") {
    192 * 1024
} else {
    8 * 1024
};

/// The entries that are written over the lanes of a backend, which `$cpu` proves.
/// They are compiled for its features: what they call is inlined into them.
#[cfg(mldsa_simd)]
macro_rules! lane_entries {
    ($cpu:ident, $features:literal) => {
        /// [`crate::lanes::sponge::shake256`] on this backend.
        #[target_feature(enable = $features)]
        pub(super) fn shake256(hashes: &mut dyn Iterator<Item = $crate::hash::xof::LaneHash<'_>>) {
            $crate::lanes::sponge::shake256($cpu::here(), hashes);
        }

        /// [`crate::lanes::verify::verify_internal`] on this backend.
        #[target_feature(enable = $features)]
        pub(super) fn verify<'a>(
            p: &$crate::params::Params,
            job: &dyn Fn(usize) -> $crate::lanes::job::Job<'a>,
            results: &mut [Result<(), $crate::error::VerifyError>],
        ) {
            if results.len() == 1 {
                verify_up_to::<1>(p, job, results);
            } else {
                verify_up_to::<{ $crate::lanes::sponge::MAX_LANES }>(p, job, results);
            }
        }

        #[inline(never)]
        #[target_feature(enable = $features)]
        fn verify_up_to<'a, const LANES: usize>(
            p: &$crate::params::Params,
            job: &dyn Fn(usize) -> $crate::lanes::job::Job<'a>,
            results: &mut [Result<(), $crate::error::VerifyError>],
        ) {
            $crate::lanes::verify::verify_internal::<_, LANES>($cpu::here(), p, job, results);
        }
    };
}
#[cfg(mldsa_simd)]
pub(crate) use lane_entries;

/// Forces a frame aligned to 64 bytes. Without it the compiler decides on the alignment before
/// spills are known, and spilled vectors straddle cache lines.
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
macro_rules! align_frame {
    () => {
        #[repr(align(64))]
        struct Anchor(#[allow(dead_code)] u8);
        core::hint::black_box(&mut Anchor(0));
    };
}
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
pub(crate) use align_frame;

/// `rho_pp` and kappa of a polynomial of y.
pub(crate) type MaskSeed<'a> = (&'a [u8; 64], u16);

/// (eta, row of A, s1_hat, packed row of s2, t1, t0).
pub(crate) type PublicRowKernel =
    fn(i32, &[NttPoly], &[NttPoly], &[u8], &mut [u8; T1_POLY_LEN], &mut [u8; T0_POLY_LEN]);

pub(crate) type HashKernel = for<'a, 'i> fn(&'i mut (dyn Iterator<Item = LaneHash<'a>> + 'i));

/// (rho, l, first, out, hash).
#[cfg(mldsa_simd)]
pub(crate) type ExpandAInterleaved = fn(
    &[u8; SEED_LEN],
    usize,
    usize,
    &mut [NttPoly],
    &mut crate::lanes::interleaved::InterleavedHash<'_>,
);

/// (set, the n-th job, the result of each job).
pub(crate) type VerifyKernel =
    for<'a> fn(&Params, &dyn Fn(usize) -> Job<'a>, &mut [Result<(), VerifyError>]);
