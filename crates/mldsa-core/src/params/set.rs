//! Parameter sets as values, for programs that learn the set at run time.

use core::fmt;
use core::str::FromStr;

use crate::error::KeyError;
use crate::params::{ML_DSA_44, ML_DSA_65, ML_DSA_87, Params};

/// A parameter set of FIPS 204, chosen at run time. The types [`MlDsa44`](crate::MlDsa44),
/// [`MlDsa65`](crate::MlDsa65) and [`MlDsa87`](crate::MlDsa87) are the same sets at compile time.
///
/// ```
/// use mldsa_core::{KeyError, Set};
///
/// assert_eq!("ML-DSA-65".parse(), Ok(Set::MlDsa65));
/// assert_eq!(Set::from_public_key_len(1952), Some(Set::MlDsa65));
/// assert_eq!(Set::MlDsa65.signature_len(), 3309);
/// assert_eq!("ML-KEM-768".parse::<Set>(), Err(KeyError::UnknownSet));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// ML-DSA-44.
    MlDsa44,
    /// ML-DSA-65.
    MlDsa65,
    /// ML-DSA-87.
    MlDsa87,
}

impl Set {
    /// All three sets.
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    const fn params(self) -> Params {
        match self {
            Self::MlDsa44 => ML_DSA_44,
            Self::MlDsa65 => ML_DSA_65,
            Self::MlDsa87 => ML_DSA_87,
        }
    }

    /// Returns the name in FIPS 204, for example `ML-DSA-44`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
        }
    }

    /// Returns the NIST security category: 2, 3 or 5.
    #[must_use]
    pub const fn category(self) -> u8 {
        match self {
            Self::MlDsa44 => 2,
            Self::MlDsa65 => 3,
            Self::MlDsa87 => 5,
        }
    }

    /// Returns the number of bytes of an encoded public key: 1312, 1952 or 2592.
    #[must_use]
    pub const fn public_key_len(self) -> usize {
        self.params().pk_len()
    }

    /// Returns the number of bytes of an expanded private key: 2560, 4032 or 4896.
    #[must_use]
    pub const fn private_key_len(self) -> usize {
        self.params().sk_len()
    }

    /// Returns the number of bytes of a signature: 2420, 3309 or 4627.
    #[must_use]
    pub const fn signature_len(self) -> usize {
        self.params().sig_len()
    }

    /// Returns the object identifier of pure ML-DSA with this set in DER, 11 bytes with tag and
    /// length.
    #[must_use]
    pub const fn oid(self) -> &'static [u8; 11] {
        match self {
            Self::MlDsa44 => &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17],
            Self::MlDsa65 => &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 18],
            Self::MlDsa87 => &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 19],
        }
    }

    /// Returns the set with this object identifier in DER.
    #[must_use]
    pub fn from_oid(oid: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.oid() == oid)
    }

    /// Returns the set whose encoded public keys have `len` bytes.
    #[must_use]
    pub fn from_public_key_len(len: usize) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|set| set.public_key_len() == len)
    }

    /// Returns the set whose expanded private keys have `len` bytes.
    #[must_use]
    pub fn from_private_key_len(len: usize) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|set| set.private_key_len() == len)
    }

    /// Returns the set whose signatures have `len` bytes.
    #[must_use]
    pub fn from_signature_len(len: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.signature_len() == len)
    }
}

/// The name.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Set {
    type Err = KeyError;

    /// Reads the [`name`](Self::name).
    ///
    /// # Errors
    /// [`KeyError::UnknownSet`].
    fn from_str(name: &str) -> Result<Self, KeyError> {
        let mut sets = Self::ALL.into_iter();
        sets.find(|set| set.name() == name)
            .ok_or(KeyError::UnknownSet)
    }
}
