//! A public key of any set.

use core::fmt;

use crate::error::{KeyError, ParseError};
use crate::formats::joined::is_joined_private_key;
use crate::keys::any::{any_key, any_verifier};
use crate::keys::verifying::VerifyingKey;
use crate::params::{MlDsa44, MlDsa65, MlDsa87, Set};
use crate::with_set;

/// A public key of any set, for encoded keys whose set the program does not know. At most 2.7 kB by
/// value.
///
/// ```
/// use mldsa_core::{AnyVerifyingKey, Context, MlDsa65, Set, SigningKey};
///
/// let key = SigningKey::<MlDsa65>::generate()?;
/// let signature = key.sign_hedged(b"message", Context::EMPTY)?;
/// // 1312, 1952 or 2592 bytes that have arrived.
/// let public = AnyVerifyingKey::from_bytes(key.verifying_key().as_ref())?;
/// assert_eq!(public.set(), Set::MlDsa65);
/// public.verify_with_context(b"message", Context::EMPTY, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    clippy::large_enum_variant,
    reason = "a key without a heap; the sets have different lengths"
)]
pub enum AnyVerifyingKey {
    /// A key of ML-DSA-44.
    MlDsa44(VerifyingKey<MlDsa44>),
    /// A key of ML-DSA-65.
    MlDsa65(VerifyingKey<MlDsa65>),
    /// A key of ML-DSA-87.
    MlDsa87(VerifyingKey<MlDsa87>),
}

any_key!(AnyVerifyingKey:
    MlDsa44(VerifyingKey<MlDsa44>),
    MlDsa65(VerifyingKey<MlDsa65>),
    MlDsa87(VerifyingKey<MlDsa87>)
);
any_verifier!(AnyVerifyingKey);

impl AnyVerifyingKey {
    /// Reads an encoded key of the set whose keys have the length of `bytes`.
    ///
    /// # Errors
    /// [`KeyError::Length`] if no set has keys of this length; [`KeyError::Private`] for a
    /// seed and an expanded key of ML-DSA-44, which together are as long as a key of ML-DSA-87.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let set = Set::from_public_key_len(bytes.len()).ok_or(KeyError::Length)?;
        Self::from_bytes_of(set, bytes)
    }

    /// Reads an encoded key of a known set.
    ///
    /// # Errors
    /// As [`Self::from_bytes`]; [`KeyError::Length`] for a key of another set.
    pub fn from_bytes_of(set: Set, bytes: &[u8]) -> Result<Self, KeyError> {
        if is_joined_private_key::<MlDsa44>(bytes) {
            return Err(KeyError::Private);
        }
        with_set!(set, P => VerifyingKey::<P>::from_bytes(bytes).map(Self::from))
    }

    /// Expands the key, which then verifies faster: 20, 36 or 64 KiB on the heap.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn prepare(&self) -> crate::keys::AnyPreparedVerifyingKey {
        with_set!(Self, self, key => key.prepare().into())
    }
}

impl AsRef<[u8]> for AnyVerifyingKey {
    /// Returns the encoding.
    fn as_ref(&self) -> &[u8] {
        with_set!(Self, self, key => key.as_ref())
    }
}

/// In hexadecimal, all of it.
impl fmt::Display for AnyVerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_set!(Self, self, key => fmt::Display::fmt(key, f))
    }
}

impl core::str::FromStr for AnyVerifyingKey {
    type Err = ParseError<KeyError>;

    /// From hexadecimal digits, small or capital. The number of digits tells the set.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let length = ParseError::Rejected(KeyError::Length);
        let set = Set::from_public_key_len(text.len() / 2).ok_or(length)?;
        let key: Self = with_set!(set, P => text.parse::<VerifyingKey<P>>()?.into());
        Self::from_bytes(key.as_ref()).map_err(ParseError::Rejected)
    }
}

impl TryFrom<&[u8]> for AnyVerifyingKey {
    type Error = KeyError;

    /// As [`Self::from_bytes`].
    fn try_from(bytes: &[u8]) -> Result<Self, KeyError> {
        Self::from_bytes(bytes)
    }
}
