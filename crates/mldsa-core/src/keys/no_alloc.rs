//! Forms for programs without an allocator: memory of the caller for keys and signers,
//! signing into buffers, and functions on encodings.
//!
//! The functions return no value larger than a hash; lengths are in the types. `SignInto`
//! signs into a buffer:
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
//! key.verifying_key().verify(b"message", Context::EMPTY, &signature)?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use crate::backend::Backend;
use crate::coding::encode::PublicKeyParts;
use crate::error::{KeyError, SignError, VerifyError};
use crate::hash::transcript::{self, Context, Mu, Randomness};
pub use crate::keys::batch_signing::BatchSignerScratch;
pub use crate::keys::prepared_signing::{PreparedSigningKeyRef, PreparedSigningKeyStorage};
pub use crate::keys::prepared_verifying::{PreparedVerifyingKeyRef, PreparedVerifyingKeyStorage};
pub use crate::keys::sign_into::SignInto;
pub use crate::keys::signing::SigningKeyStorage;
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::params::{CRH_LEN, ParameterSet, SEED_LEN};
use crate::scheme::keygen::{check_expanded, keygen_internal};
use crate::scheme::keygen_many;
pub use crate::scheme::keygen_many::NewKey;
use crate::scheme::sign::sign_expanded;
use crate::scheme::verify::verify_one;

/// Key generation from the seed xi (FIPS 204 algorithm 6) into the caller's
/// buffers. The private key is the expanded encoding; wipe it after use.
///
/// Stack: row keygen in `docs/gates.md`.
pub fn keygen<P: ParameterSet>(
    xi: &[u8; SEED_LEN],
    pk: &mut P::PublicKeyBytes,
    sk: &mut P::SecretKeyBytes,
) {
    keygen_internal::<P>(Backend::detect(), xi, pk, sk);
}

/// [`keygen`] for many seeds, each with its pair of buffers: the same keys, several at a
/// time where the backend has lanes. Eight with AVX-512, four with AVX2; the portable
/// backend gains nothing. Any number of keys; no allocation.
///
/// Stack: row keygen many in `docs/gates.md`.
pub fn keygen_many<P: ParameterSet>(keys: &mut [NewKey<'_, P>]) {
    keygen_many::keygen_many::<P>(Backend::detect(), keys);
}

/// Checks an expanded private key as [`SigningKey::from_expanded_bytes`] does and
/// writes its public key.
///
/// [`SigningKey::from_expanded_bytes`]: crate::SigningKey::from_expanded_bytes
///
/// Stack: row import in `docs/gates.md`.
///
/// # Errors
/// Every [`KeyError`].
pub fn public_key<P: ParameterSet>(
    sk: &P::SecretKeyBytes,
    pk: &mut P::PublicKeyBytes,
) -> Result<(), KeyError> {
    check_expanded::<P>(Backend::detect(), sk.as_ref(), pk)
}

/// `tr = H(pk, 64)`, from which [`MuBuilder`](crate::MuBuilder) starts.
pub fn tr<P: ParameterSet>(pk: &P::PublicKeyBytes) -> [u8; CRH_LEN] {
    transcript::tr(Backend::detect().permutation(), pk.as_ref())
}

/// Signs `mu` with an expanded private key, into the caller's buffer. Only
/// the range of s1 and s2 is checked, not that t0 and `tr` belong to them.
///
/// Stack: row sign in `docs/gates.md`.
///
/// # Errors
/// [`SignError::Key`], [`SignError::AttemptsExhausted`].
pub fn sign_mu<P: ParameterSet>(
    sk: &P::SecretKeyBytes,
    mu: &Mu,
    randomness: Randomness<'_>,
    out: &mut P::SignatureBytes,
) -> Result<(), SignError> {
    sign_expanded::<P>(
        Backend::detect(),
        sk.as_ref(),
        mu,
        randomness.rnd(),
        out.as_mut(),
        &mut |_| {},
    )
}

/// Verifies a signature over `mu` under an encoded public key.
///
/// Stack: row verify in `docs/gates.md`.
///
/// # Errors
/// Every [`VerifyError`], in the order of its variants.
pub fn verify_mu<P: ParameterSet>(
    pk: &P::PublicKeyBytes,
    mu: &Mu,
    signature: &[u8],
) -> Result<(), VerifyError> {
    verify_job::<P>(pk, JobMessage::Mu(mu), signature)
}

/// Verifies a signature over `message` under an encoded public key, in one
/// call: `tr` is computed in parallel with the expansion of A where that is faster.
///
/// Stack: row verify in `docs/gates.md`.
///
/// # Errors
/// Every [`VerifyError`], in the order of its variants.
pub fn verify<P: ParameterSet>(
    pk: &P::PublicKeyBytes,
    message: &[u8],
    context: Context<'_>,
    signature: &[u8],
) -> Result<(), VerifyError> {
    verify_job::<P>(pk, JobMessage::Pure(context, message), signature)
}

fn verify_job<P: ParameterSet>(
    pk: &P::PublicKeyBytes,
    message: JobMessage<'_>,
    signature: &[u8],
) -> Result<(), VerifyError> {
    let key = JobKey::Encoded(PublicKeyParts::of::<P>(pk), None);
    verify_one::<P>(Backend::detect(), Job::new(key, message, signature))
}
