//! Where the packed rows of s1, s2 and t0 come from: an expanded private key, or
//! the seed, from which they are sampled again for every use.

use mldsa_core::hazmat::sample::rej_bounded_packed;
use mldsa_core::hazmat::{
    Array, ExpandedSeed, N, Params, SEED_LEN, SecretKeyParts, T0_POLY_LEN, Zeroed,
};

use crate::matrix::{KECCAK, public_row};

/// The packed rows of s1 and s2.
pub(crate) trait Secrets {
    /// Room for one row, or none where rows lie in memory.
    type Row: Array<u8>;

    fn rho(&self) -> &[u8; SEED_LEN];

    /// Row `n` of s1 followed by s2.
    fn row<'a>(&'a self, p: &Params, n: usize, room: &'a mut Self::Row) -> &'a [u8];
}

/// What signing needs beside that.
pub(crate) trait SigningSecrets: Secrets {
    /// Room for one row of t0, or none.
    type T0: Array<u8>;
    /// Whether a row of t0 costs a pass over a row of A, and `acc`.
    const COMPUTES_T0: bool;

    fn k_seed(&self) -> &[u8; SEED_LEN];

    fn t0<'a>(
        &'a self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        room: &'a mut Self::T0,
    ) -> &'a [u8];
}

/// Row `n` of `len` bytes; never fails on keys of the right length.
pub(crate) fn slot(bytes: &[u8], n: usize, len: usize) -> &[u8] {
    bytes.get(n * len..(n + 1) * len).unwrap_or(&[])
}

/// [`slot`] for writing.
pub(crate) fn slot_mut(bytes: &mut [u8], n: usize, len: usize) -> &mut [u8] {
    bytes.get_mut(n * len..(n + 1) * len).unwrap_or(&mut [])
}

/// Rows that lie in memory, as in an expanded key.
pub(crate) struct Packed<'a> {
    pub(crate) rho: &'a [u8; SEED_LEN],
    pub(crate) s1: &'a [u8],
    pub(crate) s2: &'a [u8],
}

fn packed_row<'a>(p: &Params, s1: &'a [u8], s2: &'a [u8], n: usize) -> &'a [u8] {
    match n.checked_sub(p.l) {
        None => slot(s1, n, p.eta_poly_len()),
        Some(n) => slot(s2, n, p.eta_poly_len()),
    }
}

impl Secrets for Packed<'_> {
    type Row = [u8; 0];

    fn rho(&self) -> &[u8; SEED_LEN] {
        self.rho
    }

    fn row<'a>(&'a self, p: &Params, n: usize, _: &'a mut Self::Row) -> &'a [u8] {
        packed_row(p, self.s1, self.s2, n)
    }
}

impl Secrets for SecretKeyParts<'_> {
    type Row = [u8; 0];

    fn rho(&self) -> &[u8; SEED_LEN] {
        self.rho
    }

    fn row<'a>(&'a self, p: &Params, n: usize, _: &'a mut Self::Row) -> &'a [u8] {
        packed_row(p, self.s1, self.s2, n)
    }
}

impl SigningSecrets for SecretKeyParts<'_> {
    type T0 = [u8; 0];
    const COMPUTES_T0: bool = false;

    fn k_seed(&self) -> &[u8; SEED_LEN] {
        self.k_seed
    }

    fn t0<'a>(&'a self, _: &Params, i: usize, _: &mut [i32; N], _: &'a mut Self::T0) -> &'a [u8] {
        slot(self.t0, i, T0_POLY_LEN)
    }
}

impl Secrets for ExpandedSeed {
    type Row = [u8; 128];

    fn rho(&self) -> &[u8; SEED_LEN] {
        &self.rho
    }

    fn row<'a>(&'a self, p: &Params, n: usize, room: &'a mut Self::Row) -> &'a [u8] {
        let row = &mut room[..p.eta_poly_len()];
        rej_bounded_packed(KECCAK, p.eta, self.rho_p.expose(), n as u16, row);
        row
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
        room: &'a mut Self::T0,
    ) -> &'a [u8] {
        public_row(p, self, i, acc, &mut [], room);
        room
    }
}

/// Room that is wiped when it goes out of use.
pub(crate) type Room<T> = mldsa_core::hazmat::Secret<T>;

/// Shorthand.
pub(crate) fn room<T: Zeroed>() -> Room<T> {
    Room::zeroed()
}
