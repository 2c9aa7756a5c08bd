//! Sources of the packed rows of t0: an expanded private key, or a pass over a row of A.

use mldsa_core::internals::{
    Array, ExpandedSeed, N, Params, SEED_LEN, SecretKeyParts, T0_POLY_LEN,
};

use crate::matrix::public_row;
use crate::packed::packed_row;
use crate::secrets::Secrets;

/// Secrets that signing needs in addition to the rows of s1 and s2.
pub(crate) trait SigningSecrets: Secrets {
    /// Buffer for one row of t0, of length 0 if the rows are in memory.
    type T0: Array<u8>;
    /// Whether a row of t0 costs a pass over a row of A, and `acc`.
    const COMPUTES_T0: bool;

    fn k_seed(&self) -> &[u8; SEED_LEN];

    /// Row `i` of t0, computed in `buffer` with the help of `acc` if it is not in memory.
    fn t0<'a>(
        &'a self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        buffer: &'a mut Self::T0,
    ) -> &'a [u8];
}

impl SigningSecrets for SecretKeyParts<'_> {
    type T0 = [u8; 0];
    const COMPUTES_T0: bool = false;

    fn k_seed(&self) -> &[u8; SEED_LEN] {
        self.k_seed
    }

    fn t0<'a>(&'a self, _: &Params, i: usize, _: &mut [i32; N], _: &'a mut Self::T0) -> &'a [u8] {
        packed_row(self.t0, i, T0_POLY_LEN)
    }
}

impl SigningSecrets for ExpandedSeed {
    type T0 = [u8; T0_POLY_LEN];
    const COMPUTES_T0: bool = true;

    fn k_seed(&self) -> &[u8; SEED_LEN] {
        self.k_seed.expose()
    }

    fn t0<'a>(
        &'a self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        buffer: &'a mut Self::T0,
    ) -> &'a [u8] {
        public_row(p, self, i, acc, &mut [], buffer);
        buffer
    }
}
