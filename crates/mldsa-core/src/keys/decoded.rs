//! Signatures that were decoded before they are verified: the second of three steps with prices of
//! their own. The first is [`VerifyingKey::prepare`](crate::VerifyingKey::prepare), the third a
//! verification with both.

use core::fmt;

use crate::coding::encode::SignatureParts;
use crate::error::VerifyError;
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::memory::array::Zeroed;
use crate::params::ParameterSet;

/// A decoded signature (FIPS 204 algorithm 27): its length and the encoding of its hint
/// were checked. A verification takes it in the place of bytes, with the same verdict, and checks
/// the norm of z and the challenge. [`Signature`](crate::Signature) is for signatures that are stored.
///
/// A host that charges for each step before it is done:
///
/// ```
/// # use mldsa_core::{Context, DecodedSignature, MlDsa65, SigningKey, VerifyingKey};
/// # let signer = SigningKey::<MlDsa65>::generate()?;
/// # let encoded = *signer.verifying_key().as_bytes();
/// # let bytes = *signer.sign_hedged(b"message", Context::EMPTY)?.as_bytes();
/// let mut gas = 100_u64;
/// let mut charge = |price: u64| gas.checked_sub(price).map(|left| gas = left).ok_or("out of gas");
///
/// charge(40)?;
/// let key = VerifyingKey::<MlDsa65>::from_bytes(&encoded)?.prepare();
/// charge(1)?;
/// let signature = DecodedSignature::<MlDsa65>::decode(&bytes)?;
/// charge(20 + b"message".len() as u64 / 136)?;
/// key.verify_with_context(b"message", Context::EMPTY, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
// Without `AsRef<[u8]>`, which would be a second implementation of `AsSignature`.
#[derive(Clone)]
pub struct DecodedSignature<P: ParameterSet>(P::SignatureBytes);

impl<P: ParameterSet> DecodedSignature<P> {
    /// Decodes a signature and copies it.
    ///
    /// # Errors
    /// [`VerifyError::SignatureLength`], [`VerifyError::HintEncoding`].
    pub fn decode(bytes: &[u8]) -> Result<Self, VerifyError> {
        SignatureParts::parse(&P::PARAMS, bytes)?;
        let mut decoded = Self(P::SignatureBytes::zeroed());
        decoded.0.as_mut().copy_from_slice(bytes);
        Ok(decoded)
    }

    /// Returns the encoding.
    pub fn as_bytes(&self) -> &P::SignatureBytes {
        &self.0
    }
}

impl<P: ParameterSet> fmt::Debug for DecodedSignature<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedSignature({})", P::NAME)
    }
}

/// What a verification takes as the signature: bytes of any length, or a [`DecodedSignature`]. One
/// of another set than the key has the wrong length.
pub trait AsSignature: sealed::Sealed {}

impl<S: sealed::Sealed + ?Sized> AsSignature for S {}

pub(crate) mod sealed {
    use super::{Job, JobKey, JobMessage};

    /// Makes the input of a verification.
    #[allow(
        private_interfaces,
        reason = "the module is private, and so is what it takes"
    )]
    pub trait Sealed {
        #[doc(hidden)]
        fn job<'a>(&'a self, key: JobKey<'a>, message: JobMessage<'a>) -> Job<'a>;
    }
}

#[allow(private_interfaces, reason = "as in the trait")]
impl<S: AsRef<[u8]> + ?Sized> sealed::Sealed for S {
    fn job<'a>(&'a self, key: JobKey<'a>, message: JobMessage<'a>) -> Job<'a> {
        Job::new(key, message, self.as_ref())
    }
}

#[allow(private_interfaces, reason = "as in the trait")]
impl<P: ParameterSet> sealed::Sealed for DecodedSignature<P> {
    fn job<'a>(&'a self, key: JobKey<'a>, message: JobMessage<'a>) -> Job<'a> {
        let decoded = true;
        Job {
            decoded,
            ..Job::new(key, message, self.0.as_ref())
        }
    }
}

/// Implements verification under a key of the set `P` that has `job_key`, `tr` and `backend`.
macro_rules! verification {
    () => {
        /// Verifies a signature over `message` (FIPS 204 algorithm 3 ML-DSA.Verify).
        ///
        /// # Errors
        /// Every [`VerifyError`](crate::VerifyError), in the order of its variants. Never panics.
        pub fn verify_with_context(
            &self,
            message: &[u8],
            context: crate::Context<'_>,
            signature: &(impl crate::AsSignature + ?Sized),
        ) -> Result<(), crate::VerifyError> {
            let message = crate::lanes::job::JobMessage::Pure(context, message);
            let job = signature.job(self.job_key(), message);
            crate::scheme::verify::verify_one::<P>(self.backend(), job)
        }

        /// Verifies a signature over an externally computed `mu`.
        ///
        /// # Errors
        /// As [`Self::verify_with_context`].
        pub fn verify_mu(
            &self,
            mu: &crate::Mu,
            signature: &(impl crate::AsSignature + ?Sized),
        ) -> Result<(), crate::VerifyError> {
            let job = signature.job(self.job_key(), crate::lanes::job::JobMessage::Mu(mu));
            crate::scheme::verify::verify_one::<P>(self.backend(), job)
        }

        /// Verifies a HashML-DSA signature over a digest (FIPS 204 algorithm 5).
        ///
        /// # Errors
        /// As [`Self::verify_with_context`].
        #[cfg(feature = "hash-ml-dsa")]
        pub fn verify_prehashed(
            &self,
            digest: &crate::PreHashed<'_, P>,
            context: crate::Context<'_>,
            signature: &(impl crate::AsSignature + ?Sized),
        ) -> Result<(), crate::VerifyError> {
            let mu = digest.mu_on(self.backend().permutation(), self.tr(), context);
            self.verify_mu(&mu, signature)
        }
    };
}
pub(super) use verification;
