//! What keys are told apart by: lengths, DER, the algorithm of a SubjectPublicKeyInfo.

use mldsa_core::pkcs8::ObjectIdentifier;
use mldsa_core::pkcs8::der::asn1::AnyRef;
use mldsa_core::pkcs8::der::{Decode, Tag, Tagged};
use mldsa_core::spki::SubjectPublicKeyInfoRef;
use mldsa_core::{ParameterSet, VerifyingKey, object_identifier};

use crate::request::{Set, with_set};

pub(crate) const SEED_LEN: usize = 32;
pub(crate) const SETS: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

pub(crate) const NOT_SPKI: &str = "malformed SubjectPublicKeyInfo";
pub(crate) const NOT_ML_DSA: &str = "not an ML-DSA key";

impl Set {
    pub(crate) fn of_signature_len(len: usize) -> Option<Self> {
        SETS.into_iter()
            .find(|&set| with_set!(set, P => P::SIG_LEN) == len)
    }

    pub(crate) fn of_algorithm(found: ObjectIdentifier) -> Result<Self, &'static str> {
        SETS.into_iter()
            .find(|&set| with_set!(set, P => object_identifier::<P>()) == found)
            .ok_or(NOT_ML_DSA)
    }
}

/// The set and the encoded public key of a SubjectPublicKeyInfo.
pub(crate) fn decode_public(
    info: SubjectPublicKeyInfoRef<'_>,
) -> Result<(Set, Vec<u8>), &'static str> {
    let set = Set::of_algorithm(info.algorithm.oid)?;
    let key = with_set!(set, P => VerifyingKey::<P>::try_from(info)
        .map(|key| key.as_bytes().to_vec()))
    .map_err(|_| NOT_SPKI)?;
    Ok((set, key))
}

/// Whether the header of a SEQUENCE fits the length of the whole.
pub(crate) fn is_der(bytes: &[u8]) -> bool {
    outer(bytes).is_some_and(|content| content.tag() == Tag::Sequence)
}

/// The one DER value that `bytes` are.
pub(crate) fn outer(bytes: &[u8]) -> Option<AnyRef<'_>> {
    AnyRef::from_der(bytes).ok()
}
