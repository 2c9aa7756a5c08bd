//! Rows of matrix products, one polynomial of accumulator at a time.

use mldsa_core::Backend;
use mldsa_core::hazmat::pack::{GROUP, part, unpack_eta_part, unpack_z_part};
use mldsa_core::hazmat::row::power2round_row;
use mldsa_core::hazmat::window::{
    COMPACT_LEN, WINDOW, finish_row, multiply_accumulate, multiply_accumulate_compact, ntt_window,
};
use mldsa_core::hazmat::{N, Params, SEED_LEN};

use crate::secrets::{Secrets, room, slot};

/// One state at a time has nothing to gain from vectors.
pub(crate) const BACKEND: Backend = Backend::PORTABLE;

/// Where the entries of A come from.
#[derive(Clone, Copy)]
pub(crate) enum Matrix<'a> {
    /// Their XOF.
    Sampled(&'a [u8; SEED_LEN]),
    /// Memory, at 24 bits a coefficient, row after row.
    Compact(&'a [u8]),
}

impl Matrix<'_> {
    #[inline(always)]
    fn accumulate(
        &self,
        p: &Params,
        i: usize,
        j: usize,
        acc: &mut [i32; N],
        fill: impl FnMut(usize, &mut [i32; WINDOW]),
    ) {
        match *self {
            Self::Sampled(rho) => multiply_accumulate(BACKEND, rho, i, j, acc, fill),
            Self::Compact(entries) => {
                let entry = slot(entries, i * p.l + j, COMPACT_LEN);
                multiply_accumulate_compact(entry, acc, fill);
            }
        }
    }
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
#[inline(never)]
pub(crate) fn mask_entry(
    p: &Params,
    a: &Matrix<'_>,
    i: usize,
    j: usize,
    y: &[u8],
    acc: &mut [i32; N],
) {
    a.accumulate(p, i, j, acc, |half, window| mask_window(p, y, half, window));
}

/// Half of the transform of a packed row of y or z.
#[inline(never)]
pub(crate) fn mask_window(p: &Params, y: &[u8], half: usize, window: &mut [i32; WINDOW]) {
    let bits = 1 + p.gamma1_bits as usize;
    ntt_window(half, window, |n, group| {
        unpack_z_part(p.gamma1_bits, part(y, bits, n, GROUP), group);
    });
}

#[inline(never)]
fn secret_entry(p: &Params, a: &Matrix<'_>, i: usize, j: usize, s1: &[u8], acc: &mut [i32; N]) {
    a.accumulate(p, i, j, acc, |half, window| {
        secret_window(p, s1, half, window)
    });
}

#[inline(never)]
fn secret_window(p: &Params, s1: &[u8], half: usize, window: &mut [i32; WINDOW]) {
    ntt_window(half, window, |n, group| {
        unpack_eta_part(p.eta, part(s1, p.eta_bits(), n, GROUP), group);
    });
}

/// Row `i` of the public key: t1 and t0 packed, an empty slice for one not wanted.
#[inline(never)]
pub(crate) fn public_row<S: Secrets>(
    p: &Params,
    a: &Matrix<'_>,
    secrets: &S,
    i: usize,
    acc: &mut [i32; N],
    t1: &mut [u8],
    t0: &mut [u8],
) {
    acc.fill(0);
    let mut row = room::<S::Row>();
    for j in 0..p.l {
        let s1 = secrets.row(p, j, row.expose_mut());
        secret_entry(p, a, i, j, s1, acc);
    }
    finish_row(acc);
    let s2 = secrets.row(p, p.l + i, row.expose_mut());
    power2round_row(p.eta, acc, s2, t1, t0);
}
