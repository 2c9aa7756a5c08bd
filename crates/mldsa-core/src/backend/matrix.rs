//! The matrix A in little memory.

use super::kernels::Kernels;
use crate::memory::array::Element;
use crate::params::{Params, SEED_LEN};
use crate::ring::poly::NttPoly;

/// A, row after row, sampled `LANES` entries at a time, or as many as the backend has Keccak
/// lanes, whatever row they belong to: rows of 5 or 7 would leave lanes of a backend empty, and A
/// in full takes 16, 30 or 56 KiB. Public data.
pub(crate) struct MatrixRows<'a, const LANES: usize> {
    kernels: &'static Kernels,
    rho: &'a [u8; SEED_LEN],
    l: usize,
    entries: usize,
    /// Entries of a group.
    lanes: usize,
    /// Entries of the last group that were used, 0 if all were.
    used: usize,
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
            // With fewer lanes ExpandA runs on more states than ExpandMask, or on one.
            lanes: match kernels.mask_lanes {
                lanes @ 4..=8 => lanes.min(LANES),
                _ => LANES,
            },
            used: 0,
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
        while !rest.is_empty() && self.next < self.entries {
            let place = self.used;
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
            self.used = if place + 1 == self.lanes {
                0
            } else {
                place + 1
            };
            rest = later;
        }
    }
}

/// As [`Kernels::expand_a`].
pub(crate) type ExpandA<'f> = dyn FnMut(&[u8; SEED_LEN], usize, usize, &mut [NttPoly]) + 'f;
