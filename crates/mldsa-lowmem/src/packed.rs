//! Packed rows in memory, and the shared helpers for hashing and wiping.

use mldsa_core::internals::{Permutation, Secret, Zeroed};

/// Portable Keccak: one state at a time gains nothing from vectors.
#[cfg(not(all(test, target_arch = "x86_64")))]
pub(crate) const KECCAK: Permutation = Permutation::PORTABLE;

/// The same with a counter.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) const KECCAK: Permutation = Permutation::new(count::permute);

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod count {
    extern crate std;

    std::thread_local! {
        pub(crate) static PERMUTATIONS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
    }

    pub(super) fn permute(state: &mut [u64; 25]) {
        PERMUTATIONS.set(PERMUTATIONS.get() + 1);
        mldsa_core::internals::keccak::permute(state);
    }
}

/// Zeros that are wiped on drop.
pub(crate) fn wiped<T: Zeroed>() -> Secret<T> {
    Secret::zeroed()
}

/// Copies bytes of a seed, in a loop that stays one: the function that the compiler would call takes
/// more flash than the operations it would be linked for.
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = mldsa_core::internals::ct::opaque(from.into()) as u8;
    }
}

/// Row `n` of rows of `len` bytes; empty past the end, which does not occur for
/// encodings of the right length.
pub(crate) fn packed_row(bytes: &[u8], n: usize, len: usize) -> &[u8] {
    bytes.get(n * len..(n + 1) * len).unwrap_or(&[])
}

/// [`packed_row`] for writing.
pub(crate) fn packed_row_mut(bytes: &mut [u8], n: usize, len: usize) -> &mut [u8] {
    bytes.get_mut(n * len..(n + 1) * len).unwrap_or(&mut [])
}
