//! Interface of the other crates of this workspace and of its tests. Hidden, not for users,
//! and not covered by semantic versioning; misuse breaks security. The feature changes no
//! behaviour. With the feature `hazmat` it has the algorithms of FIPS 204 without their
//! checks, for validation suites.

mod verification;

pub use self::verification::{Verification, verify_lanes};
pub use crate::backend::shake256_lanes;
pub use crate::coding::encode::{
    PublicKeyParts, SecretKeyParts, SecretKeyPartsMut, SignatureParts, signature_parts_mut,
};
pub use crate::coding::expansion::{Expansion, PackedPoly};
pub use crate::formats::joined::is_joined_private_key;
#[cfg(feature = "pem")]
pub use crate::formats::pem::decode_pem;
#[cfg(feature = "pkcs8")]
pub use crate::formats::pkcs8::{PrivateKeyChoice, PrivateParts};
pub use crate::hash::keccak::Permutation;
pub use crate::hash::transcript::{
    CommitmentHash, ExpandedSeed, expand_seed, is_commitment, message_mu, mu_from_m_prime, rho_pp,
    tr,
};
pub use crate::hash::xof::{LaneHash, Shake128, Shake256, Sponge};
#[cfg(all(
    feature = "rand_core",
    any(feature = "getrandom", feature = "signature")
))]
pub use crate::keys::signing::hedged;
pub use crate::lanes::job::JobMessage;
pub use crate::memory::array::{Array, Element, Wipe, Zeroed};
#[cfg(mldsa_ct_check)]
pub use crate::memory::secret::ct_check;
pub use crate::memory::secret::{Secret, declassify, declassify_in_place};
pub use crate::params::{
    CRH_LEN, D, MAX_SIGN_ATTEMPTS, N, Params, Q, SEED_LEN, T0_POLY_LEN, T1_POLY_LEN,
};
pub use crate::ring::poly::{NttPoly, Poly};
pub use crate::scheme::keygen::keygen_from_rho_p;
#[cfg(feature = "hazmat")]
pub use crate::scheme::keygen::{check_expanded, keygen_internal};
pub use crate::scheme::keygen_many::keygen_many;
pub use crate::scheme::seal::variation;
pub use crate::scheme::sign::AttemptRejection;

use crate::backend::Backend;
use crate::error::{SignError, VerifyError};
use crate::hash::transcript::{Mu, Randomness};
use crate::keys::SigningKey;
#[cfg(feature = "hazmat")]
use crate::keys::VerifyingKey;
use crate::keys::no_alloc::{SignInto, verify_encoded};
use crate::params::ParameterSet;
use crate::scheme::sign::sign_expanded;

/// Branch-free selection.
pub mod ct {
    pub use crate::memory::ct::*;
}
/// Z_q.
pub mod field {
    pub use crate::ring::field::*;
}
/// The permutation on the lanes of a sponge, and in plain Rust on plain lanes.
pub mod keccak {
    pub use crate::hash::keccak::keccak_f1600_compact;
    pub use crate::hash::lane::{add, value};

    /// The permutation of this target, on lanes as it keeps them.
    pub fn permute(state: &mut [u64; 25]) {
        super::Permutation::PORTABLE.permute(state);
    }
}
/// The number-theoretic transform.
pub mod ntt {
    pub use crate::ring::ntt::*;
}
/// Rounding.
pub mod rounding {
    pub use crate::ring::rounding::*;
}
/// Hint vectors.
pub mod hint {
    pub use crate::coding::hint::{HINT_ROW_LEN, Hint, hint_bit_pack_vartime, weight};
}
/// Bit packing.
pub mod pack {
    pub use crate::coding::pack::*;
    pub use crate::summing::pack::*;
}
/// Pseudorandom sampling.
pub mod sample {
    pub use crate::sample::*;
}
/// Uniform sampling from centred intervals.
pub mod interval {
    pub use crate::summing::interval::*;
}
/// Whole vectors: products, sums and relations.
pub mod vectors {
    pub use crate::summing::vectors::*;
}
/// The steps of the scheme on one row.
pub mod row_steps {
    pub use crate::streaming::row_steps::*;
}
/// Products with the challenge in coefficient form.
pub mod sparse {
    pub use crate::streaming::sparse::*;
}
/// Facts about the kernel tables, for `contrib/proofs`.
pub mod kernels {
    #[cfg(mldsa_simd)]
    pub use crate::backend::cpu::FEATURES;
    #[cfg(all(
        mldsa_simd,
        not(feature = "count-dispatch"),
        target_pointer_width = "64"
    ))]
    pub use crate::backend::kernels::ENTRIES;
    pub use crate::backend::kernels::{RANGES, bounds};
}
/// Matrix products in quarter transforms.
pub mod window {
    pub use crate::streaming::window::*;
}

/// Returns the context in a frame: its length in one byte, then at most 255 bytes. For types that
/// have checked the length once.
#[must_use]
pub fn framed_context(frame: &[u8; 256]) -> crate::Context<'_> {
    crate::Context::framed(frame)
}

/// Verifies a signature over `mu` under an encoded key, without computing `tr`.
///
/// # Errors
/// Every [`VerifyError`], in the order of its variants.
pub fn verify_mu_encoded<P: ParameterSet>(
    pk: &P::PublicKeyBytes,
    mu: &Mu,
    signature: &[u8],
) -> Result<(), VerifyError> {
    verify_encoded::<P>(pk, JobMessage::Mu(mu), signature)
}

/// Returns the 32 bytes `rnd` of FIPS 204 algorithm 2.
pub fn randomness_bytes<'a>(randomness: &'a Randomness<'_>) -> &'a [u8; SEED_LEN] {
    randomness.rnd()
}

/// Signs as [`SigningKey::sign_mu_into`] does, and reports every rejected attempt: for tests
/// that must reach a rejection, and for statistics.
///
/// # Errors
/// As [`SigningKey::sign_into`].
pub fn sign_mu_observed<P: ParameterSet>(
    key: &SigningKey<P>,
    mu: &Mu,
    randomness: Randomness<'_>,
    out: &mut [u8],
    observe: &mut dyn FnMut(AttemptRejection),
) -> Result<(), SignError> {
    key.sign_mu_observed(mu, randomness, out, observe)
}

/// Signs `mu` with an expanded private key, into the caller's buffer. Only
/// the range of s1 and s2 is checked, not that t0 and `tr` belong to them. `observe` is given
/// every rejected attempt.
///
/// # Errors
/// [`SignError::Key`], [`SignError::AttemptsExhausted`].
pub fn sign_mu_encoded<P: ParameterSet>(
    sk: &P::SecretKeyBytes,
    mu: &Mu,
    randomness: Randomness<'_>,
    out: &mut P::SignatureBytes,
    observe: &mut dyn FnMut(AttemptRejection),
) -> Result<(), SignError> {
    sign_expanded::<P>(
        Backend::detect(),
        sk.as_ref(),
        mu,
        randomness.rnd(),
        None,
        out.as_mut(),
        observe,
    )
}

/// Computes algorithm 7 on a given M' (the ACVP internal interface).
///
/// # Errors
/// As [`SigningKey::sign_into`].
#[cfg(feature = "hazmat")]
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

/// Computes algorithm 8 on a given M' (the ACVP internal interface).
///
/// # Errors
/// As [`VerifyingKey::verify_with_context`].
#[cfg(feature = "hazmat")]
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
