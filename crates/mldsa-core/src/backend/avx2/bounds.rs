//! That the intervals of `transform/bounds.rs` are those of this backend's registers.

use core::arch::x86_64::__m256i;

use super::ntt::{inv_ntt, ntt};
use super::vector::{get, put};
use super::*;
use crate::backend::transform::bounds::{Floor, Registers, contain_what_they_hold};
use crate::backend::transform::{Private, Standard, Vector};
use crate::params::N;

/// Every register of a polynomial through a step.
#[target_feature(enable = "avx2")]
fn each(a: &[i32; N], out: &mut [i32; N], step: impl Fn(__m256i) -> __m256i) {
    for n in 0..N / 8 {
        put(out, n, step(get(a, n)));
    }
}

#[test]
fn intervals_contain_what_the_registers_hold() {
    if detect().is_none() {
        std::eprintln!("skipped: this CPU has no avx2 backend");
        return;
    }
    contain_what_they_hold::<Floor>(&Registers {
        // SAFETY: `detect` found every feature.
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
