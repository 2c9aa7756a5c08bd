//! Forms for programs without an allocator: memory of the caller for keys and signers, and
//! signing into buffers.
//!
//! ```
//! use mldsa_core::no_alloc::{PreparedSigningKeyStorage, SignInto, SigningKeyStorage};
//! use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};
//!
//! let (mut storage, mut prepared) = (SigningKeyStorage::new(), PreparedSigningKeyStorage::new());
//! let key = SigningKey::<MlDsa44>::from_seed_in(&[7; 32], &mut storage);
//! let mut signature = [0; 2420];
//! key.prepare_in(&mut prepared).sign_into(
//!     b"message",
//!     Context::EMPTY,
//!     Randomness::Hedged(&[8; 32]),
//!     &mut signature,
//! )?;
//! key.verifying_key().verify_with_context(b"message", Context::EMPTY, &signature)?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use crate::backend::Backend;
use crate::coding::encode::PublicKeyParts;
use crate::error::VerifyError;
use crate::hash::transcript::Context;
pub use crate::keys::batch_signing::BatchSignerScratch;
pub use crate::keys::prepared_signing::{PreparedSigningKeyRef, PreparedSigningKeyStorage};
pub use crate::keys::prepared_verifying::{PreparedVerifyingKeyRef, PreparedVerifyingKeyStorage};
pub use crate::keys::sign_into::SignInto;
pub use crate::keys::signing::SigningKeyStorage;
use crate::keys::verifying::VerifyingKey;
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::params::ParameterSet;
use crate::scheme::verify::verify_one;

impl<P: ParameterSet> VerifyingKey<P> {
    /// Verifies a signature over `message` under an encoded key, in one call without a key
    /// in memory: `tr` is computed in parallel with the expansion of A where that is faster.
    ///
    /// # Errors
    /// As [`Self::verify_with_context`].
    pub fn verify_encoded(
        pk: &P::PublicKeyBytes,
        message: &[u8],
        context: Context<'_>,
        signature: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<(), VerifyError> {
        verify_encoded::<P>(pk, JobMessage::Pure(context, message), signature.as_ref())
    }
}

/// Verifies a signature over a message in any form, without a key in memory.
pub(crate) fn verify_encoded<P: ParameterSet>(
    pk: &P::PublicKeyBytes,
    message: JobMessage<'_>,
    signature: &[u8],
) -> Result<(), VerifyError> {
    let key = JobKey::Encoded(PublicKeyParts::of::<P>(pk), None);
    verify_one::<P>(Backend::detect(), Job::new(key, message, signature))
}
