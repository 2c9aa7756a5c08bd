//! Products in the NTT domain. Constant time.

use super::sums::{Sums, Term};
use super::vector::{Eight, get, get_at, put, spread};
use crate::coding::expansion::Expansion;
use crate::params::N;
use crate::ring::poly::NttPoly;

/// Coefficients `8 n..8 n + 8` of a row, not reduced. Panics if the row is empty.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn row_sums(a: &[NttPoly], b: &[NttPoly], n: usize) -> Sums {
    let mut sums = Sums::of(get(&a[0].0, n), Term::of(get(&b[0].0, n)));
    for (a, b) in a[1..].iter().zip(&b[1..]) {
        sums = sums.add(get(&a.0, n), Term::of(get(&b.0, n)));
    }
    sums
}

/// [`crate::ring::ntt::row_product`], the same order in and out.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn row_product(a: &[NttPoly], b: &[NttPoly], out: &mut NttPoly) {
    if a.is_empty() || b.is_empty() {
        out.0 = [0; N];
        return;
    }
    for n in 0..N / 8 {
        put(&mut out.0, n, row_sums(a, b, n).reduce());
    }
}

/// Every row of the prepared matrix times the vector: `a` is
/// `[block 0..32][row][column 0..TERMS][8]`, `vector` has `TERMS` polynomials and `out`
/// as many as there are rows, an even number. Algorithm 48 and the c t1 column in one.
///
/// Bounds: `0 <= a < q`, `|b| < 9 q`, `|out| < q`; the factor `2^-32` stays.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn matrix_product<const TERMS: usize>(
    a: Expansion<'_>,
    vector: &[NttPoly; TERMS],
    out: &mut [NttPoly],
) {
    match a {
        Expansion::Wide(a) => {
            let a = &a[..out.len() * TERMS];
            // SAFETY: `NttPoly` is 256 coefficients without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 32 * a.len()) };
            product_of::<TERMS, [i32; 8]>(a, vector, out);
        }
        Expansion::Packed(a) => {
            let a = &a[..out.len() * TERMS];
            // SAFETY: `PackedPoly` is 256 coefficients of three bytes without padding.
            let a = unsafe { core::slice::from_raw_parts(a.as_ptr().cast(), 32 * a.len()) };
            product_of::<TERMS, [u8; 24]>(a, vector, out);
        }
    }
}

/// Eight coefficients in memory.
trait Stored {
    /// To registers; `register` proves that there are such.
    fn load(&self, register: Eight) -> Eight;
}

impl Stored for [i32; 8] {
    #[inline(always)]
    fn load(&self, _register: Eight) -> Eight {
        // SAFETY: a register proves the features.
        unsafe { get_at(self) }
    }
}

impl Stored for [u8; 24] {
    #[inline(always)]
    fn load(&self, _register: Eight) -> Eight {
        // SAFETY: a register proves the features.
        unsafe { spread(self) }
    }
}

#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn product_of<const TERMS: usize, B: Stored>(
    a: &[B],
    vector: &[NttPoly; TERMS],
    out: &mut [NttPoly],
) {
    let rows = out.len();
    for (n, block) in a.chunks_exact(rows * TERMS).enumerate() {
        let mut terms = [Term::of(get(&vector[0].0, n)); TERMS];
        for (term, b) in terms.iter_mut().zip(vector) {
            *term = Term::of(get(&b.0, n));
        }
        // Two rows at a time: what the vector loads serves both.
        let (pairs, out) = (
            block.as_chunks::<TERMS>().0.as_chunks::<2>().0,
            out.as_chunks_mut::<2>().0,
        );
        for ([first, second], out) in pairs.iter().zip(out) {
            let product = |row: &[B; TERMS], j: usize| (row[j].load(terms[j].get()), terms[j]);
            let ((a, b), (c, d)) = (product(first, 0), product(second, 0));
            let mut sums = [Sums::of(a, b), Sums::of(c, d)];
            for j in 1..TERMS {
                let ((a, b), (c, d)) = (product(first, j), product(second, j));
                sums = [sums[0].add(a, b), sums[1].add(c, d)];
            }
            put(&mut out[0].0, n, sums[0].reduce());
            put(&mut out[1].0, n, sums[1].reduce());
        }
    }
}
