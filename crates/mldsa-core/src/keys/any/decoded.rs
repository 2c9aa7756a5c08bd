//! A decoded signature of any set.

use crate::error::VerifyError;
use crate::keys::decoded::{DecodedSignature, sealed::Sealed};
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::params::{MlDsa44, MlDsa65, MlDsa87, Set};
use crate::with_set;

/// A [`DecodedSignature`] of any set. For a key of another set it has the wrong length.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "without a heap; the sets have different lengths"
)]
pub enum AnyDecodedSignature {
    /// A signature of ML-DSA-44.
    MlDsa44(DecodedSignature<MlDsa44>),
    /// A signature of ML-DSA-65.
    MlDsa65(DecodedSignature<MlDsa65>),
    /// A signature of ML-DSA-87.
    MlDsa87(DecodedSignature<MlDsa87>),
}

impl AnyDecodedSignature {
    /// Decodes a signature of the set and copies it.
    ///
    /// # Errors
    /// As [`DecodedSignature::decode`].
    pub fn decode(set: Set, bytes: &[u8]) -> Result<Self, VerifyError> {
        Ok(match set {
            Set::MlDsa44 => Self::MlDsa44(DecodedSignature::decode(bytes)?),
            Set::MlDsa65 => Self::MlDsa65(DecodedSignature::decode(bytes)?),
            Set::MlDsa87 => Self::MlDsa87(DecodedSignature::decode(bytes)?),
        })
    }
}

#[allow(private_interfaces, reason = "as in the trait")]
impl Sealed for AnyDecodedSignature {
    fn job<'a>(&'a self, key: JobKey<'a>, message: JobMessage<'a>) -> Job<'a> {
        with_set!(Self, self, signature => signature.job(key, message))
    }
}
