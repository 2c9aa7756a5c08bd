//! Which masks one call of the kernel makes.

/// The masks that one call of the kernel makes.
///
/// Mask n of a signature has counter n in all attempts, because kappa grows by l. So a group of
/// as many masks as there are Keccak lanes may belong to several attempts, and no lane is empty.
pub(super) struct MaskGroups {
    pub(super) masks: usize,
    /// Row of the memory at which a group begins.
    pub(super) first_row: usize,
    /// Whether a group continues after the end of an attempt.
    spans_attempts: bool,
}

impl MaskGroups {
    /// Chooses groups that span attempts where the memory has the rows for it (`fits`).
    pub(super) fn choose(l: usize, lanes: usize, fits: impl FnOnce(usize) -> bool) -> Self {
        debug_assert!(lanes.is_power_of_two());
        // Every attempt uses a multiple of this number of rows of its last group, the greatest
        // common divisor of l and `lanes`. These rows may overlap with z.
        let used = (l & l.wrapping_neg()).min(lanes);
        let spans_attempts = fits(l - used + lanes);
        Self {
            masks: if spans_attempts { lanes } else { l },
            first_row: if spans_attempts { l - used } else { 0 },
            spans_attempts,
        }
    }

    /// Returns the place of mask `n` in its group; `kappa` is the first mask of the attempt.
    pub(super) fn place(&self, n: u16, kappa: u16) -> usize {
        if self.spans_attempts {
            usize::from(n) & (self.masks - 1)
        } else {
            usize::from(n - kappa)
        }
    }
}
