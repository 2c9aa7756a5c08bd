//! Parameter sets, by name.

use core::fmt;
use core::str::FromStr;

use batch_verify::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};

/// A parameter set of FIPS 204.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    /// ML-DSA-44.
    MlDsa44,
    /// ML-DSA-65.
    MlDsa65,
    /// ML-DSA-87.
    MlDsa87,
}

impl Set {
    /// Every set.
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// Returns the name, for example `ML-DSA-44`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => MlDsa44::NAME,
            Self::MlDsa65 => MlDsa65::NAME,
            Self::MlDsa87 => MlDsa87::NAME,
        }
    }

    /// Returns the set whose encoded public keys have `len` bytes: 1312, 1952 or 2592.
    #[must_use]
    pub const fn of_key_length(len: usize) -> Option<Self> {
        match len {
            MlDsa44::PK_LEN => Some(Self::MlDsa44),
            MlDsa65::PK_LEN => Some(Self::MlDsa65),
            MlDsa87::PK_LEN => Some(Self::MlDsa87),
            _ => None,
        }
    }

    /// Returns the set of a name in bytes.
    pub(crate) fn of_name(name: &[u8]) -> Option<Self> {
        let mut sets = Self::ALL.into_iter();
        sets.find(|set| set.name().as_bytes() == name)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error of a text that is the name of no [`Set`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSet;

impl fmt::Display for UnknownSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ML-DSA-44, ML-DSA-65 or ML-DSA-87")
    }
}

impl core::error::Error for UnknownSet {}

impl FromStr for Set {
    type Err = UnknownSet;

    fn from_str(name: &str) -> Result<Self, UnknownSet> {
        Self::of_name(name.as_bytes()).ok_or(UnknownSet)
    }
}
