//! `tr = H(pk, 64)` of a public key during key generation: the rows that are known are
//! hashed while A is sampled. Public data.

use crate::backend::Backend;
use crate::backend::matrix::MatrixRows;
#[cfg(not(mldsa_simd))]
use crate::hash::transcript;
#[cfg(mldsa_simd)]
use crate::lanes::interleaved::{InterleavedHash, finish_hash};
use crate::params::CRH_LEN;
use crate::ring::poly::NttPoly;

/// The hash, as far as it has come.
pub(super) struct IncrementalTr {
    backend: Backend,
    #[cfg(mldsa_simd)]
    state: [u64; 25],
    #[cfg(mldsa_simd)]
    absorbed: usize,
}

#[cfg(mldsa_simd)]
impl IncrementalTr {
    pub(super) fn new(backend: Backend) -> Self {
        Self {
            backend,
            state: [0; 25],
            absorbed: 0,
        }
    }

    /// [`MatrixRows::next_row`]. Meanwhile it absorbs what it can of `known`, the
    /// beginning of the key: every call is given at least as much as the one before.
    pub(super) fn next_row(
        &mut self,
        a: &mut MatrixRows<'_, 8>,
        row: &mut [NttPoly],
        known: &[u8],
    ) {
        let Some(expand_a) = self.backend.kernels().expand_a_interleaved else {
            return a.next_row(row);
        };
        let blocks = known[self.absorbed..].as_chunks().0;
        let mut interleaved = InterleavedHash::blocks(self.state, blocks);
        a.next_row_of(row, &mut |rho, l, first, group| {
            expand_a(rho, l, first, group, &mut interleaved);
        });
        let (state, left) = interleaved.state();
        self.state = *state;
        self.absorbed += blocks.as_flattened().len() - left;
    }

    /// `tr` of the whole key.
    pub(super) fn finish(self, pk: &[u8]) -> [u8; CRH_LEN] {
        finish_hash(self.state, &pk[self.absorbed..], self.backend.permutation())
    }
}

#[cfg(not(mldsa_simd))]
impl IncrementalTr {
    pub(super) fn new(backend: Backend) -> Self {
        Self { backend }
    }

    /// [`MatrixRows::next_row`].
    pub(super) fn next_row(&mut self, a: &mut MatrixRows<'_, 8>, row: &mut [NttPoly], _: &[u8]) {
        a.next_row(row);
    }

    /// `tr` of the whole key.
    pub(super) fn finish(self, pk: &[u8]) -> [u8; CRH_LEN] {
        transcript::tr(self.backend.permutation(), pk)
    }
}
