//! Which instruction set computes: one table of kernels per backend, chosen
//! once per CPU or pinned by the caller.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::coding::encode::PublicKeyParts;
use crate::error::VerifyError;
use crate::lanes::job::Job;
use crate::params::{Params, SEED_LEN};
use crate::ring::poly::{NttPoly, Poly};

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod avx2;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod avx512;
#[cfg(all(test, feature = "simd", target_arch = "x86_64"))]
pub(crate) mod counting;
#[cfg(all(test, feature = "simd", target_arch = "x86_64"))]
pub(crate) mod differential;
pub(crate) mod matrix;
mod portable;
#[cfg(all(test, feature = "simd", target_arch = "x86_64"))]
mod silent;

/// The kernels of one instruction set. Every entry computes exactly what its
/// portable twin computes, up to the representative modulo q where bounds say
/// so; coarse entries exist where a fused form is faster.
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    /// Times that this table was asked for a kernel.
    #[cfg(feature = "count-dispatch")]
    pub(crate) dispatched: &'static AtomicUsize,
    /// FIPS 202 Keccak-f[1600], one state.
    pub(crate) keccak_f1600: fn(&mut [u64; 25]),
    /// Algorithm 41. |in| < 2^26 gives |out| < |in| + 8q.
    pub(crate) ntt: fn(&Poly, &mut NttPoly),
    /// Algorithm 42 times 2^32. |in| < q gives |out| < q.
    pub(crate) inv_ntt: fn(&NttPoly, &mut Poly),
    /// A row of algorithm 48 times 2^-32: |a| < 9q, |b| < 9q and the sum of all
    /// |a b| under 2^31 q = 256 q^2 gives |out| < q.
    pub(crate) row_product: fn(&[NttPoly], &[NttPoly], &mut NttPoly),
    /// Fused product and inverse NTT: (a, b, add, out) with out the centred
    /// coefficients of a b + add. |a|, |b|, |add| < 9q.
    pub(crate) product_inv_ntt: fn(&NttPoly, &NttPoly, Option<&NttPoly>, &mut Poly),
    /// Algorithm 32, the entries `first..first + out.len()` of A in row order:
    /// (rho, l, first, out). 0 <= out < q.
    pub(crate) expand_a: fn(&[u8; SEED_LEN], usize, usize, &mut [NttPoly]),
    /// Algorithm 33, the polynomials `first..first + out.len()` of s1 then s2:
    /// (rho_p, eta, first, out). |out| <= eta.
    pub(crate) expand_s: fn(&[u8; 64], i32, usize, &mut [Poly]),
    /// Algorithm 34 and the NTT of its result: (rho_pp, kappa, gamma1_bits, out).
    /// |out| < 9q.
    pub(crate) expand_mask_ntt: fn(&[u8; 64], u16, u32, &mut [NttPoly]),
    /// Fused BitUnpack, norm check and NTT of one z: (gamma1_bits, bound, bytes,
    /// out). Returns whether every |z| < bound; |out| < 9q.
    pub(crate) unpack_z_ntt: fn(u32, i32, &[u8], &mut NttPoly) -> bool,
    /// Fused inverse NTT, HighBits and w1Encode of one row: (gamma2, w_hat, w,
    /// w1). `w` receives the canonical row.
    pub(crate) inv_ntt_high_bits: fn(i32, &NttPoly, &mut Poly, &mut [u8]),
    /// Fused inverse NTT, UseHint and w1Encode of one row: (gamma2, w_hat, hint
    /// indices, w1).
    pub(crate) inv_ntt_use_hint: fn(i32, &NttPoly, &[u8], &mut [u8]),
    /// The rows of a prepared key in an order of the backend's own; `None` where
    /// that is the order of [`crate::scheme::verify::verify_row`]. 0 <= out < q.
    pub(crate) prepare: Option<fn(&Params, &PublicKeyParts<'_>, &mut [NttPoly])>,
    /// SHAKE256 of any number of strings, which may be secret; `None` where nothing
    /// is gained over one after the other.
    pub(crate) shake256: Option<HashKernel>,
    /// Algorithm 8 on any number of signatures; `None` where nothing is gained
    /// over one after the other.
    pub(crate) verify: Option<VerifyKernel>,
}

/// Forces a frame aligned to 64 bytes. Without it the compiler, which decides
/// before it knows of any spill, puts spilled vectors across cache lines.
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
macro_rules! align_frame {
    () => {
        #[repr(align(64))]
        struct Anchor(#[allow(dead_code)] u8);
        core::hint::black_box(&mut Anchor(0));
    };
}
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use align_frame;

/// A string in two parts, and where as much of its SHAKE256 goes as fits.
#[derive(Debug)]
pub struct LaneHash<'a> {
    /// What is hashed: both parts as one string.
    pub input: [&'a [u8]; 2],
    /// What is filled.
    pub output: &'a mut [u8],
}

pub(crate) type HashKernel = for<'a, 'i> fn(&'i mut (dyn Iterator<Item = LaneHash<'a>> + 'i));

/// (set, the n-th job, the result of each job).
pub(crate) type VerifyKernel =
    for<'a> fn(&Params, &dyn Fn(usize) -> Job<'a>, &mut [Result<(), VerifyError>]);

/// Number of the backend that [`Backend::set_default`] chose, from 1; 0 if none.
static DEFAULT: AtomicUsize = AtomicUsize::new(0);

/// A handle to the kernels of one instruction set, proof that this CPU has it.
/// Results do not depend on it.
#[derive(Clone, Copy)]
pub struct Backend(Table);

// Where there is nothing to choose from, a handle is empty and calls are direct:
// less code, and the compiler sees that states do not escape.
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
type Table = &'static Kernels;
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
type Table = ();

impl Backend {
    /// Plain Rust, on every target.
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    pub const PORTABLE: Self = Self(&portable::KERNELS);
    /// Plain Rust, on every target.
    #[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
    pub const PORTABLE: Self = Self(());

    /// The fastest backend of this CPU, or the one chosen with
    /// [`Self::set_default`]. Depends on the CPU only, never on data.
    pub fn detect() -> Self {
        let chosen = match DEFAULT.load(Ordering::Relaxed) {
            0 => Self::available().last(),
            n => Self::available().nth(n - 1),
        };
        chosen.unwrap_or(Self::PORTABLE)
    }

    /// Makes this the backend of every key that is made from now on, in the whole
    /// process: for command lines, tests and benchmarks. Keys that exist keep
    /// theirs. Verdicts and signatures do not change.
    pub fn set_default(self) {
        let n = Self::available().position(|backend| backend == self);
        DEFAULT.store(n.map_or(0, |n| n + 1), Ordering::Relaxed);
    }

    /// Every backend that this build holds and this CPU can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        [
            Some(Self::PORTABLE),
            #[cfg(all(feature = "simd", target_arch = "x86_64"))]
            avx2::detect().map(Self),
            #[cfg(all(feature = "simd", target_arch = "x86_64"))]
            avx512::detect().map(Self),
        ]
        .into_iter()
        .flatten()
    }

    /// The available backend of that [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::available().find(|backend| backend.name() == name)
    }

    /// `"portable"`, `"avx2"`, `"avx512"` or `"neon"`.
    pub fn name(self) -> &'static str {
        self.table().name
    }

    #[inline(always)]
    pub(crate) fn keccak_f1600(self, state: &mut [u64; 25]) {
        (self.kernels().keccak_f1600)(state);
    }

    #[inline(always)]
    fn table(self) -> &'static Kernels {
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        return self.0;
        #[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
        &portable::KERNELS
    }

    #[inline(always)]
    pub(crate) fn kernels(self) -> &'static Kernels {
        let table = self.table();
        #[cfg(feature = "count-dispatch")]
        {
            // Cheaper than an atomic addition, and exact on one thread.
            let count = table.dispatched.load(Ordering::Relaxed);
            table
                .dispatched
                .store(count.wrapping_add(1), Ordering::Relaxed);
        }
        table
    }

    /// How often this process has asked the backend for a kernel, give or take
    /// what several threads did at once.
    #[cfg(feature = "count-dispatch")]
    pub fn dispatched(self) -> usize {
        self.table().dispatched.load(Ordering::Relaxed)
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::detect()
    }
}

impl PartialEq for Backend {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.table(), other.table())
    }
}

impl Eq for Backend {}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({})", self.name())
    }
}
