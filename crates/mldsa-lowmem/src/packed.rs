//! Packed rows in memory, and the shared helpers for hashing and wiping.

use mldsa_core::internals::{Permutation, Secret, Zeroed};

/// Portable Keccak: one state at a time gains nothing from vectors.
pub(crate) const KECCAK: Permutation = Permutation::PORTABLE;

/// Zeros that are wiped on drop.
pub(crate) fn wiped<T: Zeroed>() -> Secret<T> {
    Secret::zeroed()
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
