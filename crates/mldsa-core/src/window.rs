//! Matrix products for callers that hold one polynomial and half a transform:
//! operands come packed, a window of 128 coefficients at a time, and A comes
//! coefficient by coefficient from its XOF or from a packed cache.
//!
//! The first layer of algorithm 41 separates the transform into two halves, each
//! of which needs only `a[n] +- zeta a[n + 128]`. A packed source can be read at
//! any place, so one half fits in 512 bytes, and the entries of A arrive in the
//! same order.

use crate::backend::Backend;
use crate::field::{add_q_if_negative, canonical, montgomery_mul};
use crate::ntt::{ZETAS, ntt_layers};
use crate::pack::GROUP;
use crate::params::{N, SEED_LEN};
use crate::sample::rej_ntt_poly_each;
use crate::secret::Secret;

/// Coefficients in a window.
pub const WINDOW: usize = N / 2;

/// Bytes of one polynomial at 24 bits a coefficient.
pub const COMPACT_LEN: usize = 3 * N;

/// Half `half` (0 or 1) of algorithm 41. `read(n, out)` yields the
/// coefficients `n..n + 8`.
///
/// Bounds: |in| < 2^31 - 8q gives |out| < max|in| + 8q. Constant time.
#[inline(always)]
pub fn ntt_window(
    half: usize,
    window: &mut [i32; WINDOW],
    mut read: impl FnMut(usize, &mut [i32; GROUP]),
) {
    let zeta = if half == 0 { ZETAS[1] } else { -ZETAS[1] };
    let mut high = Secret::<[i32; GROUP]>::zeroed();
    let high = high.expose_mut();
    for (n, low) in (0..).step_by(GROUP).zip(window.as_chunks_mut::<GROUP>().0) {
        read(n, low);
        read(n + WINDOW, high);
        for (a, &b) in low.iter_mut().zip(&*high) {
            *a += montgomery_mul(zeta, b);
        }
    }
    ntt_layers(window, WINDOW / 2, 2 + half);
}

/// Adds the product of entry (`i`, `j`) of A and a transformed polynomial, times
/// 2^-32, to `acc`; `fill(half, window)` yields the halves of the latter.
///
/// Bounds: |window| < 9q; |acc| grows by q. Constant time in `window`.
#[inline(always)]
pub fn multiply_accumulate(
    backend: Backend,
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    acc: &mut [i32; N],
    mut fill: impl FnMut(usize, &mut [i32; WINDOW]),
) {
    let mut window = Secret::<[i32; WINDOW]>::zeroed();
    let window = window.expose_mut();
    let mut n = 0;
    rej_ntt_poly_each(backend, rho, j as u8, i as u8, |a| {
        if n % WINDOW == 0 {
            fill(n / WINDOW, window);
        }
        acc[n % N] += montgomery_mul(a, window[n % WINDOW]);
        n += 1;
        n < N
    });
}

/// [`multiply_accumulate`] with an entry of A that [`expand_compact`] stored.
#[inline(always)]
pub fn multiply_accumulate_compact(
    entry: &[u8],
    acc: &mut [i32; N],
    mut fill: impl FnMut(usize, &mut [i32; WINDOW]),
) {
    let mut window = Secret::<[i32; WINDOW]>::zeroed();
    let window = window.expose_mut();
    let halves = acc
        .chunks_exact_mut(WINDOW)
        .zip(entry.chunks_exact(COMPACT_LEN / 2));
    for (half, (acc, entry)) in halves.enumerate() {
        fill(half, window);
        for ((acc, &b), a) in acc.iter_mut().zip(&*window).zip(entry.as_chunks::<3>().0) {
            *acc += montgomery_mul(load(a), b);
        }
    }
}

/// Entry (`i`, `j`) of A at 24 bits a coefficient: `out` has 768 bytes.
#[inline(never)]
pub fn expand_compact(backend: Backend, rho: &[u8; SEED_LEN], i: usize, j: usize, out: &mut [u8]) {
    let mut slots = out.as_chunks_mut::<3>().0.iter_mut();
    rej_ntt_poly_each(backend, rho, j as u8, i as u8, |a| {
        if let Some(slot) = slots.next() {
            store(slot, a);
        }
        !slots.as_slice().is_empty()
    });
}

/// Adds the products of entry (`i`, `j`) of A with two transformed polynomials,
/// times 2^-32, to two compact polynomials of 768 bytes: one expansion of A
/// serves two masks.
///
/// Bounds: |mask| < 9q; the compact coefficients are canonical before and after.
/// Constant time in the masks.
#[inline(never)]
pub fn multiply_accumulate_two(
    backend: Backend,
    rho: &[u8; SEED_LEN],
    (i, j): (usize, usize),
    masks: [&[i32; N]; 2],
    first: &mut [u8],
    second: &mut [u8],
) {
    let mut slots = first
        .as_chunks_mut::<3>()
        .0
        .iter_mut()
        .zip(second.as_chunks_mut::<3>().0)
        .zip(masks[0].iter().zip(masks[1]));
    let mut left = N;
    rej_ntt_poly_each(backend, rho, j as u8, i as u8, |a| {
        if let Some(((first, second), (&b0, &b1))) = slots.next() {
            add(first, montgomery_mul(a, b0));
            add(second, montgomery_mul(a, b1));
        }
        left -= 1;
        left > 0
    });
}

/// Reads a compact polynomial; 0 <= out < q.
pub fn load_compact(bytes: &[u8], out: &mut [i32; N]) {
    for (a, bytes) in out.iter_mut().zip(bytes.as_chunks::<3>().0) {
        *a = load(bytes);
    }
}

#[inline(always)]
fn load(bytes: &[u8; 3]) -> i32 {
    i32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
}

#[inline(always)]
fn store(bytes: &mut [u8; 3], a: i32) {
    let [b0, b1, b2, _] = a.to_le_bytes();
    *bytes = [b0, b1, b2];
}

// 0 <= sum < q and |a| < q: (-q, 2q) back to [0, q).
#[inline(always)]
fn add(slot: &mut [u8; 3], a: i32) {
    let sum = load(slot) + add_q_if_negative(a);
    store(slot, add_q_if_negative(sum - crate::params::Q));
}

/// Ends a row: the inverse transform of a sum of up to 8 products, canonical.
///
/// Bounds: |acc| < 8q gives 0 <= out < q. Constant time.
#[inline(never)]
pub fn finish_row(acc: &mut [i32; N]) {
    for a in acc.iter_mut() {
        *a = canonical(*a);
    }
    crate::ntt::inv_ntt_in_place(acc);
    for a in acc.iter_mut() {
        *a = add_q_if_negative(*a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Element;
    use crate::ntt::{inv_ntt, ntt, row_product};
    use crate::params::Q;
    use crate::poly::{NttPoly, Poly};
    use crate::sample::rej_ntt_poly;

    const BACKEND: Backend = Backend::PORTABLE;

    fn noise(seed: u32, bound: i32) -> Poly {
        let mut state = seed;
        Poly(core::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 2) as i32 % (2 * bound + 1) - bound
        }))
    }

    fn reader(p: &Poly) -> impl Fn(usize, &mut [i32; GROUP]) {
        |n, out| out.copy_from_slice(&p.0[n..n + GROUP])
    }

    #[test]
    fn windows_are_the_halves_of_the_transform() {
        for seed in 0..20 {
            let p = noise(seed, 1 << 19);
            let mut whole = NttPoly::ZERO;
            ntt(&p, &mut whole);
            for half in 0..2 {
                let mut window = [0; WINDOW];
                ntt_window(half, &mut window, reader(&p));
                assert_eq!(window, whole.0[half * WINDOW..][..WINDOW]);
            }
        }
    }

    #[test]
    fn streamed_and_compact_rows_are_matrix_rows() {
        let rho = [7; SEED_LEN];
        let p: [Poly; 7] = core::array::from_fn(|j| noise(j as u32, 1 << 19));
        let mut a_hat: [NttPoly; 7] = [const { NttPoly::ZERO }; 7];
        let mut p_hat: [NttPoly; 7] = [const { NttPoly::ZERO }; 7];
        let mut acc = [0; N];
        let mut acc_compact = [0; N];
        let mut pair = [[0u8; COMPACT_LEN]; 2];
        for j in 0..7 {
            rej_ntt_poly(BACKEND, &rho, j as u8, 5, &mut a_hat[j]);
            ntt(&p[j], &mut p_hat[j]);
            multiply_accumulate(BACKEND, &rho, 5, j, &mut acc, |half, window| {
                ntt_window(half, window, reader(&p[j]));
            });
            let mut entry = [0; COMPACT_LEN];
            expand_compact(BACKEND, &rho, 5, j, &mut entry);
            let mut loaded = [0; N];
            load_compact(&entry, &mut loaded);
            assert_eq!(loaded, a_hat[j].0);
            multiply_accumulate_compact(&entry, &mut acc_compact, |half, window| {
                ntt_window(half, window, reader(&p[j]));
            });
            let [first, second] = &mut pair;
            let masks = [&p_hat[j].0, &p_hat[6 - j].0];
            multiply_accumulate_two(BACKEND, &rho, (5, j), masks, first, second);
        }
        let mut sum = NttPoly::ZERO;
        let mut expected = Poly::ZERO;
        row_product(&a_hat, &p_hat, &mut sum);
        inv_ntt(&sum, &mut expected);
        let expected = expected.0.map(|a| a.rem_euclid(Q));
        assert_eq!(acc, acc_compact);
        let mut first = [0; N];
        load_compact(&pair[0], &mut first);
        for mut row in [acc, first] {
            finish_row(&mut row);
            assert_eq!(row, expected);
        }
        assert_ne!(pair[0], pair[1]);
    }
}
