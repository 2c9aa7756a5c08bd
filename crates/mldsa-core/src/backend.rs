//! SIMD backends: one table of kernels per instruction set, selected once per CPU or
//! pinned by the caller. The folder `shared` has the source that AVX2, NEON and simd128 compile, each with
//! its own registers, and `shared128` that of NEON and simd128.

use core::fmt;

use crate::hash::keccak::Permutation;
use crate::hash::xof::{LaneHash, Shake256};
use kernels::Kernels;

pub(crate) mod kernels;
pub(crate) mod matrix;
pub(crate) mod rows;
mod portable;
#[cfg(mldsa_armv7m)]
pub(crate) mod armv7m;
#[cfg(mldsa_hardware_keccak)]
pub(crate) mod hardware;
#[cfg(mldsa_thumb2)]
pub(crate) mod thumb2;
#[cfg(mldsa_simd)]
pub(crate) mod cpu;
#[cfg(mldsa_simd)]
mod states;
#[cfg(mldsa_simd)]
mod accepted;
#[cfg(mldsa_simd)]
mod transform;
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
mod fetch;
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
mod avx2;
#[cfg(all(mldsa_simd, target_arch = "x86_64"))]
mod avx512;
#[cfg(all(mldsa_simd, target_arch = "aarch64"))]
mod neon;
#[cfg(all(mldsa_simd, target_arch = "wasm32"))]
mod simd128;
#[cfg(test)]
#[cfg(mldsa_simd)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub(crate) mod counting;
#[cfg(test)]
#[cfg(mldsa_simd)]
#[cfg(feature = "alloc")]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
pub(crate) mod faults;
#[cfg(test)]
#[cfg(mldsa_simd)]
pub(crate) mod differential;
#[cfg(test)]
#[cfg(mldsa_simd)]
#[cfg(all(feature = "unstable-internals", feature = "ml-dsa-44"))]
mod silent;

/// A handle to the kernels of one instruction set, proof that this CPU has it.
/// Results do not depend on it.
#[derive(Clone, Copy)]
pub struct Backend(Table);

// Where there is nothing to choose from, a handle is empty and calls are direct:
// less code, and the compiler sees that states do not escape.
#[cfg(mldsa_simd)]
type Table = &'static Kernels;
#[cfg(not(mldsa_simd))]
type Table = ();

impl Backend {
    /// Plain Rust, on every target.
    #[cfg(mldsa_simd)]
    pub const PORTABLE: Self = Self(&portable::KERNELS);
    /// Plain Rust, on every target.
    #[cfg(not(mldsa_simd))]
    pub const PORTABLE: Self = Self(());

    /// Returns the fastest backend of this CPU. Depends on the CPU only, never on data; with
    /// `RUSTFLAGS="--cfg mldsa_pinned"` on the features that the program is compiled for only
    /// (`docs/cost.md`).
    pub fn detect() -> Self {
        #[cfg(feature = "backend-env")]
        if let Some(backend) = of_environment() {
            return backend;
        }
        // Not a search, so that a module does not hold what it never uses.
        #[cfg(all(mldsa_simd, target_arch = "wasm32"))]
        return Self(simd128::kernels());
        #[cfg(not(all(mldsa_simd, target_arch = "wasm32")))]
        Self::available().last().unwrap_or(Self::PORTABLE)
    }

    /// Lists every backend that this build holds and this CPU can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        [
            Some(Self::PORTABLE),
            #[cfg(all(mldsa_simd, target_arch = "x86_64"))]
            avx2::detect().map(Self),
            #[cfg(all(mldsa_simd, target_arch = "x86_64"))]
            avx512::detect().map(Self),
            #[cfg(all(mldsa_simd, target_arch = "aarch64"))]
            neon::detect().map(Self),
            #[cfg(all(mldsa_simd, target_arch = "aarch64"))]
            neon::detect_sha3().map(Self),
            #[cfg(all(mldsa_simd, target_arch = "wasm32"))]
            Some(Self(simd128::kernels())),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the available backend of that [`name`](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::available().find(|backend| backend.name() == name)
    }

    /// Returns `"portable"`; with the feature `simd` also `"avx2"` or `"avx512"` on x86-64,
    /// `"neon"` or `"neon-sha3"` on AArch64, `"simd128"` in WebAssembly compiled for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.table().name
    }

    /// Returns the Keccak permutation of this backend, for sponges.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn permutation(self) -> Permutation {
        #[cfg(mldsa_simd)]
        return Permutation::new(self.kernels().keccak_f1600);
        #[cfg(not(mldsa_simd))]
        Permutation::PORTABLE
    }

    #[inline(always)]
    fn table(self) -> &'static Kernels {
        #[cfg(mldsa_simd)]
        return self.0;
        #[cfg(not(mldsa_simd))]
        &portable::KERNELS
    }

    #[inline(always)]
    pub(crate) fn kernels(self) -> &'static Kernels {
        let table = self.table();
        table.dispatched.increment();
        table
    }

    /// Returns the number of times that this process has used a kernel of the backend. Approximate
    /// if several threads use it.
    #[cfg(feature = "count-dispatch")]
    #[must_use]
    pub fn dispatched(self) -> usize {
        self.table().dispatched.get()
    }
}

/// The backend that the environment variable `MLDSA_BACKEND` names. Read once.
#[cfg(feature = "backend-env")]
fn of_environment() -> Option<Backend> {
    static NAMED: std::sync::OnceLock<Option<Backend>> = std::sync::OnceLock::new();
    *NAMED.get_or_init(|| {
        let name = std::env::var("MLDSA_BACKEND").ok()?;
        Some(Backend::from_name(&name).expect("MLDSA_BACKEND names a backend of this CPU"))
    })
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

/// Computes [`Shake256::digest`] of every item, as many side by side as the backend has
/// lanes: eight with AVX-512, four with AVX2, two with NEON and
/// in WebAssembly. Lengths may differ; equal ones leave
/// no lane idle.
///
/// Constant time in the data; lengths are public. States and blocks are wiped.
pub fn shake256_lanes<'a>(backend: Backend, hashes: impl IntoIterator<Item = LaneHash<'a>>) {
    let mut hashes = hashes.into_iter();
    match backend.kernels().shake256 {
        Some(kernel) => kernel(&mut hashes),
        None => hashes
            .for_each(|hash| Shake256::digest(backend.permutation(), &hash.input, hash.output)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_hash_what_single_sponges_hash() {
        let data: [u8; 1500] = core::array::from_fn(|n| (n * 11 + n / 256) as u8);
        for backend in Backend::available() {
            for count in 0..20 {
                // Lengths that agree, and lengths around the ends of blocks.
                for spread in [0, 1, 67, 136] {
                    let lens = (0..count).map(|n| (n * spread % 1300, 32 + n * 2 * spread % 1100));
                    let mut outputs = [[0; 1200]; 20];
                    let items = lens.clone().zip(&mut outputs).map(|((len, out), output)| {
                        let (head, tail) = data[..len].split_at(len / 3);
                        LaneHash {
                            input: [head, tail],
                            output: &mut output[..out],
                        }
                    });
                    shake256_lanes(backend, items);
                    for ((len, out), output) in lens.zip(&outputs) {
                        let mut expected = [0; 1200];
                        Shake256::digest(
                            backend.permutation(),
                            &[&data[..len]],
                            &mut expected[..out],
                        );
                        assert_eq!(*output, expected, "{backend:?} {count} {len} {out}");
                    }
                }
            }
        }
    }
}
