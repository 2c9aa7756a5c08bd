//! Public keys as SubjectPublicKeyInfo (RFC 9881 section 4): object identifiers
//! without parameters, the encoded key as the whole bit string.

use ::spki::der::AnyRef;
use ::spki::{
    AlgorithmIdentifier, AlgorithmIdentifierRef, AssociatedAlgorithmIdentifier, Error,
    ObjectIdentifier, Result, SignatureAlgorithmIdentifier, SubjectPublicKeyInfoRef,
};

use crate::keys::{SigningKey, VerifyingKey};
use crate::params::ParameterSet;

/// The sets of pure ML-DSA.
const SETS: [(ObjectIdentifier, &str); 3] = [
    (
        ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.17"),
        "ML-DSA-44",
    ),
    (
        ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.18"),
        "ML-DSA-65",
    ),
    (
        ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.19"),
        "ML-DSA-87",
    ),
];

/// Returns the object identifier of pure ML-DSA with the set `P`.
const fn object_identifier<P: ParameterSet>() -> ObjectIdentifier {
    match P::CATEGORY {
        2 => SETS[0].0,
        3 => SETS[1].0,
        _ => SETS[2].0,
    }
}

/// Returns the name of the set whose object identifier this is.
#[cfg(feature = "pem")]
pub(crate) fn set_of(oid: &ObjectIdentifier) -> Option<&'static str> {
    let set = SETS.iter().find(|(known, _)| known == oid);
    set.map(|(_, name)| *name)
}

/// Returns the algorithm identifier of keys and signatures: parameters are absent.
pub(crate) const fn algorithm<Params, P: ParameterSet>() -> AlgorithmIdentifier<Params> {
    AlgorithmIdentifier {
        oid: object_identifier::<P>(),
        parameters: None,
    }
}

/// Requires the identifier of `P` and absent parameters; NULL is rejected.
pub(crate) fn check_algorithm<P: ParameterSet>(found: AlgorithmIdentifierRef<'_>) -> Result<()> {
    found.assert_algorithm_oid(object_identifier::<P>())?;
    match found.parameters {
        None => Ok(()),
        Some(_) => Err(Error::KeyMalformed),
    }
}

impl<P: ParameterSet> TryFrom<SubjectPublicKeyInfoRef<'_>> for VerifyingKey<P> {
    type Error = Error;

    /// # Errors
    /// [`Error::OidUnknown`] for another algorithm, [`Error::KeyMalformed`] for
    /// parameters (NULL too), unused bits or a wrong length.
    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> Result<Self> {
        check_algorithm::<P>(info.algorithm)?;
        let bytes = info
            .subject_public_key
            .as_bytes()
            .ok_or(Error::KeyMalformed)?;
        Self::from_bytes(bytes).map_err(|_| Error::KeyMalformed)
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
impl<P: ParameterSet> ::spki::EncodePublicKey for VerifyingKey<P> {
    /// Encodes 1334, 1974 or 2614 bytes.
    fn to_public_key_der(&self) -> Result<::spki::Document> {
        let key = ::spki::der::asn1::BitStringRef::from_bytes(self.as_ref())?;
        ::spki::Document::encode_msg(&SubjectPublicKeyInfoRef {
            algorithm: algorithm::<AnyRef<'_>, P>(),
            subject_public_key: key,
        })
        .map_err(Error::from)
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> ::spki::SignatureBitStringEncoding for crate::keys::Signature<P> {
    fn to_bitstring(&self) -> ::spki::der::Result<::spki::der::asn1::BitString> {
        ::spki::der::asn1::BitString::from_bytes(self.as_ref())
    }
}
