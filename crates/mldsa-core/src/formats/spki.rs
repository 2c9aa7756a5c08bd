//! Public keys as SubjectPublicKeyInfo (RFC 9881 section 4): object identifiers
//! without parameters, the encoded key as the whole bit string.

use ::spki::der::AnyRef;
use ::spki::{
    AlgorithmIdentifier, AlgorithmIdentifierRef, AssociatedAlgorithmIdentifier, Error,
    ObjectIdentifier, Result, SignatureAlgorithmIdentifier, SubjectPublicKeyInfoRef,
};

use crate::error::KeyError;
use crate::keys::{SigningKey, VerifyingKey};
use crate::params::{ParameterSet, Set};

/// Returns [`Set::oid`] in the type of the `spki` crate.
const fn object_identifier(set: Set) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(match set {
        Set::MlDsa44 => "2.16.840.1.101.3.4.3.17",
        Set::MlDsa65 => "2.16.840.1.101.3.4.3.18",
        Set::MlDsa87 => "2.16.840.1.101.3.4.3.19",
    })
}

impl From<Set> for ObjectIdentifier {
    /// The object identifier of pure ML-DSA with this set.
    fn from(set: Set) -> Self {
        object_identifier(set)
    }
}

impl TryFrom<ObjectIdentifier> for Set {
    type Error = KeyError;

    /// # Errors
    /// [`KeyError::UnknownSet`].
    fn try_from(oid: ObjectIdentifier) -> core::result::Result<Self, KeyError> {
        let mut sets = Self::ALL.into_iter();
        sets.find(|set| object_identifier(*set) == oid)
            .ok_or(KeyError::UnknownSet)
    }
}

/// Returns the algorithm identifier of keys and signatures: parameters are absent.
pub(crate) const fn algorithm<Params, P: ParameterSet>() -> AlgorithmIdentifier<Params> {
    AlgorithmIdentifier {
        oid: object_identifier(P::SET),
        parameters: None,
    }
}

/// Returns the set of an identifier. Parameters have to be absent; NULL is rejected.
pub(crate) fn set_of(found: AlgorithmIdentifierRef<'_>) -> core::result::Result<Set, KeyError> {
    let set = Set::try_from(found.oid)?;
    match found.parameters {
        None => Ok(set),
        Some(_) => Err(KeyError::AlgorithmParameters),
    }
}

/// Requires the set `P`.
pub(crate) fn check_set<P: ParameterSet>(found: Set) -> core::result::Result<(), KeyError> {
    if found == P::SET {
        Ok(())
    } else {
        Err(KeyError::OtherSet)
    }
}

/// Returns the error of the `spki` crate for a key with this algorithm.
pub(crate) fn spki_error(error: KeyError, oid: ObjectIdentifier) -> Error {
    match error {
        KeyError::UnknownSet | KeyError::OtherSet => Error::OidUnknown { oid },
        _ => Error::KeyMalformed,
    }
}

/// Returns the set and the encoded key.
fn parts<'a>(
    info: &SubjectPublicKeyInfoRef<'a>,
) -> core::result::Result<(Set, &'a [u8]), KeyError> {
    let set = set_of(info.algorithm)?;
    let key = info.subject_public_key.as_bytes();
    Ok((set, key.ok_or(KeyError::Structure)?))
}

/// Decodes the set and the encoded key of a SubjectPublicKeyInfo in DER.
#[cfg(any(
    feature = "pem",
    all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87")
))]
fn decode(der: &[u8]) -> core::result::Result<(Set, &[u8]), KeyError> {
    let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|_| KeyError::Structure)?;
    parts(&info)
}

impl<P: ParameterSet> TryFrom<SubjectPublicKeyInfoRef<'_>> for VerifyingKey<P> {
    type Error = Error;

    /// # Errors
    /// [`Error::OidUnknown`] for another algorithm, [`Error::KeyMalformed`] for
    /// parameters (NULL too), unused bits or a wrong length.
    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> Result<Self> {
        parts(&info)
            .and_then(Self::from_parts)
            .map_err(|error| spki_error(error, info.algorithm.oid))
    }
}

impl<P: ParameterSet> VerifyingKey<P> {
    fn from_parts((set, key): (Set, &[u8])) -> core::result::Result<Self, KeyError> {
        check_set::<P>(set)?;
        Self::from_bytes(key)
    }

    /// Reads SubjectPublicKeyInfo as `from_public_key_der` does, with the reason of this crate.
    #[cfg(feature = "pem")]
    pub(crate) fn from_spki(der: &[u8]) -> core::result::Result<Self, KeyError> {
        decode(der).and_then(Self::from_parts)
    }
}

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl crate::keys::AnyVerifyingKey {
    /// Reads a SubjectPublicKeyInfo in DER, whose object identifier tells the set.
    ///
    /// # Errors
    /// [`KeyError::Structure`], [`KeyError::UnknownSet`], [`KeyError::AlgorithmParameters`], and
    /// those of [`Self::from_bytes_of`].
    pub fn from_public_key_der(der: &[u8]) -> core::result::Result<Self, KeyError> {
        decode(der).and_then(|(set, key)| Self::from_bytes_of(set, key))
    }
}

#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
impl TryFrom<SubjectPublicKeyInfoRef<'_>> for crate::keys::AnyVerifyingKey {
    type Error = Error;

    /// # Errors
    /// As for [`VerifyingKey`].
    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> Result<Self> {
        parts(&info)
            .and_then(|(set, key)| Self::from_bytes_of(set, key))
            .map_err(|error| spki_error(error, info.algorithm.oid))
    }
}

impl<P: ParameterSet> AssociatedAlgorithmIdentifier for VerifyingKey<P> {
    type Params = AnyRef<'static>;
    const ALGORITHM_IDENTIFIER: AlgorithmIdentifier<Self::Params> =
        algorithm::<AnyRef<'static>, P>();
}

impl<P: ParameterSet> SignatureAlgorithmIdentifier for VerifyingKey<P> {
    type Params = AnyRef<'static>;
    const SIGNATURE_ALGORITHM_IDENTIFIER: AlgorithmIdentifier<Self::Params> =
        algorithm::<AnyRef<'static>, P>();
}

impl<P: ParameterSet> SignatureAlgorithmIdentifier for SigningKey<P> {
    type Params = AnyRef<'static>;
    const SIGNATURE_ALGORITHM_IDENTIFIER: AlgorithmIdentifier<Self::Params> =
        algorithm::<AnyRef<'static>, P>();
}

#[cfg(feature = "alloc")]
fn encode(set: Set, key: &[u8]) -> Result<::spki::Document> {
    let key = ::spki::der::asn1::BitStringRef::from_bytes(key)?;
    ::spki::Document::encode_msg(&SubjectPublicKeyInfoRef {
        algorithm: AlgorithmIdentifier {
            oid: object_identifier(set),
            parameters: None,
        },
        subject_public_key: key,
    })
    .map_err(Error::from)
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> ::spki::EncodePublicKey for VerifyingKey<P> {
    /// Encodes 1334, 1974 or 2614 bytes.
    fn to_public_key_der(&self) -> Result<::spki::Document> {
        encode(P::SET, self.as_ref())
    }
}

#[cfg(all(
    feature = "alloc",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
impl ::spki::EncodePublicKey for crate::keys::AnyVerifyingKey {
    /// Encodes 1334, 1974 or 2614 bytes.
    fn to_public_key_der(&self) -> Result<::spki::Document> {
        encode(self.set(), self.as_ref())
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> ::spki::SignatureBitStringEncoding for crate::keys::Signature<P> {
    fn to_bitstring(&self) -> ::spki::der::Result<::spki::der::asn1::BitString> {
        ::spki::der::asn1::BitString::from_bytes(self.as_ref())
    }
}
