//! The public key, and the calls that verify.

use core::fmt;

use crate::backend::Backend;
use crate::coding::encode::PublicKeyParts;
use crate::error::KeyError;
use crate::hash::transcript;
use crate::keys::byte_traits::impl_byte_traits;
use crate::keys::decoded::verification;
use crate::lanes::job::JobKey;
use crate::memory::array::Zeroed;
use crate::memory::ct::{difference, is_zero};
use crate::params::{CRH_LEN, ParameterSet};

/// A public key: its encoding and `tr`, 64 bytes. Small; A is expanded again
/// for every verification ([`Self::prepare`] keeps it).
///
/// ```
/// use mldsa_core::{Context, MlDsa44, SigningKey, VerifyError, VerifyingKey};
///
/// # let signer = SigningKey::<MlDsa44>::generate()?;
/// # let encoded = *signer.verifying_key().as_bytes();
/// # let signature = *signer.sign_hedged(b"message", Context::EMPTY)?.as_bytes();
/// // 1312 and 2420 bytes that have arrived.
/// let key = VerifyingKey::<MlDsa44>::from_bytes(&encoded)?;
/// key.verify_with_context(b"message", Context::EMPTY, &signature)?;
///
/// // For a key that verifies often: A and t1 expanded once.
/// let prepared = key.prepare();
/// let verdict = prepared.verify_with_context(b"another", Context::EMPTY, &signature);
/// assert_eq!(verdict, Err(VerifyError::ChallengeMismatch));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct VerifyingKey<P: ParameterSet> {
    pub(super) encoded: P::PublicKeyBytes,
    pub(super) tr: [u8; CRH_LEN],
    pub(super) backend: Backend,
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// Reads an encoded key (FIPS 204 algorithm 23). Every string of `PK_LEN`
    /// bytes is a valid key: t1 has no invalid code words.
    ///
    /// # Errors
    /// [`KeyError::Length`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        PublicKeyParts::parse(&P::PARAMS, bytes)?;
        let mut encoded = P::PublicKeyBytes::zeroed();
        encoded.as_mut().copy_from_slice(bytes);
        Ok(Self::from_array(encoded))
    }

    pub(super) fn from_array(encoded: P::PublicKeyBytes) -> Self {
        let backend = Backend::detect();
        Self {
            tr: transcript::tr(backend.permutation(), encoded.as_ref()),
            encoded,
            backend,
        }
    }

    /// Returns the encoding, `PK_LEN` bytes.
    pub fn as_bytes(&self) -> &P::PublicKeyBytes {
        &self.encoded
    }

    /// Computes `tr = H(pk, 64)`, which starts every `mu`.
    pub fn tr(&self) -> &[u8; CRH_LEN] {
        &self.tr
    }

    /// Returns the backend in use.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Moves the key to a chosen backend. Verdicts do not change.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    pub(crate) fn job_key(&self) -> JobKey<'_> {
        JobKey::Encoded(PublicKeyParts::of::<P>(&self.encoded), Some(&self.tr))
    }

    verification!();
}

impl<P: ParameterSet> PartialEq for VerifyingKey<P> {
    fn eq(&self, other: &Self) -> bool {
        // Constant time, which a public key does not need.
        is_zero(difference(self.encoded.as_ref(), other.encoded.as_ref()))
    }
}

impl<P: ParameterSet> Eq for VerifyingKey<P> {}

#[cfg(feature = "subtle")]
impl<P: ParameterSet> subtle::ConstantTimeEq for VerifyingKey<P> {
    fn ct_eq(&self, other: &Self) -> subtle::Choice {
        self.encoded.as_ref().ct_eq(other.encoded.as_ref())
    }
}

impl_byte_traits!(VerifyingKey, PublicKeyBytes, KeyError::Length);

impl<P: ParameterSet> AsRef<[u8]> for VerifyingKey<P> {
    fn as_ref(&self) -> &[u8] {
        self.encoded.as_ref()
    }
}

impl<P: ParameterSet> fmt::Debug for VerifyingKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({}, tr ", P::NAME)?;
        self.tr[..8]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("..)")
    }
}
