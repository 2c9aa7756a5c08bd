//! Rows of matrix products, one polynomial of accumulator at a time.

use mldsa_core::internals::pack::{GROUP, part, unpack_eta_part, unpack_z_part};
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

/// Row `i` of `A y` for packed rows of y or z; canonical.
pub(crate) fn mask_row(p: &Params, a: &Matrix<'_>, i: usize, y: &[u8], acc: &mut [i32; N]) {
    acc.fill(0);
    for (j, y) in y.chunks_exact(p.z_poly_len()).enumerate() {
        mask_entry(p, a, i, j, y, acc);
    }
    finish_row(acc);
}

/// Adds entry (`i`, `j`) of A times a packed row of y or z to `acc`.
fn mask_entry(p: &Params, a: &Matrix<'_>, i: usize, j: usize, y: &[u8], acc: &mut [i32; N]) {
    match *a {
        Matrix::Sampled(rho) => mask_entry_sampled(p, rho, i, j, y, acc),
        Matrix::Compact(entries) => {
            mask_entry_compact(p, packed_row(entries, i * p.l + j, COMPACT_LEN), y, acc);
        }
    }
}

// Out of line, so that each has a frame of its own.

#[inline(never)]
pub(crate) fn mask_entry_sampled(
    p: &Params,
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    y: &[u8],
    acc: &mut [i32; N],
) {
    multiply_accumulate(KECCAK, rho, i, j, acc, |quarter, window| {
        mask_window(p, y, quarter, window);
    });
}

#[inline(never)]
fn mask_entry_compact(p: &Params, entry: &[u8], y: &[u8], acc: &mut [i32; N]) {
    multiply_accumulate_compact(entry, acc, |quarter, window| {
        mask_window(p, y, quarter, window);
    });
}

/// The first layers of a quarter of the transform of a packed row of y or z.
#[inline(never)]
fn mask_window(p: &Params, y: &[u8], quarter: usize, window: &mut [i32; WINDOW]) {
    let bits = 1 + p.gamma1_bits as usize;
    first_layers(quarter, window, |n, group| {
        z_group(p, part(y, bits, n, GROUP), group);
    });
}

// Eight coefficients at a time, out of line: inlined at the four offsets that a quarter
// reads from, they make the deepest frame of the crate.

#[inline(never)]
fn z_group(p: &Params, bytes: &[u8], group: &mut [i32; GROUP]) {
    unpack_z_part(p.gamma1_bits, bytes, group);
}

#[inline(never)]
fn eta_group(p: &Params, bytes: &[u8], group: &mut [i32; GROUP]) {
    unpack_eta_part(p.eta, bytes, group);
}

#[inline(never)]
fn secret_entry(
    p: &Params,
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    s1: &[u8],
    acc: &mut [i32; N],
) {
    multiply_accumulate(KECCAK, rho, i, j, acc, |quarter, window| {
        secret_window(p, s1, quarter, window);
    });
}

#[inline(never)]
fn secret_window(p: &Params, s1: &[u8], quarter: usize, window: &mut [i32; WINDOW]) {
    first_layers(quarter, window, |n, group| {
        eta_group(p, part(s1, p.eta_bits(), n, GROUP), group);
    });
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
    let mut row = wiped::<S::Row>();
    for j in 0..p.l {
        let s1 = secrets.row(p, j, row.expose_mut());
        secret_entry(p, secrets.rho(), i, j, s1, acc);
    }
    finish_row(acc);
    let s2 = secrets.row(p, p.l + i, row.expose_mut());
    power2round_row(p.eta, acc, s2, t1, t0);
    declassify_in_place(t1, "t1 is the public key");
}
