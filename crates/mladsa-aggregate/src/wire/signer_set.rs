//! Signer set: bitmap of the members of a registry that signed.

use alloc::boxed::Box;
use alloc::vec;

use crate::error::EncodingError;

/// One bit for each registry member in id order, least significant first, then a delimiter
/// bit: `n / 8 + 1` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerSet(Box<[u8]>);

impl SignerSet {
    /// Makes the set of `positions`, all below `n`.
    pub(crate) fn new(n: usize, positions: &[usize]) -> Result<Self, EncodingError> {
        let mut bytes = vec![0; n / 8 + 1];
        for &position in positions.iter().chain([&n]) {
            let byte: &mut u8 = bytes.get_mut(position / 8).ok_or(EncodingError::Range)?;
            *byte |= 1 << (position % 8);
        }
        Ok(Self(bytes.into()))
    }

    /// Decodes the set for a registry of `n` members.
    ///
    /// # Errors
    /// [`EncodingError::Length`] for an empty string, a zero last byte or another number of
    /// members; [`EncodingError::Range`] for the empty set.
    pub fn from_bytes(bytes: &[u8], n: usize) -> Result<Self, EncodingError> {
        let set = Self(bytes.into());
        let (last, rest) = bytes.split_last().ok_or(EncodingError::Length)?;
        let delimiter = last.checked_ilog2().ok_or(EncodingError::Length)?;
        let len = rest.len().checked_mul(8);
        if len.and_then(|len| len.checked_add(delimiter as usize)) != Some(n) {
            return Err(EncodingError::Length);
        }
        if set.positions(n).next().is_none() {
            return Err(EncodingError::Range);
        }
        Ok(set)
    }

    /// Returns the encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the positions in the set among the first `n`, in ascending order.
    pub(crate) fn positions(&self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).filter(|position| {
            let byte = self.0.get(position / 8);
            byte.is_some_and(|byte| byte >> (position % 8) & 1 == 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_canonical() {
        let set = SignerSet::new(9, &[0, 3, 8]).unwrap();
        assert_eq!(set.as_bytes(), [0x09, 0x03]);
        assert!(set.positions(9).eq([0, 3, 8]));
        assert_eq!(SignerSet::from_bytes(&[0x09, 0x03], 9), Ok(set));
        for (bytes, n, error) in [
            (&[][..], 9, EncodingError::Length),
            (&[0x09, 0x00], 9, EncodingError::Length),
            (&[0x09, 0x03], 8, EncodingError::Length),
            (&[0x09, 0x03], 10, EncodingError::Length),
            (&[0x09, 0x03, 0x01], 9, EncodingError::Length),
            (&[0x09], 9, EncodingError::Length),
            (&[0x00, 0x02], 9, EncodingError::Range),
        ] {
            assert_eq!(SignerSet::from_bytes(bytes, n), Err(error));
        }
        let set = SignerSet::new(8, &[0, 7]).unwrap();
        assert_eq!(set.as_bytes(), [0x81, 0x01]);
    }
}
