//! Quorum thresholds as fractions of the total weight.

/// Threshold of a quorum: more than a fraction of the total weight of a committee.
///
/// The least weight is never zero, and never above the total weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    numerator: u32,
    denominator: u32,
}

/// [`Threshold::TWO_THIRDS`].
impl Default for Threshold {
    fn default() -> Self {
        Self::TWO_THIRDS
    }
}

impl Threshold {
    /// More than two thirds: with less than a third of the weight faulty, two quorums share
    /// an honest member.
    pub const TWO_THIRDS: Self = Self {
        numerator: 2,
        denominator: 3,
    };

    /// More than half.
    pub const MAJORITY: Self = Self {
        numerator: 1,
        denominator: 2,
    };

    /// More than a third (f + 1 of 3f + 1): at least one of the signers is honest.
    pub const ONE_THIRD: Self = Self {
        numerator: 1,
        denominator: 3,
    };

    /// Returns the threshold of more than `numerator / denominator`; `None` unless the fraction is
    /// above 0 and below 1: a threshold that was not filled in is not one vote.
    pub const fn more_than(numerator: u32, denominator: u32) -> Option<Self> {
        if 0 < numerator && numerator < denominator {
            Some(Self {
                numerator,
                denominator,
            })
        } else {
            None
        }
    }

    /// Returns the least weight above the fraction of a committee's total weight, which is at
    /// most 2^95.
    pub fn required_weight(self, total: u128) -> u128 {
        total * u128::from(self.numerator) / u128::from(self.denominator) + 1
    }

    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.numerator.to_le_bytes());
        bytes[4..].copy_from_slice(&self.denominator.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the definition `weight * denominator > total * numerator`.
    #[test]
    fn the_required_weight_is_the_least_above_the_fraction() {
        let totals = (1..200).chain([u128::from(u64::MAX) << 31, (1 << 95) - 1, 1 << 95]);
        for total in totals {
            for (n, d) in [
                (2, 3),
                (1, 2),
                (1, 3),
                (1, u32::MAX),
                (u32::MAX - 1, u32::MAX),
            ] {
                let threshold = Threshold::more_than(n, d).unwrap();
                let weight = threshold.required_weight(total);
                let above = |weight: u128| weight * u128::from(d) > total * u128::from(n);
                assert!(above(weight) && !above(weight - 1), "{total} {n}/{d}");
                assert!((1..=total).contains(&weight), "{total} {n}/{d}");
            }
        }
        assert_eq!(Threshold::more_than(3, 3), None);
        for denominator in [0, 1, 2, 3, u32::MAX] {
            assert_eq!(Threshold::more_than(0, denominator), None);
        }
    }
}
