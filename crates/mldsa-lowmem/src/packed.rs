//! Rows one after the other in memory, and what every module hashes and wipes with.

use mldsa_core::internals::{Permutation, Secret, Zeroed};

/// One state at a time has nothing to gain from vectors.
pub(crate) const KECCAK: Permutation = Permutation::PORTABLE;

/// Zeros that are wiped when they go out of use.
pub(crate) fn wiped<T: Zeroed>() -> Secret<T> {
    Secret::zeroed()
}

/// Row `n` of rows of `len` bytes; empty past the end, which no row of an encoding
/// of the right length is.
pub(crate) fn packed_row(bytes: &[u8], n: usize, len: usize) -> &[u8] {
    bytes.get(n * len..(n + 1) * len).unwrap_or(&[])
}

/// [`packed_row`] for writing.
pub(crate) fn packed_row_mut(bytes: &mut [u8], n: usize, len: usize) -> &mut [u8] {
    bytes.get_mut(n * len..(n + 1) * len).unwrap_or(&mut [])
}

/// The bits in which two slices of one length differ, of all their bytes.
pub(crate) fn difference(a: &[u8], b: &[u8]) -> u8 {
    a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b))
}

/// Whether `a` and `b` are equal; no early exit.
pub(crate) fn is_same<const LEN: usize>(a: &[u8; LEN], b: &[u8; LEN]) -> bool {
    core::hint::black_box(difference(a, b)) == 0
}
