//! Matrix products for callers that hold one polynomial and a quarter of a
//! transform: operands come packed, a window of 64 coefficients at a time, and A
//! comes coefficient by coefficient from its XOF or from a packed cache.
//!
//! The first two layers of algorithm 41 separate the transform into four quarters,
//! each of which needs four coefficients of the input for one of its own. A packed
//! source can be read at any place, so a quarter fits in 256 bytes, and the
//! entries of A arrive in the same order. Each quarter does the first two layers
//! over again: 512 multiplications more per transform, a tenth of what the
//! expansion of its entry of A costs.

use crate::coding::pack::{GROUP, pack_compact, part, part_mut, unpack_compact};
use crate::hash::keccak::Permutation;
use crate::memory::secret::Secret;
use crate::params::{N, Q, SEED_LEN, SMALL};
use crate::ring::field::{add_q_if_negative, canonical, montgomery_mul, sums_of_three};
use crate::ring::ntt;
use crate::sample::rej_ntt_poly_each_vartime;

/// Coefficients in a window.
pub const WINDOW: usize = N / 4;

/// Bits of a coefficient in a compact polynomial.
const COMPACT_BITS: usize = 23;

/// Bytes of a compact polynomial: 736.
pub const COMPACT_LEN: usize = N / 8 * COMPACT_BITS;

/// Returns the first two layers of algorithm 41 for its quarter `quarter` (0 to 3).
/// `read(n, out)` yields the coefficients `n..n + 8`.
///
/// Bounds: |in| <= 2^19 gives |out| < max|in| + q: the sum of three products is below 3 (q/2) 2^19
/// plus what the product of two zetas adds, under 2^31 q. Constant time.
#[inline(always)]
pub fn first_layers(
    quarter: usize,
    window: &mut [i32; WINDOW],
    mut read: impl FnMut(usize, &mut [i32; GROUP]),
) {
    let signed = |zeta: i32, minus: bool| if minus { -zeta } else { zeta };
    let first = signed(ntt::zeta(1), quarter >= 2);
    let second = signed(ntt::zeta(2 + quarter / 2 % 2), quarter % 2 == 1);
    let zetas = [second, first, montgomery_mul(first, second)];
    let mut scratch = Secret::<[[i32; GROUP]; 2]>::zeroed();
    let scratch = scratch.expose_mut();
    // a + second b + first c + first second d, reduced once; b is in the window meanwhile.
    for (n, out) in window.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let n = GROUP * n;
        read(n + WINDOW, out);
        read(n + 2 * WINDOW, &mut scratch[0]);
        read(n + 3 * WINDOW, &mut scratch[1]);
        sums_of_three(&zetas, out, scratch);
        read(n, out);
        for (out, &sum) in out.iter_mut().zip(&scratch[0]) {
            *out += sum;
        }
    }
}

/// The other six layers of algorithm 41 for its quarter `quarter`.
///
/// Bounds: |in| < 2^31 - 6q gives |out| < max|in| + 6q. Constant time.
#[inline(never)]
fn last_layers(quarter: usize, window: &mut [i32; WINDOW]) {
    ntt::last_layers(quarter, window);
}

/// Adds the product of entry (`i`, `j`) of A and a transformed polynomial, times
/// 2^-32, to `acc`; `fill(quarter, window)` yields the quarters of the latter as
/// [`first_layers`] leaves them.
///
/// Bounds: |window| < 9q; |acc| grows by q. Constant time in `window`.
#[inline(always)]
pub fn multiply_accumulate(
    keccak: Permutation,
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    acc: &mut [i32; N],
    mut fill: impl FnMut(usize, &mut [i32; WINDOW]),
) {
    let mut window = Secret::<[i32; WINDOW]>::zeroed();
    let window = window.expose_mut();
    let mut n = 0;
    rej_ntt_poly_each_vartime(keccak, rho, j as u8, i as u8, |some| {
        let at = n % WINDOW;
        if SMALL {
            // One coefficient at a time.
        } else if let (Some(acc), true, Some(b), Ok(a)) = (
            acc[n % N..].first_chunk_mut::<GROUP>(),
            at > 0,
            window[at..].first_chunk::<GROUP>(),
            <&[i32; GROUP]>::try_from(some),
        ) {
            for i in 0..GROUP {
                acc[i] += montgomery_mul(a[i], b[i]);
            }
            n += GROUP;
            return n < N;
        }
        for &a in some {
            if n % WINDOW == 0 {
                fill(n / WINDOW, window);
                last_layers(n / WINDOW, window);
            }
            acc[n % N] += montgomery_mul(a, window[n % WINDOW]);
            n += 1;
            if n == N {
                return false;
            }
        }
        true
    });
}

/// Computes [`multiply_accumulate`] with an entry of A that [`expand_compact`] stored.
#[inline(always)]
pub fn multiply_accumulate_compact(
    entry: &[u8],
    acc: &mut [i32; N],
    mut fill: impl FnMut(usize, &mut [i32; WINDOW]),
) {
    let mut window = Secret::<[i32; WINDOW]>::zeroed();
    let window = window.expose_mut();
    let quarters = acc
        .chunks_exact_mut(WINDOW)
        .zip(entry.chunks_exact(COMPACT_LEN / 4));
    for (quarter, (acc, entry)) in quarters.enumerate() {
        fill(quarter, window);
        last_layers(quarter, window);
        add_quarter(acc, window, entry);
    }
}

/// The products of one quarter. A frame of its own, released before windows are filled.
#[inline(never)]
fn add_quarter(acc: &mut [i32], window: &[i32; WINDOW], entry: &[u8]) {
    let mut group = [0; GROUP];
    let groups = acc
        .as_chunks_mut::<GROUP>()
        .0
        .iter_mut()
        .zip(window.as_chunks::<GROUP>().0);
    for ((acc, window), entry) in groups.zip(entry.chunks_exact(COMPACT_BITS)) {
        unpack_compact(entry, &mut group);
        for ((acc, &b), &a) in acc.iter_mut().zip(window).zip(&group) {
            *acc += montgomery_mul(a, b);
        }
    }
}

/// Computes entry (`i`, `j`) of A in compact form: `out` has 736 bytes.
#[inline(never)]
pub fn expand_compact(
    keccak: Permutation,
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    out: &mut [u8],
) {
    let mut slots = out.chunks_exact_mut(COMPACT_BITS);
    in_groups(keccak, rho, i, j, |_, group| {
        if let Some(slot) = slots.next() {
            pack_compact(group, slot);
        }
    });
}

/// Entry (`i`, `j`) of A in groups of eight coefficients.
#[inline(always)]
fn in_groups(
    keccak: Permutation,
    rho: &[u8; SEED_LEN],
    i: usize,
    j: usize,
    mut sink: impl FnMut(usize, &[i32; GROUP]),
) {
    let mut group = [0; GROUP];
    let mut n = 0;
    rej_ntt_poly_each_vartime(keccak, rho, j as u8, i as u8, |some| {
        for &a in some {
            group[n % GROUP] = a;
            n += 1;
            if n % GROUP == 0 {
                sink(n - GROUP, &group);
            }
            if n == N {
                return false;
            }
        }
        true
    });
}

/// Adds the products of entry (`i`, `j`) of A with two transformed polynomials,
/// the second one compact, times 2^-32, to two compact polynomials: one
/// expansion of A serves two masks.
///
/// Bounds: |mask| < 9q; the compact coefficients are canonical before and after.
/// Constant time in the masks.
#[inline(never)]
pub fn multiply_accumulate_two(
    keccak: Permutation,
    rho: &[u8; SEED_LEN],
    (i, j): (usize, usize),
    (mask, compact_mask): (&[i32; N], &[u8]),
    first: &mut [u8],
    second: &mut [u8],
) {
    in_groups(keccak, rho, i, j, |n, group| {
        let mut factors = Secret::<[i32; GROUP]>::zeroed();
        let factors = factors.expose_mut();
        factors.copy_from_slice(&mask[n..][..GROUP]);
        add_products(part_mut(first, COMPACT_BITS, n, GROUP), group, factors);
        unpack_compact(part(compact_mask, COMPACT_BITS, n, GROUP), factors);
        add_products(part_mut(second, COMPACT_BITS, n, GROUP), group, factors);
    });
}

/// Adds eight products times 2^-32 to eight compact coefficients.
///
/// Bounds: |a b| < 2^31 q; canonical sum plus (-q, q) back to [0, q).
#[inline(never)]
fn add_products(slot: &mut [u8], a: &[i32; GROUP], b: &[i32; GROUP]) {
    let mut sums = Secret::<[i32; GROUP]>::zeroed();
    let sums = sums.expose_mut();
    unpack_compact(slot, sums);
    // Not zipped: optimised for size, iterators would be values in frames of their own.
    for n in 0..GROUP {
        let product = add_q_if_negative(montgomery_mul(a[n], b[n]));
        sums[n] = add_q_if_negative(sums[n] + product - Q);
    }
    pack_compact(sums, slot);
}

/// Computes algorithm 41 on a whole polynomial in place, for callers that hold one.
///
/// Bounds: |in| < 2^31 - 8q gives |out| < max|in| + 8q. Constant time.
#[inline(never)]
pub fn ntt_in_place(a: &mut [i32; N]) {
    ntt::ntt_in_place(a);
}

/// Makes a polynomial compact and leaves it canonical: `out` has 736 bytes.
///
/// Bounds: |a| < 2^31 - 2^22. Constant time.
#[inline(never)]
pub fn store_compact(a: &mut [i32; N], out: &mut [u8]) {
    for a in a.iter_mut() {
        *a = canonical(*a);
    }
    pack_compact(a, out);
}

/// Reads a compact polynomial; 0 <= out < q.
#[inline(never)]
pub fn load_compact(bytes: &[u8], out: &mut [i32; N]) {
    unpack_compact(bytes, out);
}

/// Ends a row: the inverse transform of a sum of up to 8 products, canonical.
///
/// Bounds: |acc| < 8q gives 0 <= out < q. Constant time.
#[inline(never)]
pub fn finish_row(acc: &mut [i32; N]) {
    for a in acc.iter_mut() {
        *a = canonical(*a);
    }
    ntt::inv_ntt_in_place(acc);
    for a in acc.iter_mut() {
        *a = add_q_if_negative(*a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::array::Element;
    use crate::random::Random;
    use crate::ring::ntt::{inv_ntt, ntt, row_product};
    use crate::ring::poly::{NttPoly, Poly};
    use crate::sample::rej_ntt_poly_vartime;

    const KECCAK: Permutation = Permutation::PORTABLE;

    fn reader(p: &Poly) -> impl Fn(usize, &mut [i32; GROUP]) {
        |n, out| out.copy_from_slice(&p.0[n..n + GROUP])
    }

    #[test]
    fn windows_are_the_quarters_of_the_transform() {
        let mut random = Random::new(1);
        for _ in 0..20 {
            let p = Poly(random.poly(1 << 19));
            let mut whole = NttPoly::ZERO;
            ntt(&p, &mut whole);
            for quarter in 0..4 {
                let mut window = [0; WINDOW];
                first_layers(quarter, &mut window, reader(&p));
                last_layers(quarter, &mut window);
                let expected = &whole.0[quarter * WINDOW..][..WINDOW];
                for (a, &b) in window.into_iter().zip(expected) {
                    assert_eq!(canonical(a), canonical(b));
                }
            }
        }
    }

    #[test]
    fn streamed_and_compact_rows_are_matrix_rows() {
        let rho = [7; SEED_LEN];
        let mut random = Random::new(2);
        let p: [Poly; 7] = core::array::from_fn(|_| Poly(random.poly(1 << 19)));
        let mut a_hat: [NttPoly; 7] = [const { NttPoly::ZERO }; 7];
        let mut p_hat: [NttPoly; 7] = [const { NttPoly::ZERO }; 7];
        let mut acc = [0; N];
        let mut acc_compact = [0; N];
        let mut pair = [[0u8; COMPACT_LEN]; 2];
        for j in 0..7 {
            rej_ntt_poly_vartime(KECCAK, &rho, j as u8, 5, &mut a_hat[j]);
            ntt(&p[j], &mut p_hat[j]);
            multiply_accumulate(KECCAK, &rho, 5, j, &mut acc, |quarter, window| {
                first_layers(quarter, window, reader(&p[j]));
            });
            let mut entry = [0; COMPACT_LEN];
            expand_compact(KECCAK, &rho, 5, j, &mut entry);
            let mut loaded = [0; N];
            load_compact(&entry, &mut loaded);
            assert_eq!(loaded, a_hat[j].0);
            multiply_accumulate_compact(&entry, &mut acc_compact, |quarter, window| {
                first_layers(quarter, window, reader(&p[j]));
            });
            let [first, second] = &mut pair;
            let mut compact = [0; COMPACT_LEN];
            store_compact(&mut p_hat[6 - j].0.clone(), &mut compact);
            let masks = (&p_hat[j].0, &compact[..]);
            multiply_accumulate_two(KECCAK, &rho, (5, j), masks, first, second);
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
