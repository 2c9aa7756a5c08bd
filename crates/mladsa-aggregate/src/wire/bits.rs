//! Aggregation bits: which members of a registry signed.

use alloc::boxed::Box;
use alloc::vec;

use crate::error::Error;

/// One bit per registry member in id order, least significant first, and a
/// delimiter bit behind the last: floor(n / 8) + 1 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerBits(Box<[u8]>);

impl SignerBits {
    /// Sets the bits of `positions`, all below `n`.
    pub(crate) fn new(n: usize, positions: &[usize]) -> Result<Self, Error> {
        let mut bytes = vec![0; n / 8 + 1];
        for &position in positions.iter().chain([&n]) {
            let byte: &mut u8 = bytes.get_mut(position / 8).ok_or(Error::OutOfRange)?;
            *byte |= 1 << (position % 8);
        }
        Ok(Self(bytes.into()))
    }

    /// Reads the bits for a registry of `n` members.
    ///
    /// # Errors
    /// [`Error::BadLength`] for an empty string, a zero last byte or another
    /// number of members; [`Error::EmptyCohort`] for no bit set.
    pub fn from_bytes(bytes: &[u8], n: usize) -> Result<Self, Error> {
        let bits = Self(bytes.into());
        let (last, rest) = bytes.split_last().ok_or(Error::BadLength)?;
        let delimiter = last.checked_ilog2().ok_or(Error::BadLength)?;
        if rest
            .len()
            .checked_mul(8)
            .and_then(|len| len.checked_add(delimiter as usize))
            != Some(n)
        {
            return Err(Error::BadLength);
        }
        if bits.positions(n).next().is_none() {
            return Err(Error::EmptyCohort);
        }
        Ok(bits)
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The positions set among the first `n`, rising.
    pub fn positions(&self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).filter(|position| {
            self.0
                .get(position / 8)
                .is_some_and(|byte| byte >> (position % 8) & 1 == 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_in_both_directions() {
        let bits = SignerBits::new(9, &[0, 3, 8]).unwrap();
        assert_eq!(bits.as_bytes(), [0x09, 0x03]);
        assert!(bits.positions(9).eq([0, 3, 8]));
        assert_eq!(SignerBits::from_bytes(&[0x09, 0x03], 9), Ok(bits));
        for (bytes, n, error) in [
            (&[][..], 9, Error::BadLength),
            (&[0x09, 0x00], 9, Error::BadLength),
            (&[0x09, 0x03], 8, Error::BadLength),
            (&[0x09, 0x03], 10, Error::BadLength),
            (&[0x09, 0x03, 0x01], 9, Error::BadLength),
            (&[0x09], 9, Error::BadLength),
            (&[0x00, 0x02], 9, Error::EmptyCohort),
        ] {
            assert_eq!(SignerBits::from_bytes(bytes, n), Err(error));
        }
        assert_eq!(
            SignerBits::new(8, &[0, 7]).unwrap().as_bytes(),
            [0x81, 0x01]
        );
    }
}
