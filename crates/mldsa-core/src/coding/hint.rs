//! Hint vectors: written as bitmaps without branches, encoded after acceptance,
//! and read back by a strict decoder.

use crate::error::VerifyError;
use crate::memory::array::Wipe;

/// Bytes of one row of a hint as a bitmap: bit n%8 of byte n/8 is `h[n]`.
pub const HINT_ROW_LEN: usize = 32;

/// Ones in a bitmap. Constant time.
pub fn weight(bitmap: &[u8]) -> u32 {
    bitmap.iter().map(|byte| byte.count_ones()).sum()
}

/// Computes algorithm 20 HintBitPack, from one 32-byte bitmap per row. `out` has
/// omega + k bytes.
///
/// Variable time: for hints of an accepted signature, which are public.
/// Bounds: `rows.len() / 32 = k`, weight at most omega; further ones are dropped.
pub fn hint_bit_pack_vartime(rows: &[u8], omega: usize, out: &mut [u8]) {
    out.wipe();
    let (indices, counts) = out.split_at_mut(omega);
    let mut slots = indices.iter_mut();
    let mut count = 0u8;
    for (row, total) in rows.chunks_exact(HINT_ROW_LEN).zip(counts) {
        for (word, first) in row.as_chunks().0.iter().zip((0u8..).step_by(32)) {
            let mut bits = u32::from_le_bytes(*word);
            while bits != 0 {
                if let Some(slot) = slots.next() {
                    *slot = first + bits.trailing_zeros() as u8;
                    count += 1;
                }
                bits &= bits - 1;
            }
        }
        *total = count;
    }
}

/// A hint section that passed algorithm 21's checks.
#[derive(Clone, Copy, Debug)]
pub struct Hint<'a> {
    indices: &'a [u8],
    counts: &'a [u8],
}

impl<'a> Hint<'a> {
    /// Computes algorithm 21 HintBitUnpack: accepts exactly the outputs of algorithm 20.
    /// `bytes` has omega + k bytes.
    ///
    /// # Errors
    /// [`VerifyError::HintEncoding`] for a count that falls or exceeds omega,
    /// indices of a row that do not rise, or a non-zero byte after the last.
    pub fn hint_bit_unpack_vartime(bytes: &'a [u8], omega: usize) -> Result<Self, VerifyError> {
        if bytes.len() < omega {
            return Err(VerifyError::HintEncoding);
        }
        let hint = Self::of_decoded(bytes, omega);
        let Self { indices, counts } = hint;
        let mut first = 0;
        for &count in counts {
            let row = indices
                .get(first..usize::from(count))
                .ok_or(VerifyError::HintEncoding)?;
            if row.is_sorted_by(|a, b| a < b) {
                first += row.len();
            } else {
                return Err(VerifyError::HintEncoding);
            }
        }
        if indices[first..].iter().any(|&byte| byte != 0) {
            return Err(VerifyError::HintEncoding);
        }
        Ok(hint)
    }

    /// Splits a hint section that [`Self::hint_bit_unpack_vartime`] has accepted.
    ///
    /// Bounds: at least omega bytes.
    pub(crate) fn of_decoded(bytes: &'a [u8], omega: usize) -> Self {
        let (indices, counts) = bytes.split_at(omega);
        Self { indices, counts }
    }

    /// Returns the rising indices of the ones in row `i`; empty if there is no row `i`.
    pub fn row(&self, i: usize) -> &'a [u8] {
        let end = self.counts.get(i).map_or(0, |&count| usize::from(count));
        let start = i.checked_sub(1).map_or(0, |i| {
            usize::from(self.counts[i.min(self.counts.len() - 1)])
        });
        self.indices.get(start..end).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_of_a_parsed_hint() {
        let hint = Hint::hint_bit_unpack_vartime(&[3, 7, 7, 0, 0, 2, 2, 3], 5).unwrap();
        assert_eq!(hint.row(0), [3, 7]);
        assert!(hint.row(1).is_empty());
        assert_eq!(hint.row(2), [7]);
        assert!(hint.row(3).is_empty());
    }

    #[test]
    fn only_unique_encodings_parse() {
        let parse = |bytes: [u8; 8]| Hint::hint_bit_unpack_vartime(&bytes, 5).is_ok();
        assert!(parse([0, 0, 0, 0, 0, 0, 0, 0]));
        assert!(parse([1, 2, 3, 4, 5, 5, 5, 5]), "all in the first row");
        assert!(parse([9, 3, 9, 0, 0, 1, 3, 3]), "indices fall between rows");
        assert!(!parse([9, 3, 0, 0, 0, 2, 2, 2]), "indices fall");
        assert!(!parse([3, 3, 0, 0, 0, 2, 2, 2]), "indices repeat");
        assert!(!parse([3, 9, 0, 0, 1, 2, 2, 2]), "padding");
        assert!(!parse([3, 9, 0, 0, 0, 2, 1, 2]), "counts fall");
        assert!(!parse([1, 2, 3, 4, 5, 5, 5, 6]), "count above omega");
        assert!(
            !parse([1, 2, 3, 4, 5, 6, 6, 6]),
            "count above omega at once"
        );
        assert!(
            Hint::hint_bit_unpack_vartime(&[0; 4], 5).is_err(),
            "no counts"
        );
    }

    #[test]
    fn rows_that_do_not_exist_are_empty() {
        let hint = Hint::hint_bit_unpack_vartime(&[3, 7, 7, 0, 0, 2, 2, 3], 5).unwrap();
        for i in [3, 4, 255, usize::MAX] {
            assert!(hint.row(i).is_empty());
        }
    }

    #[test]
    fn ones_above_omega_are_dropped() {
        let mut packed = [0xff; 6];
        hint_bit_pack_vartime(&[0xff; 2 * HINT_ROW_LEN], 4, &mut packed);
        assert_eq!(packed, [0, 1, 2, 3, 4, 4]);
    }

    proptest! {
        #[test]
        fn packed_hints_parse_back(ones in prop::collection::btree_set((0usize..8, 0u8..=255), 0..=75)) {
            let mut rows = [0u8; 8 * HINT_ROW_LEN];
            for &(i, n) in &ones {
                rows[i * HINT_ROW_LEN + usize::from(n / 8)] |= 1 << (n % 8);
            }
            prop_assert_eq!(weight(&rows) as usize, ones.len());
            let mut packed = [0xffu8; 83];
            hint_bit_pack_vartime(&rows, 75, &mut packed);
            let hint = Hint::hint_bit_unpack_vartime(&packed, 75).unwrap();
            for i in 0..8 {
                let row = ones.iter().filter(|one| one.0 == i).map(|one| one.1);
                prop_assert!(hint.row(i).iter().copied().eq(row));
            }
        }

        // The encoding is unique: whatever parses packs back to the same bytes.
        #[test]
        fn parsed_hints_pack_back(mut bytes in prop::collection::vec(0u8..6, 12)) {
            bytes[8..].sort_unstable();
            if let Ok(hint) = Hint::hint_bit_unpack_vartime(&bytes, 8) {
                let mut rows = [0u8; 4 * HINT_ROW_LEN];
                for i in 0..4 {
                    for &n in hint.row(i) {
                        rows[i * HINT_ROW_LEN + usize::from(n / 8)] |= 1 << (n % 8);
                    }
                }
                let mut packed = [0u8; 12];
                hint_bit_pack_vartime(&rows, 8, &mut packed);
                prop_assert_eq!(&packed[..], &bytes[..]);
            }
        }
    }
}
