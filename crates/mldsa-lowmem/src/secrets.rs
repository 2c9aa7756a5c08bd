//! Sources of the packed rows of s1 and s2: an expanded private key, or the seed, from
//! which they are sampled for every use.

use mldsa_core::internals::sample::rej_bounded_packed;
use mldsa_core::internals::{Array, ExpandedSeed, Params, SEED_LEN, SecretKeyParts};

use crate::packed::{KECCAK, packed_row};

/// The packed rows of s1 and s2.
pub(crate) trait Secrets {
    /// Buffer for one row, of length 0 if the rows are in memory.
    type Row: Array<u8>;

    fn rho(&self) -> &[u8; SEED_LEN];

    /// Row `n` of s1 followed by s2, sampled into `buffer` if it has a length.
    fn row<'a>(&'a self, p: &Params, n: usize, buffer: &'a mut Self::Row) -> &'a [u8];
}

/// Rows in memory, encoded as in an expanded key.
pub(crate) struct Packed<'a> {
    pub(crate) rho: &'a [u8; SEED_LEN],
    pub(crate) s1: &'a [u8],
    pub(crate) s2: &'a [u8],
}

fn secret_row<'a>(p: &Params, s1: &'a [u8], s2: &'a [u8], n: usize) -> &'a [u8] {
    match n.checked_sub(p.l) {
        None => packed_row(s1, n, p.eta_poly_len()),
        Some(n) => packed_row(s2, n, p.eta_poly_len()),
    }
}

impl Secrets for Packed<'_> {
    type Row = [u8; 0];

    fn rho(&self) -> &[u8; SEED_LEN] {
        self.rho
    }

    fn row<'a>(&'a self, p: &Params, n: usize, _: &'a mut Self::Row) -> &'a [u8] {
        secret_row(p, self.s1, self.s2, n)
    }
}

impl Secrets for SecretKeyParts<'_> {
    type Row = [u8; 0];

    fn rho(&self) -> &[u8; SEED_LEN] {
        self.rho
    }

    fn row<'a>(&'a self, p: &Params, n: usize, _: &'a mut Self::Row) -> &'a [u8] {
        secret_row(p, self.s1, self.s2, n)
    }
}

impl Secrets for ExpandedSeed {
    type Row = [u8; 128];

    fn rho(&self) -> &[u8; SEED_LEN] {
        &self.rho
    }

    fn row<'a>(&'a self, p: &Params, n: usize, buffer: &'a mut Self::Row) -> &'a [u8] {
        let row = &mut buffer[..p.eta_poly_len()];
        rej_bounded_packed(KECCAK, p.eta, self.rho_p.expose(), n as u16, row);
        row
    }
}
