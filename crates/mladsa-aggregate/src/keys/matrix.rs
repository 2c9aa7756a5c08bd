//! The matrix A that all members share, and polynomial vectors on the heap.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::vectors;
use mldsa_core::internals::{Element, NttPoly, Params, Poly, Secret};
use mldsa_core::{Backend, MlDsa87, ParameterSet, VerifyingKey};

use crate::error::EncodingError;

pub(crate) const P: &Params = &MlDsa87::PARAMS;
/// Rows of A: polynomials of t, w, s2.
pub(crate) const K: usize = MlDsa87::K;
/// Columns of A: polynomials of s1, y, z.
pub(crate) const L: usize = MlDsa87::L;

/// The public seed `rho` with A expanded from it: 56 KiB on the heap.
pub struct Matrix {
    /// The first 32 bytes of every aggregate key.
    pub(crate) rho: [u8; 32],
    pub(crate) a_hat: Box<[NttPoly]>,
    pub(crate) backend: Backend,
}

impl Matrix {
    /// Computes ExpandA (FIPS 204 algorithm 32).
    pub fn expand(rho: &[u8; 32]) -> Self {
        let backend = Backend::detect();
        let mut a_hat = ntt_vector(K * L);
        vectors::expand_a(backend, P, rho, &mut a_hat);
        Self {
            rho: *rho,
            a_hat,
            backend,
        }
    }

    /// Computes `A x` for a secret x.
    pub(crate) fn apply(&self, x: &[Poly], out: &mut [Poly]) {
        let mut x_hat = Secret::new(ntt_vector(L));
        vectors::ntt(self.backend, x, x_hat.expose_mut());
        vectors::matrix_product(self.backend, &self.a_hat, x_hat.expose(), out);
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Matrix(..)")
    }
}

/// Allocates `len` zero polynomials.
pub(crate) fn vector(len: usize) -> Box<[Poly]> {
    let mut polys = Vec::with_capacity(len);
    polys.resize_with(len, || Poly::ZERO);
    polys.into_boxed_slice()
}

/// Allocates `len` zero polynomials in NTT form.
pub(crate) fn ntt_vector(len: usize) -> Box<[NttPoly]> {
    let mut polys = Vec::with_capacity(len);
    polys.resize_with(len, || NttPoly::ZERO);
    polys.into_boxed_slice()
}

/// Computes `pkEncode(rho, Power2Round(t).t1)`.
pub(crate) fn encode_key(
    matrix: &Matrix,
    t: &[Poly],
) -> Result<VerifyingKey<MlDsa87>, EncodingError> {
    let mut pk = [0; MlDsa87::PK_LEN];
    vectors::pk_encode(&matrix.rho, t, &mut pk);
    VerifyingKey::from_bytes(&pk).map_err(|_| EncodingError::Length)
}
