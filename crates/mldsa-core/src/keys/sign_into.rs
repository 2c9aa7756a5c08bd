//! Signing into buffers of the caller.

use crate::error::SignError;
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
use crate::hash::transcript::{Context, Mu, MuBuilder, Randomness};
use crate::keys::signature::Signature;
use crate::keys::verifying::VerifyingKey;
use crate::memory::array::{Wipe, Zeroed, sealed};
use crate::params::ParameterSet;
use crate::scheme::sign::AttemptRejection;

/// Signing into a buffer of exactly `SIG_LEN` bytes, on every kind of signing key. The
/// buffer holds no part of a signature after an error.
///
/// Implemented by [`SigningKey`](crate::SigningKey),
/// [`PreparedSigningKeyRef`](crate::no_alloc::PreparedSigningKeyRef) and, with feature
/// `alloc`, `PreparedSigningKey`. Constant time as `SigningKey::sign_with_context`.
pub trait SignInto<P: ParameterSet>: sealed::Sealed {
    /// Returns the public key.
    fn public_key(&self) -> &VerifyingKey<P>;

    /// Signs as [`Self::sign_mu_into`] does and reports every rejected attempt. The number of
    /// attempts is public.
    #[doc(hidden)]
    fn sign_mu_observed(
        &self,
        mu: &Mu,
        randomness: Randomness<'_>,
        out: &mut [u8],
        observe: &mut dyn FnMut(AttemptRejection),
    ) -> Result<(), SignError>;

    /// Returns whether signatures are verified before they are released.
    #[doc(hidden)]
    fn is_self_verifying(&self) -> bool;

    /// Signs what `hash` computes. Self-verification computes it again, because a fault in `mu`
    /// makes a signature of another message.
    #[doc(hidden)]
    fn sign_hashed(
        &self,
        hash: &dyn Fn() -> Mu,
        randomness: Randomness<'_>,
        out: &mut [u8],
    ) -> Result<(), SignError> {
        let mu = hash();
        self.sign_mu_into(&mu, randomness, out)?;
        if self.is_self_verifying() && hash() != mu {
            out.wipe();
            return Err(SignError::SelfVerification);
        }
        Ok(())
    }

    /// Signs an externally computed message representative.
    ///
    /// # Errors
    /// [`SignError::BufferLength`], [`SignError::AttemptsExhausted`],
    /// [`SignError::SelfVerification`].
    fn sign_mu_into(
        &self,
        mu: &Mu,
        randomness: Randomness<'_>,
        out: &mut [u8],
    ) -> Result<(), SignError> {
        self.sign_mu_observed(mu, randomness, out, &mut |_| {})
    }

    /// Signs `message` (FIPS 204 algorithm 2).
    ///
    /// # Errors
    /// As [`Self::sign_mu_into`].
    fn sign_into(
        &self,
        message: &[u8],
        context: Context<'_>,
        randomness: Randomness<'_>,
        out: &mut [u8],
    ) -> Result<(), SignError> {
        let key = self.public_key();
        let hash = || {
            let mut mu = MuBuilder::start(key.backend().permutation(), key.tr(), 0, context);
            mu.update(message);
            mu.finish()
        };
        self.sign_hashed(&hash, randomness, out)
    }

    /// Signs a digest (FIPS 204 algorithm 4).
    ///
    /// # Errors
    /// As [`Self::sign_mu_into`].
    #[cfg(feature = "hash-ml-dsa")]
    fn sign_prehashed_into(
        &self,
        digest: &PreHashed<'_, P>,
        context: Context<'_>,
        randomness: Randomness<'_>,
        out: &mut [u8],
    ) -> Result<(), SignError> {
        let key = self.public_key();
        let hash = || digest.mu_on(key.backend().permutation(), key.tr(), context);
        self.sign_hashed(&hash, randomness, out)
    }
}

/// A signature that `sign` writes into its buffer.
#[inline(always)]
pub(crate) fn signature<P: ParameterSet>(
    sign: impl FnOnce(&mut [u8]) -> Result<(), SignError>,
) -> Result<Signature<P>, SignError> {
    let mut signature = Signature::<P>(P::SignatureBytes::zeroed());
    sign(signature.0.as_mut())?;
    Ok(signature)
}
