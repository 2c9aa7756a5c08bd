//! The matrix A in little memory.

use super::kernels::Kernels;
use crate::memory::array::Element;
use crate::params::{Params, SEED_LEN};
use crate::ring::poly::NttPoly;

/// A, row after row, sampled as many entries at a time as the backend has Keccak lanes, at most
/// `LANES`, whatever row they belong to: rows of 5 or 7 would leave lanes of a backend empty, and A in full takes 16,
/// 30 or 56 KiB. Public data.
pub(crate) struct MatrixRows<'a, const LANES: usize> {
    kernels: &'static Kernels,
    rho: &'a [u8; SEED_LEN],
    l: usize,
    entries: usize,
    /// Entries of a group, a power of two.
    lanes: usize,
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
            lanes: kernels.mask_lanes.min(LANES),
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
        let mut rest = row;
        while !rest.is_empty() {
            let place = self.next & (self.lanes - 1);
            let count = self.lanes.min(self.entries.saturating_sub(self.next));
            if place == 0 && count <= rest.len() {
                let (group, later) = rest.split_at_mut(count);
                expand_a(self.rho, self.l, self.next, group);
                self.next += count;
                rest = later;
                continue;
            }
            if place == 0 {
                expand_a(self.rho, self.l, self.next, &mut self.group[..count]);
            }
            let (entry, later) = rest.split_at_mut(1);
            entry[0].0 = self.group[place].0;
            self.next += 1;
            rest = later;
        }
    }
}

/// As [`Kernels::expand_a`].
pub(crate) type ExpandA<'f> = dyn FnMut(&[u8; SEED_LEN], usize, usize, &mut [NttPoly]) + 'f;
