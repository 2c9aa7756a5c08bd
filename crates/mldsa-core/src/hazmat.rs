//! The algorithms of FIPS 204 behind their checks, for validation suites. Misuse breaks
//! security; nothing here is covered by semantic versioning. Switching it on changes no
//! behaviour.

#[doc(hidden)]
pub use crate::internals::*;
pub use crate::scheme::keygen::{check_expanded, keygen_internal};

use crate::error::{SignError, VerifyError};
use crate::hash::transcript::Randomness;
use crate::keys::no_alloc::SignInto;
use crate::keys::{SigningKey, VerifyingKey};
use crate::params::ParameterSet;

/// Algorithm 7 on a given M' (the ACVP internal interface).
///
/// # Errors
/// As [`SigningKey::sign_into`].
pub fn sign_internal<P: ParameterSet>(
    key: &SigningKey<P>,
    m_prime: &[u8],
    randomness: Randomness<'_>,
    out: &mut [u8],
) -> Result<(), SignError> {
    let vk = key.verifying_key();
    key.sign_mu_into(
        &mu_from_m_prime(vk.backend().permutation(), vk.tr(), &[m_prime]),
        randomness,
        out,
    )
}

/// Algorithm 8 on a given M' (the ACVP internal interface).
///
/// # Errors
/// As [`VerifyingKey::verify`].
pub fn verify_internal<P: ParameterSet>(
    key: &VerifyingKey<P>,
    m_prime: &[u8],
    signature: &[u8],
) -> Result<(), VerifyError> {
    key.verify_mu(
        &mu_from_m_prime(key.backend().permutation(), key.tr(), &[m_prime]),
        signature,
    )
}
