//! The algorithms of FIPS 204 one by one, for validation suites, and all of
//! [`internals`](crate::internals). Misuse breaks security; nothing here is covered
//! by semantic versioning. Switching it on changes no behaviour.

pub use crate::hash::transcript::mu_from_m_prime;
pub use crate::hash::xof::{Shake128, Sponge};
pub use crate::internals::*;
#[cfg(mldsa_ct_check)]
pub use crate::memory::secret::ct_check;
pub use crate::params::{D, Q};
pub use crate::scheme::keygen::{check_expanded, check_secret_range, keygen_internal};
pub use crate::scheme::keygen_many::keygen_many;

use crate::error::{SignError, VerifyError};
use crate::hash::transcript::{Mu, Randomness};
use crate::keys::no_alloc::SignInto;
use crate::keys::{SigningKey, VerifyingKey};
use crate::params::ParameterSet;

/// Branch-free selection.
pub mod ct {
    pub use crate::memory::ct::*;
}
/// Z_q.
pub mod field {
    pub use crate::ring::field::*;
}
/// The number-theoretic transform.
pub mod ntt {
    pub use crate::ring::ntt::*;
}
/// Rounding.
pub mod rounding {
    pub use crate::ring::rounding::*;
}
/// Pseudorandom sampling.
pub mod sample {
    pub use crate::sample::*;
}

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

/// [`SigningKey::sign_mu_into`] that reports every rejected attempt: for tests
/// that must reach a rejection, and for statistics.
///
/// # Errors
/// As [`SigningKey::sign_into`].
pub fn sign_mu_observed<P: ParameterSet>(
    key: &SigningKey<P>,
    mu: &Mu,
    randomness: Randomness<'_>,
    out: &mut [u8],
    observe: &mut dyn FnMut(Rejection),
) -> Result<(), SignError> {
    key.sign_mu_observed(mu, randomness, out, observe)
}
