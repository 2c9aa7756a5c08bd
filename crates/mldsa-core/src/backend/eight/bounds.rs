//! That the intervals of `transform/bounds.rs` are those of this backend's registers.

use super::ntt::{inv_ntt, ntt};
use super::tests::{Intervals, on_each_cpu};
use super::vector::{Eight, get, put};
use super::*;
use crate::backend::transform::bounds::{Registers, contain_what_they_hold};
use crate::backend::transform::{Private, Standard, Vector};
use crate::params::N;

/// Every register of a polynomial through a step.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
fn each(a: &[i32; N], out: &mut [i32; N], step: impl Fn(Eight) -> Eight) {
    for n in 0..N / 8 {
        put(out, n, step(get(a, n)));
    }
}

#[test]
fn intervals_contain_what_the_registers_hold() {
    fn check<C>(_cpu: C) {
        contain_what_they_hold::<Intervals>(&Registers {
            // SAFETY: `_cpu` proves the features.
            ntt: |a, out| unsafe { ntt::<Private>(|n| get(a, n), out) },
            // SAFETY: as above.
            standard_ntt: |a, out| unsafe { ntt::<Standard>(|n| get(a, n), out) },
            // SAFETY: as above.
            inv_ntt: |a, out| unsafe {
                inv_ntt(|n| [get(a, 2 * n), get(a, 2 * n + 1)], |v| v, out);
            },
            // SAFETY: as above.
            canonical: |a, out| unsafe { each(a, out, Vector::canonical) },
            // SAFETY: as above.
            centred: |a, out| unsafe { each(a, out, Vector::centred) },
        });
    }
    on_each_cpu!(check);
}
