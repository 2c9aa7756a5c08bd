//! The name of a signer.

use core::fmt;
use core::num::ParseIntError;
use core::str::FromStr;

/// A signer's place in its [`KeySet`](crate::KeySet), counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct SignerId(u32);

impl SignerId {
    /// The signer at `index`. Whether the set has one is seen at verification.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The place in the set.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl fmt::Display for SignerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SignerId {
    type Err = ParseIntError;

    /// Takes what [`Display`](fmt::Display) prints, and no other spelling of it.
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let longer = text.starts_with('+') || (text.starts_with('0') && text != "0");
        // No number: an error of the right kind.
        let text = if longer { "+" } else { text };
        text.parse().map(Self)
    }
}

impl From<u32> for SignerId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}
