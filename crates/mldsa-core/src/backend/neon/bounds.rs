//! That the intervals of `transform/bounds.rs` are those of this backend's registers.

use super::ntt::{inv_ntt, ntt};
use super::vector::{Eight, get, put};
use crate::backend::transform::bounds::{Registers, Rounded, contain_what_they_hold};
use crate::backend::transform::{Private, Standard, Vector};
use crate::params::N;

/// Every register of a polynomial through a step.
#[target_feature(enable = "neon")]
fn each(a: &[i32; N], out: &mut [i32; N], step: impl Fn(Eight) -> Eight) {
    for n in 0..N / 8 {
        put(out, n, step(get(a, n)));
    }
}

#[test]
fn intervals_contain_what_the_registers_hold() {
    contain_what_they_hold::<Rounded>(&Registers {
        // SAFETY: every CPU of this target has the features.
        ntt: |a, out| unsafe { ntt::<Private>(|n| get(a, n), out) },
        // SAFETY: as above.
        standard_ntt: |a, out| unsafe { ntt::<Standard>(|n| get(a, n), out) },
        // SAFETY: as above.
        inv_ntt: |a, out| unsafe { inv_ntt(|n| [get(a, 2 * n), get(a, 2 * n + 1)], |v| v, out) },
        // SAFETY: as above.
        canonical: |a, out| unsafe { each(a, out, Vector::canonical) },
        // SAFETY: as above.
        centred: |a, out| unsafe { each(a, out, Vector::centred) },
    });
}
