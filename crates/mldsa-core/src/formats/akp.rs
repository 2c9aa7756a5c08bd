//! Algorithm key pairs, the `AKP` keys of JOSE and COSE (RFC 9964), as parts: the
//! JSON or CBOR around them is the caller's.
//!
//! `alg` names the set and is required, as is the public key; the private key is
//! the 32-byte seed and nothing else. Signatures under such keys use the empty
//! context and no pre-hash.

use alloc::format;
use alloc::string::String;
use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use zeroize::Zeroizing;

use crate::error::JwkError;
use crate::keys::{SigningKey, VerifyingKey};
use crate::memory::array::Zeroed;
use crate::memory::secret::Secret;
use crate::params::{ParameterSet, SEED_LEN};

/// The members of a JSON Web Key that make an ML-DSA key, still in base64url.
#[derive(Clone, Copy)]
pub struct Jwk<'a> {
    /// `kty`: `AKP`.
    pub kty: &'a str,
    /// `alg`: `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    pub alg: &'a str,
    /// `pub`: the encoded public key.
    pub public: &'a str,
    /// `priv`: the seed. Secret; absent in a public key.
    pub private: Option<&'a str>,
}

/// The parameters of a COSE_Key that make an ML-DSA key.
#[derive(Clone, Copy)]
pub struct CoseKey<'a> {
    /// `kty`, label 1: 7.
    pub kty: i64,
    /// `alg`, label 3: -48, -49 or -50.
    pub alg: i64,
    /// `pub`, label -1: the encoded public key.
    pub public: &'a [u8],
    /// `priv`, label -2: the seed. Secret; absent in a public key.
    pub private: Option<&'a [u8]>,
}

impl Jwk<'_> {
    /// The value of `kty`.
    pub const KTY: &'static str = "AKP";
}

impl<'a> CoseKey<'a> {
    /// The value of `kty`.
    pub const KTY: i64 = 7;

    /// The value of `alg` for the set `P`: -48, -49 or -50.
    #[must_use]
    pub const fn alg<P: ParameterSet>() -> i64 {
        match P::CATEGORY {
            2 => -48,
            3 => -49,
            _ => -50,
        }
    }

    /// The parameters of a public key.
    pub fn public<P: ParameterSet>(key: &'a VerifyingKey<P>) -> Self {
        Self {
            kty: Self::KTY,
            alg: Self::alg::<P>(),
            public: key.as_ref(),
            private: None,
        }
    }

    /// The parameters of a private key; `None` if its seed is not known.
    pub fn private<P: ParameterSet>(key: &'a SigningKey<P>) -> Option<Self> {
        Some(Self {
            private: Some(key.seed()?),
            ..Self::public(key.verifying_key())
        })
    }

    fn check<P: ParameterSet>(&self) -> Result<(), JwkError> {
        if self.kty != Self::KTY {
            Err(JwkError::KeyType)
        } else if self.alg != Self::alg::<P>() {
            Err(JwkError::Algorithm)
        } else {
            Ok(())
        }
    }
}

impl Jwk<'_> {
    fn check<P: ParameterSet>(&self) -> Result<(), JwkError> {
        if self.kty != Self::KTY {
            Err(JwkError::KeyType)
        } else if self.alg != P::NAME {
            Err(JwkError::Algorithm)
        } else {
            Ok(())
        }
    }
}

/// Decodes exactly `out.len()` bytes; padding, other alphabets and non-zero
/// trailing bits are rejected.
fn decode(text: &str, out: &mut [u8]) -> Result<(), JwkError> {
    if text.len() != (out.len() * 4).div_ceil(3) {
        return Err(JwkError::Length);
    }
    let len = Base64UrlUnpadded::decode(text, out)
        .map_err(|_| JwkError::Encoding)?
        .len();
    if len == out.len() {
        Ok(())
    } else {
        Err(JwkError::Length)
    }
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// Reads a public key from a JSON Web Key.
    ///
    /// # Errors
    /// [`JwkError::Private`] if it contains a private key, and every other
    /// [`JwkError`] but [`JwkError::Mismatch`].
    pub fn from_jwk(jwk: &Jwk<'_>) -> Result<Self, JwkError> {
        jwk.check::<P>()?;
        if jwk.private.is_some() {
            return Err(JwkError::Private);
        }
        public_of_jwk(jwk)
    }

    /// The value of `pub`: 1750, 2603 or 3456 characters. `kty` is [`Jwk::KTY`],
    /// `alg` is the [`NAME`](ParameterSet::NAME) of the set.
    pub fn to_jwk_pub(&self) -> String {
        Base64UrlUnpadded::encode_string(self.as_ref())
    }

    /// The JSON whose SHA-256 is the thumbprint of the key (RFC 7638): `alg`,
    /// `kty`, `pub` and no white space.
    pub fn jwk_thumbprint_input(&self) -> String {
        format!(
            r#"{{"alg":"{}","kty":"{}","pub":"{}"}}"#,
            P::NAME,
            Jwk::KTY,
            self.to_jwk_pub()
        )
    }

    /// Reads a public key from a COSE_Key.
    ///
    /// # Errors
    /// As [`Self::from_jwk`], but for [`JwkError::Encoding`].
    pub fn from_cose_key(key: &CoseKey<'_>) -> Result<Self, JwkError> {
        key.check::<P>()?;
        if key.private.is_some() {
            return Err(JwkError::Private);
        }
        Self::from_bytes(key.public).map_err(|_| JwkError::Length)
    }
}

fn public_of_jwk<P: ParameterSet>(jwk: &Jwk<'_>) -> Result<VerifyingKey<P>, JwkError> {
    let mut bytes = P::PublicKeyBytes::zeroed();
    decode(jwk.public, bytes.as_mut())?;
    VerifyingKey::from_bytes(bytes.as_ref()).map_err(|_| JwkError::Length)
}

impl<P: ParameterSet> SigningKey<P> {
    /// Reads a private key from a JSON Web Key; its public key must be the one
    /// that the seed gives.
    ///
    /// # Errors
    /// [`JwkError::Private`] if there is no private key in it, and every other
    /// [`JwkError`].
    pub fn from_jwk(jwk: &Jwk<'_>) -> Result<Self, JwkError> {
        jwk.check::<P>()?;
        let mut seed = Secret::<[u8; SEED_LEN]>::zeroed();
        decode(jwk.private.ok_or(JwkError::Private)?, seed.expose_mut())?;
        matching(Self::from_seed(seed.expose()), &public_of_jwk(jwk)?)
    }

    /// The value of `priv`: the seed, 43 characters, wiped on drop. `None` if the
    /// seed is not known.
    pub fn to_jwk_priv(&self) -> Option<Zeroizing<String>> {
        let seed = self.seed()?;
        Some(Zeroizing::new(Base64UrlUnpadded::encode_string(seed)))
    }

    /// Reads a private key from a COSE_Key; its public key must be the one that
    /// the seed gives.
    ///
    /// # Errors
    /// As [`Self::from_jwk`], but for [`JwkError::Encoding`].
    pub fn from_cose_key(key: &CoseKey<'_>) -> Result<Self, JwkError> {
        key.check::<P>()?;
        let seed = key.private.ok_or(JwkError::Private)?;
        let seed = seed.try_into().map_err(|_| JwkError::Length)?;
        let public = VerifyingKey::from_bytes(key.public).map_err(|_| JwkError::Length)?;
        matching(Self::from_seed(seed), &public)
    }
}

fn matching<P: ParameterSet>(
    key: SigningKey<P>,
    public: &VerifyingKey<P>,
) -> Result<SigningKey<P>, JwkError> {
    if key.verifying_key() == public {
        Ok(key)
    } else {
        Err(JwkError::Mismatch)
    }
}

impl fmt::Debug for Jwk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jwk({}, private: {})", self.alg, self.private.is_some())
    }
}

impl fmt::Debug for CoseKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let private = self.private.is_some();
        write!(f, "CoseKey({}, private: {private})", self.alg)
    }
}
