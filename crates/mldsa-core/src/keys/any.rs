//! Keys whose parameter set is known at run time only.

use core::fmt;

#[cfg(feature = "alloc")]
use crate::error::SignError;
use crate::error::{KeyError, ParseError, VerifyError};
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-87"))]
use crate::formats::joined::is_joined_private_key;
#[cfg(feature = "alloc")]
use crate::hash::transcript::Randomness;
use crate::hash::transcript::{Context, Mu};
#[cfg(feature = "alloc")]
use crate::keys::signing::SigningKey;
use crate::keys::verifying::VerifyingKey;
#[cfg(feature = "ml-dsa-44")]
use crate::params::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
use crate::params::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
use crate::params::MlDsa87;
use crate::params::ParameterSet;

/// Calls `$f` with the key inside, whatever its set.
macro_rules! inside {
    ($any:ident, $this:expr, $key:ident => $f:expr) => {
        match $this {
            #[cfg(feature = "ml-dsa-44")]
            $any::MlDsa44($key) => $f,
            #[cfg(feature = "ml-dsa-65")]
            $any::MlDsa65($key) => $f,
            #[cfg(feature = "ml-dsa-87")]
            $any::MlDsa87($key) => $f,
        }
    };
}

fn name_of<P: ParameterSet>(_: &VerifyingKey<P>) -> &'static str {
    P::NAME
}

/// A public key of any set, for encoded keys whose set the program does not know. At most 2.7 kB by
/// value. It does not read SubjectPublicKeyInfo or PEM: [`VerifyingKey`] of each set does.
///
/// ```
/// use mldsa_core::{AnyVerifyingKey, Context, MlDsa65, SigningKey};
///
/// let key = SigningKey::<MlDsa65>::generate()?;
/// let signature = key.sign_hedged(b"message", Context::EMPTY)?;
/// // 1312, 1952 or 2592 bytes that have arrived.
/// let public = AnyVerifyingKey::from_bytes(key.verifying_key().as_ref())?;
/// assert_eq!(public.set_name(), "ML-DSA-65");
/// public.verify_with_context(b"message", Context::EMPTY, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "a key without a heap; the sets have different lengths"
)]
pub enum AnyVerifyingKey {
    /// A key of ML-DSA-44.
    #[cfg(feature = "ml-dsa-44")]
    MlDsa44(VerifyingKey<MlDsa44>),
    /// A key of ML-DSA-65.
    #[cfg(feature = "ml-dsa-65")]
    MlDsa65(VerifyingKey<MlDsa65>),
    /// A key of ML-DSA-87.
    #[cfg(feature = "ml-dsa-87")]
    MlDsa87(VerifyingKey<MlDsa87>),
}

impl AnyVerifyingKey {
    /// Reads an encoded key of the set whose keys have the length of `bytes`.
    ///
    /// # Errors
    /// [`KeyError::Length`] if no compiled set has keys of this length; [`KeyError::Private`] for a
    /// seed and an expanded key of ML-DSA-44, which together are as long as a key of ML-DSA-87.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        match bytes.len() {
            #[cfg(feature = "ml-dsa-44")]
            MlDsa44::PK_LEN => VerifyingKey::from_bytes(bytes).map(Self::MlDsa44),
            #[cfg(feature = "ml-dsa-65")]
            MlDsa65::PK_LEN => VerifyingKey::from_bytes(bytes).map(Self::MlDsa65),
            #[cfg(feature = "ml-dsa-87")]
            MlDsa87::PK_LEN => VerifyingKey::from_bytes(bytes).and_then(Self::ml_dsa_87),
            _ => Err(KeyError::Length),
        }
    }

    #[cfg(feature = "ml-dsa-87")]
    fn ml_dsa_87(key: VerifyingKey<MlDsa87>) -> Result<Self, KeyError> {
        #[cfg(feature = "ml-dsa-44")]
        if is_joined_private_key::<MlDsa44>(key.as_ref()) {
            return Err(KeyError::Private);
        }
        Ok(Self::MlDsa87(key))
    }

    /// Returns the name of the set, for example `ML-DSA-44`.
    #[must_use]
    pub fn set_name(&self) -> &'static str {
        inside!(Self, self, key => name_of(key))
    }

    /// Verifies a signature over `message` (FIPS 204 algorithm 3).
    ///
    /// # Errors
    /// As [`VerifyingKey::verify_with_context`].
    pub fn verify_with_context(
        &self,
        message: &[u8],
        context: Context<'_>,
        signature: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<(), VerifyError> {
        inside!(Self, self, key => key.verify_with_context(message, context, signature))
    }

    /// Verifies a signature over an externally computed `mu`.
    ///
    /// # Errors
    /// As [`VerifyingKey::verify_mu`].
    pub fn verify_mu(
        &self,
        mu: &Mu,
        signature: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<(), VerifyError> {
        inside!(Self, self, key => key.verify_mu(mu, signature))
    }
}

impl AsRef<[u8]> for AnyVerifyingKey {
    /// Returns the encoding.
    fn as_ref(&self) -> &[u8] {
        inside!(Self, self, key => key.as_ref())
    }
}

/// In hexadecimal, all of it.
impl fmt::Display for AnyVerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        inside!(Self, self, key => fmt::Display::fmt(key, f))
    }
}

impl core::str::FromStr for AnyVerifyingKey {
    type Err = ParseError<KeyError>;

    /// From hexadecimal digits, small or capital. The number of digits tells the set.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.len() / 2 {
            #[cfg(feature = "ml-dsa-44")]
            MlDsa44::PK_LEN => text.parse().map(Self::MlDsa44),
            #[cfg(feature = "ml-dsa-65")]
            MlDsa65::PK_LEN => text.parse().map(Self::MlDsa65),
            #[cfg(feature = "ml-dsa-87")]
            MlDsa87::PK_LEN => {
                (text.parse()).and_then(|key| Self::ml_dsa_87(key).map_err(ParseError::Rejected))
            }
            _ => Err(ParseError::Rejected(KeyError::Length)),
        }
    }
}

impl fmt::Debug for AnyVerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        inside!(Self, self, key => fmt::Debug::fmt(key, f))
    }
}

/// A private key of any set, on the heap. Wiped on drop; not `Clone`.
///
/// ```
/// use mldsa_core::{AnySigningKey, Context, MlDsa44, Randomness, SigningKey};
///
/// let expanded = *SigningKey::<MlDsa44>::generate()?.expanded();
/// let key = AnySigningKey::from_expanded_bytes(&expanded)?;
/// let signature = key.sign_with_context(b"message", Context::EMPTY, Randomness::Deterministic)?;
/// key.verifying_key().verify_with_context(b"message", Context::EMPTY, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
#[non_exhaustive]
pub enum AnySigningKey {
    /// A key of ML-DSA-44.
    #[cfg(feature = "ml-dsa-44")]
    MlDsa44(alloc::boxed::Box<SigningKey<MlDsa44>>),
    /// A key of ML-DSA-65.
    #[cfg(feature = "ml-dsa-65")]
    MlDsa65(alloc::boxed::Box<SigningKey<MlDsa65>>),
    /// A key of ML-DSA-87.
    #[cfg(feature = "ml-dsa-87")]
    MlDsa87(alloc::boxed::Box<SigningKey<MlDsa87>>),
}

#[cfg(feature = "alloc")]
impl AnySigningKey {
    /// Imports an expanded private key of the set whose keys have the length of `bytes`, with
    /// every check. A seed does not tell its set: use [`SigningKey::from_seed`] and `From`.
    ///
    /// # Errors
    /// [`KeyError::Length`] if no compiled set has keys of this length, and those of
    /// [`SigningKey::from_expanded_bytes`].
    pub fn from_expanded_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        match bytes.len() {
            #[cfg(feature = "ml-dsa-44")]
            MlDsa44::SK_LEN => SigningKey::<MlDsa44>::from_expanded_bytes(bytes).map(Self::from),
            #[cfg(feature = "ml-dsa-65")]
            MlDsa65::SK_LEN => SigningKey::<MlDsa65>::from_expanded_bytes(bytes).map(Self::from),
            #[cfg(feature = "ml-dsa-87")]
            MlDsa87::SK_LEN => SigningKey::<MlDsa87>::from_expanded_bytes(bytes).map(Self::from),
            _ => Err(KeyError::Length),
        }
    }

    /// Returns the public key.
    #[must_use]
    pub fn verifying_key(&self) -> AnyVerifyingKey {
        inside!(Self, self, key => key.verifying_key().clone().into())
    }

    /// Signs `message` (FIPS 204 algorithm 2): 2420, 3309 or 4627 bytes. Constant
    /// time as [`SigningKey::sign_with_context`].
    ///
    /// # Errors
    /// As [`SigningKey::sign_with_context`].
    pub fn sign_with_context(
        &self,
        message: &[u8],
        context: Context<'_>,
        randomness: Randomness<'_>,
    ) -> Result<alloc::vec::Vec<u8>, SignError> {
        inside!(Self, self, key => key
            .sign_with_context(message, context, randomness)
            .map(|signature| signature.as_ref().into()))
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for AnySigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        inside!(Self, self, key => fmt::Debug::fmt(key, f))
    }
}

macro_rules! any_from {
    ($($feature:literal $set:ident),+) => {$(
        #[cfg(feature = $feature)]
        impl From<VerifyingKey<$set>> for AnyVerifyingKey {
            fn from(key: VerifyingKey<$set>) -> Self {
                Self::$set(key)
            }
        }

        #[cfg(all(feature = $feature, feature = "alloc"))]
        impl From<SigningKey<$set>> for AnySigningKey {
            fn from(key: SigningKey<$set>) -> Self {
                Self::$set(alloc::boxed::Box::new(key))
            }
        }
    )+};
}
any_from!("ml-dsa-44" MlDsa44, "ml-dsa-65" MlDsa65, "ml-dsa-87" MlDsa87);
