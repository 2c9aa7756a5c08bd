//! Rows of matrix products, one polynomial of accumulator at a time.

use mldsa_core::internals::pack::{GROUP, part, unpack_signed_part};
use mldsa_core::internals::row_steps::power2round_row;
use mldsa_core::internals::window::{
    COMPACT_LEN, WINDOW, finish_row, first_layers, multiply_accumulate, multiply_accumulate_compact,
};
use mldsa_core::internals::{N, Params, SEED_LEN, declassify_in_place};

use crate::packed::{KECCAK, packed_row, wiped};
use crate::secrets::Secrets;

/// Source of the entries of A.
#[derive(Clone, Copy)]
pub(crate) enum Matrix<'a> {
    /// The XOF of this `rho`.
    Sampled(&'a [u8; SEED_LEN]),
    /// These compact polynomials, row after row.
    Compact(&'a [u8]),
}

/// A packed row of s1, y or z, which the number of bits of a coefficient tells.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    bits: usize,
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// Returns a row of y or z.
    pub(crate) fn mask(p: &Params, bytes: &'a [u8]) -> Self {
        let bits = 1 + p.gamma1_bits as usize;
        Self { bits, bytes }
    }

    /// The first layers of a quarter of the transform.
    #[inline(never)]
    fn window(self, quarter: usize, window: &mut [i32; WINDOW]) {
        first_layers(quarter, window, |n, group| self.unpack(n, group));
    }

    /// Eight coefficients, out of line: inlined at the four offsets that a quarter reads from, they
    /// make the deepest frame of the crate.
    #[inline(never)]
    fn unpack(self, n: usize, group: &mut [i32; GROUP]) {
        unpack_signed_part(self.bits, part(self.bytes, self.bits, n, GROUP), group);
    }
}

/// Row `i` of `A y` for packed rows of y or z; canonical.
pub(crate) fn mask_row(p: &Params, a: &Matrix<'_>, i: usize, y: &[u8], acc: &mut [i32; N]) {
    acc.fill(0);
    for j in 0..p.l {
        mask_entry(p, a, i, j, y, acc);
    }
    finish_row(acc);
}

/// Adds entry (`i`, `j`) of A times row `j` of packed rows of y or z to `acc`.
#[inline(always)]
pub(crate) fn mask_entry(
    p: &Params,
    a: &Matrix<'_>,
    i: usize,
    j: usize,
    y: &[u8],
    acc: &mut [i32; N],
) {
    let y = Row::mask(p, packed_row(y, j, p.z_poly_len()));
    match *a {
        Matrix::Sampled(rho) => entry_sampled(rho, i, j, y, acc),
        Matrix::Compact(entries) => {
            entry_compact(packed_row(entries, i * p.l + j, COMPACT_LEN), y, acc);
        }
    }
}

// Out of line, so that each has a frame of its own.

/// Adds entry (`i`, `j`) of A times a packed row to `acc`.
#[inline(never)]
pub(crate) fn entry_sampled(
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    row: Row<'_>,
    acc: &mut [i32; N],
) {
    multiply_accumulate(KECCAK, rho, i, j, acc, |quarter, window| {
        row.window(quarter, window);
    });
}

#[inline(never)]
fn entry_compact(entry: &[u8], row: Row<'_>, acc: &mut [i32; N]) {
    multiply_accumulate_compact(entry, acc, |quarter, window| row.window(quarter, window));
}

/// Row `i` of the public key, packed: t1 and t0. An empty slice skips its part.
#[inline(never)]
pub(crate) fn public_row<S: Secrets>(
    p: &Params,
    secrets: &S,
    i: usize,
    acc: &mut [i32; N],
    t1: &mut [u8],
    t0: &mut [u8],
) {
    acc.fill(0);
    for j in 0..p.l {
        public_entry(p, secrets, i, j, acc);
    }
    public_row_end(p, secrets, i, acc, t1, t0);
}

/// Adds entry (`i`, `j`) of A times row `j` of s1 to `acc`.
#[inline(never)]
pub(crate) fn public_entry<S: Secrets>(
    p: &Params,
    secrets: &S,
    i: usize,
    j: usize,
    acc: &mut [i32; N],
) {
    let mut row = wiped::<S::Row>();
    let s1 = secrets.row(p, j, row.expose_mut());
    let bits = p.eta_bits();
    entry_sampled(secrets.rho(), i, j, Row { bits, bytes: s1 }, acc);
}

/// The end of [`public_row`], after the entries of the row.
#[inline(never)]
pub(crate) fn public_row_end<S: Secrets>(
    p: &Params,
    secrets: &S,
    i: usize,
    acc: &mut [i32; N],
    t1: &mut [u8],
    t0: &mut [u8],
) {
    finish_row(acc);
    let mut row = wiped::<S::Row>();
    let s2 = secrets.row(p, p.l + i, row.expose_mut());
    power2round_row(p.eta, acc, s2, t1, t0);
    declassify_in_place(t1, "t1 is the public key");
}
