//! NTT and inverse NTT: what the schedules of `transform.rs` read and write.

use super::vector::{Eight, get, put};
use crate::backend::transform::{
    Order, Vector, eight, inner_levels, inverse_inner_levels, inverse_outer_levels, outer_levels,
    reorder,
};
use crate::params::N;

/// Algorithm 41 on what `load(n)` gives for coefficients `8 n..8 n + 8`; out in the order
/// O. Constant time.
///
/// Bounds: any `|in| < B < 2^31 - 10 q` gives `|out| < B + 8.1 q` with NEON and `B + 10 q`
/// with AVX2, there `B + 8.1 q` for `B <= 2^26`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn ntt<O: Order>(mut load: impl FnMut(usize) -> Eight, out: &mut [i32; N]) {
    if cfg!(target_arch = "wasm32") {
        for n in 0..N / 8 {
            put(out, n, load(n));
        }
        ntt_in_place::<O>(out);
    } else {
        levels::<O>(
            #[inline(always)]
            |_, n| load(n),
            out,
        );
    }
}

/// One copy of the levels, for targets whose programs are downloaded.
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn ntt_in_place<O: Order>(poly: &mut [i32; N]) {
    levels::<O>(
        #[inline(always)]
        |poly, n| get(poly, n),
        poly,
    );
}

/// The eight levels. `load` gets what is in `out`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn levels<O: Order>(mut load: impl FnMut(&[i32; N], usize) -> Eight, out: &mut [i32; N]) {
    for i in 0..4 {
        let mut v = eight!(|n| load(out, n), i, 4);
        outer_levels(&mut v);
        for (j, v) in v.into_iter().enumerate() {
            put(out, i + 4 * j, v);
        }
    }
    for (b, w) in Eight::TABLES.inner.iter().enumerate() {
        let mut v = eight!(|n| get(out, n), 8 * b, 1);
        inner_levels(&mut v, w);
        reorder(&mut v, O::from_private);
        for (j, v) in v.into_iter().enumerate() {
            put(out, 8 * b + j, v);
        }
    }
}

/// Algorithm 42 times `2^32` on what `load(n)` gives for two times eight coefficients, in
/// private order; `finish` makes of a register what is written. Constant time.
///
/// Bounds: `|in| <= q`, `(-q, q)` into `finish` with NEON, `(-q/4, 5q/4)` with AVX2.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn inv_ntt(
    mut load: impl FnMut(usize) -> [Eight; 2],
    finish: impl Fn(Eight) -> Eight,
    out: &mut [i32; N],
) {
    if cfg!(target_arch = "wasm32") {
        for n in 0..N / 16 {
            let [a, b] = load(n);
            put(out, 2 * n, a);
            put(out, 2 * n + 1, b);
        }
        inv_ntt_in_place(out);
        for n in 0..N / 8 {
            put(out, n, finish(get(out, n)));
        }
    } else {
        inverse_levels(
            #[inline(always)]
            |_, n| load(n),
            finish,
            out,
        );
    }
}

/// As [`ntt_in_place`].
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn inv_ntt_in_place(poly: &mut [i32; N]) {
    inverse_levels(
        #[inline(always)]
        |poly, n| [get(poly, 2 * n), get(poly, 2 * n + 1)],
        #[inline(always)]
        |v| v,
        poly,
    );
}

/// The eight levels. `load` gets what is in `out`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn inverse_levels(
    mut load: impl FnMut(&[i32; N], usize) -> [Eight; 2],
    finish: impl Fn(Eight) -> Eight,
    out: &mut [i32; N],
) {
    for (b, w) in Eight::TABLES.inverse_inner.iter().enumerate() {
        let [v0, v1] = load(out, 4 * b);
        let [v2, v3] = load(out, 4 * b + 1);
        let [v4, v5] = load(out, 4 * b + 2);
        let [v6, v7] = load(out, 4 * b + 3);
        let mut v = [v0, v1, v2, v3, v4, v5, v6, v7];
        inverse_inner_levels(&mut v, w);
        for (j, v) in v.into_iter().enumerate() {
            put(out, 8 * b + j, v);
        }
    }
    for i in 0..4 {
        let mut v = eight!(|n| get(out, n), i, 4);
        inverse_outer_levels(&mut v);
        for (j, v) in v.into_iter().enumerate() {
            put(out, i + 4 * j, finish(v));
        }
    }
}

/// Coefficients `16 n..16 n + 16` of a polynomial in the order O, in private order.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
pub(super) fn get_pair<O: Order>(poly: &[i32; N], n: usize) -> [Eight; 2] {
    O::to_private(get(poly, 2 * n), get(poly, 2 * n + 1)).into()
}
