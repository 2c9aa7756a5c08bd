//! The matrix A in little memory.

use super::kernels::Kernels;
use crate::memory::array::Element;
use crate::params::{Params, SEED_LEN};
use crate::ring::poly::NttPoly;

/// A, row after row, sampled `LANES` entries at a time whatever row they belong
/// to: rows of 5 or 7 would leave lanes of a backend empty, and A in full takes 16,
/// 30 or 56 KiB. Public data.
pub(crate) struct MatrixRows<'a, const LANES: usize> {
    kernels: &'static Kernels,
    rho: &'a [u8; SEED_LEN],
    l: usize,
    entries: usize,
    next: usize,
    group: [NttPoly; LANES],
}

impl<'a, const LANES: usize> MatrixRows<'a, LANES> {
    #[inline]
    pub(crate) fn new(kernels: &'static Kernels, p: &Params, rho: &'a [u8; SEED_LEN]) -> Self {
        Self {
            kernels,
            rho,
            l: p.l,
            entries: p.k * p.l,
            next: 0,
            group: [const { NttPoly::ZERO }; LANES],
        }
    }

    /// Algorithm 32: the next l entries, which `row` has room for. To be called k
    /// times. 0 <= out < q.
    #[inline]
    pub(crate) fn next_row(&mut self, row: &mut [NttPoly]) {
        let expand_a = self.kernels.expand_a;
        self.next_row_of(row, &mut |rho, l, first, group| {
            expand_a(rho, l, first, group)
        });
    }

    /// The same from an expansion that is no entry of the table.
    #[inline]
    pub(crate) fn next_row_of(&mut self, row: &mut [NttPoly], expand_a: &mut ExpandA<'_>) {
        for entry in row {
            let place = self.next % LANES;
            if place == 0 {
                let count = LANES.min(self.entries.saturating_sub(self.next));
                let group = &mut self.group[..count];
                expand_a(self.rho, self.l, self.next, group);
            }
            entry.0 = self.group[place].0;
            self.next += 1;
        }
    }
}

/// As [`Kernels::expand_a`].
pub(crate) type ExpandA<'f> = dyn FnMut(&[u8; SEED_LEN], usize, usize, &mut [NttPoly]) + 'f;
