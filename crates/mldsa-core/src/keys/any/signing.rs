//! A private key of any set.

use alloc::boxed::Box;

use zeroize::ZeroizeOnDrop;

use crate::error::KeyError;
use crate::keys::any::{any_key, any_signer};
use crate::keys::signing::SigningKey;
use crate::params::{MlDsa44, MlDsa65, MlDsa87, SEED_LEN, Set};
use crate::with_set;

/// A private key of any set, on the heap. Wiped on drop; not `Clone`.
///
/// ```
/// use mldsa_core::{AnySigningKey, Context, Randomness, Set};
///
/// let set: Set = "ML-DSA-44".parse()?;
/// let key = AnySigningKey::generate(set)?;
/// let signature = key.sign_hedged(b"message", Context::EMPTY)?;
/// key.verifying_key().verify_with_context(b"message", Context::EMPTY, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(PartialEq, Eq)]
pub enum AnySigningKey {
    /// A key of ML-DSA-44.
    MlDsa44(Box<SigningKey<MlDsa44>>),
    /// A key of ML-DSA-65.
    MlDsa65(Box<SigningKey<MlDsa65>>),
    /// A key of ML-DSA-87.
    MlDsa87(Box<SigningKey<MlDsa87>>),
}

any_key!(AnySigningKey:
    MlDsa44(Box<SigningKey<MlDsa44>>),
    MlDsa65(Box<SigningKey<MlDsa65>>),
    MlDsa87(Box<SigningKey<MlDsa87>>)
);
any_signer!(AnySigningKey);

impl AnySigningKey {
    /// Generates the key of a seed in a set (FIPS 204 algorithm 6).
    #[must_use]
    pub fn from_seed(set: Set, xi: &[u8; SEED_LEN]) -> Self {
        let Ok(key) = with_set!(set, P => SigningKey::<P>::boxed(|key| {
            key.set_seed(xi);
            Ok::<(), core::convert::Infallible>(())
        }).map(Self::from));
        key
    }

    /// Generates a key with the operating system's generator (FIPS 204 algorithm 1).
    ///
    /// # Errors
    /// As [`SigningKey::generate`].
    #[cfg(all(
        feature = "getrandom",
        not(all(target_family = "wasm", target_os = "unknown"))
    ))]
    pub fn generate(set: Set) -> Result<Self, KeyError> {
        Self::generate_with_rng(set, &mut getrandom::SysRng)
    }

    /// Generates a key with `rng` (FIPS 204 algorithm 1).
    ///
    /// # Errors
    /// As [`SigningKey::generate_with_rng`].
    #[cfg(feature = "rand_core")]
    pub fn generate_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
        set: Set,
        rng: &mut R,
    ) -> Result<Self, KeyError> {
        with_set!(set, P => SigningKey::<P>::boxed(|key| key.generate_seed(rng)).map(Self::from))
    }

    /// Imports an expanded private key of the set whose keys have the length of `bytes`, with
    /// every check. A seed does not tell its set: use [`Self::from_seed`].
    ///
    /// # Errors
    /// [`KeyError::Length`] if no set has keys of this length, and those of
    /// [`SigningKey::from_expanded_bytes`].
    pub fn from_expanded_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let set = Set::from_private_key_len(bytes.len()).ok_or(KeyError::Length)?;
        with_set!(set, P => SigningKey::<P>::boxed(|key| key.import(bytes)).map(Self::from))
    }

    /// Returns the seed, unless the key was imported in expanded form. Secret.
    #[must_use]
    pub fn seed(&self) -> Option<&[u8; SEED_LEN]> {
        with_set!(Self, self, key => key.seed())
    }

    /// Returns the expanded encoding (FIPS 204 algorithm 24): 2560, 4032 or 4896 bytes. Secret.
    #[must_use]
    pub fn expanded(&self) -> &[u8] {
        with_set!(Self, self, key => key.expanded().as_ref())
    }

    /// Expands and transforms once, for a key that signs often.
    #[must_use]
    pub fn prepare(&self) -> crate::keys::AnyPreparedSigningKey {
        with_set!(Self, self, key => key.prepare().into())
    }
}

impl ZeroizeOnDrop for AnySigningKey {}

macro_rules! from_unboxed {
    ($($set:ident),+) => {$(
        impl From<SigningKey<$set>> for AnySigningKey {
            fn from(key: SigningKey<$set>) -> Self {
                Self::$set(Box::new(key))
            }
        }
    )+};
}
from_unboxed!(MlDsa44, MlDsa65, MlDsa87);
