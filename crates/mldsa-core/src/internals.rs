//! Interface of the other crates of this workspace and of its tests. Hidden, not for users,
//! and not covered by semantic versioning; misuse breaks security. The feature changes no
//! behaviour.

mod verification;

pub use self::verification::{Verification, verify_lanes};
#[cfg(feature = "process-backend")]
pub use crate::backend::set_default_backend;
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
pub use crate::lanes::job::JobMessage;
pub use crate::memory::array::{Array, Element, Wipe, Zeroed};
#[cfg(mldsa_ct_check)]
pub use crate::memory::secret::ct_check;
pub use crate::memory::secret::{Secret, declassify, declassify_in_place};
pub use crate::params::{
    CRH_LEN, D, MAX_SIGN_ATTEMPTS, N, Params, Q, SEED_LEN, T0_POLY_LEN, T1_POLY_LEN,
};
pub use crate::ring::poly::{NttPoly, Poly};
pub use crate::scheme::keygen::{check_secret_range, keygen_from_rho_p};
pub use crate::scheme::keygen_many::keygen_many;
pub use crate::scheme::sign::Rejection;

use crate::error::SignError;
use crate::hash::transcript::{Mu, Randomness};
use crate::keys::SigningKey;
use crate::keys::no_alloc::SignInto;
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
/// Hint vectors.
pub mod hint {
    pub use crate::coding::hint::{HINT_ROW_LEN, Hint, hint_bit_pack_vartime, weight};
}
/// Bit packing.
pub mod pack {
    pub use crate::coding::pack::*;
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
/// Matrix products in quarter transforms.
pub mod window {
    pub use crate::streaming::window::*;
}

/// The 32 bytes `rnd` of FIPS 204 algorithm 2.
pub fn randomness_bytes<'a>(randomness: &'a Randomness<'_>) -> &'a [u8; SEED_LEN] {
    randomness.rnd()
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
