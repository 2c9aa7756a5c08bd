//! The expert door: the algorithms of FIPS 204 one by one, for the sibling
//! crates and for validation suites. Misuse breaks security; nothing here is
//! covered by semantic versioning. Switching it on changes no behaviour.

pub use crate::backend::shake256_lanes;
pub use crate::coding::encode::{
    PublicKeyParts, SecretKeyParts, SecretKeyPartsMut, SignatureParts, signature_parts_mut,
};
pub use crate::coding::expansion::{Expansion, PackedPoly};
pub use crate::hash::keccak::Permutation;
pub use crate::hash::transcript::{
    CommitmentHash, ExpandedSeed, expand_seed, mu_from_m_prime, rho_pp, tr,
};
pub use crate::hash::xof::{LaneHash, Shake128, Shake256, Sponge};
pub use crate::memory::array::{Array, Element, Wipe, Zeroed};
#[cfg(mldsa_ct_check)]
pub use crate::memory::secret::ct_check;
pub use crate::memory::secret::{Secret, declassify, declassify_in_place};
pub use crate::params::{
    CRH_LEN, D, MAX_ATTEMPTS, N, Params, Q, SEED_LEN, T0_POLY_LEN, T1_POLY_LEN,
};
pub use crate::ring::poly::{NttPoly, Poly};
pub use crate::scheme::keygen::{
    check_expanded, check_secret_range, keygen_from_rho_p, keygen_internal,
};
pub use crate::scheme::sign::Rejection;
pub use crate::siblings::{JobMessage, Verification, verify_lanes};

use crate::error::{SignError, VerifyError};
use crate::hash::transcript::{Hedge, Mu};
use crate::keys::{SigningKey, VerifyingKey};
use crate::params::ParameterSet;

macro_rules! rooms {
    ($($folder:ident::$room:ident: $doc:literal;)+) => {$(
        #[doc = $doc]
        pub mod $room {
            pub use crate::$folder::$room::*;
        }
    )+};
}
rooms! {
    memory::ct: "Branch-free selection.";
    ring::field: "Z_q.";
    ring::ntt: "The number-theoretic transform.";
    ring::rounding: "Rounding.";
    coding::hint: "Hint vectors.";
    coding::pack: "Bit packing.";
    summing::interval: "Uniform sampling from centred intervals.";
    summing::linear: "Linear relations on whole vectors.";
    streaming::row: "The steps of the scheme on one row.";
    streaming::sparse: "Products with the challenge in coefficient form.";
    streaming::window: "Matrix products in quarter transforms.";
}
/// Pseudorandom sampling.
pub mod sample {
    pub use crate::sample::*;
}

/// The 32 bytes `rnd` that a hedge stands for.
pub fn hedge_rnd<'a>(hedge: &'a Hedge<'_>) -> &'a [u8; SEED_LEN] {
    hedge.rnd()
}

/// Algorithm 7 on a given M' (the ACVP internal interface).
///
/// # Errors
/// As [`SigningKey::sign_into`].
pub fn sign_internal<P: ParameterSet>(
    key: &SigningKey<P>,
    m_prime: &[u8],
    hedge: Hedge<'_>,
    out: &mut [u8],
) -> Result<(), SignError> {
    let vk = key.verifying_key();
    key.sign_mu_into(
        &mu_from_m_prime(vk.backend().permutation(), vk.tr(), &[m_prime]),
        hedge,
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
    hedge: Hedge<'_>,
    out: &mut [u8],
    observe: &mut dyn FnMut(Rejection),
) -> Result<(), SignError> {
    key.sign_mu_observed(mu, hedge, out, observe)
}
