//! Masks of consecutive attempts of one signature.

use crate::backend::Backend;
use crate::memory::secret::Secret;
use crate::params::{CRH_LEN, Params};

/// Lanes of the widest backend, and rows of the longest mask: 6 left over and 8 made.
const MAX_LANES: usize = 8;
const MAX_BYTES: usize = (6 + MAX_LANES) * 640;

/// Packed masks (algorithm 7 line 11), made in full groups of Keccak lanes.
///
/// Mask n of a signature has counter n in all attempts, because kappa grows by l. So a group may
/// belong to several attempts, and no lane is empty.
pub(super) struct MaskStream {
    /// Rows of one length. The rows of an attempt may be overwritten by its z.
    rows: Secret<[u8; MAX_BYTES]>,
    /// First row that no attempt has used, and the number of such rows.
    first: usize,
    unused: usize,
    /// Counter of the next mask.
    counter: u16,
}

impl MaskStream {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            rows: Secret::zeroed(),
            first: 0,
            unused: 0,
            counter: 0,
        }
    }

    /// The l masks of the next attempt, which may be overwritten. Constant time: positions depend
    /// on the number of attempts only.
    #[inline(never)]
    pub(super) fn next_attempt(
        &mut self,
        backend: Backend,
        p: &Params,
        rho_pp: &[u8; CRH_LEN],
    ) -> &mut [u8] {
        let len = p.z_poly_len();
        let lanes = backend.kernels().mask_lanes.min(MAX_LANES);
        let rows = self.rows.expose_mut();
        if self.unused < p.l {
            rows.copy_within(self.first * len..(self.first + self.unused) * len, 0);
            self.first = 0;
        }
        while self.unused < p.l {
            let counter = self.counter;
            let seeds = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| (rho_pp, counter + n));
            let group = &mut rows[self.unused * len..][..lanes * len];
            (backend.kernels().expand_masks)(&seeds[..lanes], len, group);
            self.unused += lanes;
            self.counter += lanes as u16;
        }
        let first = self.first;
        self.first += p.l;
        self.unused -= p.l;
        &mut rows[first * len..][..p.l * len]
    }
}
