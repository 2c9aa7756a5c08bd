//! The jumps that may stay, by function and with the reason. A function that handles
//! secrets has a number: the most of any build; more of them fail.

use std::collections::BTreeSet;

use super::reader::Kind;
use crate::{is_after_name, is_of};

/// Functions that see no secret, or secrets only as they are published.
#[rustfmt::skip] // One line for each entry.
const PUBLIC: &[(&str, &str)] = &[
    ("mldsa_core::scheme::verify", VERIFICATION),
    ("mldsa_core::backend::rows", VERIFICATION),
    ("mldsa_core::streaming::row_steps::subtract_ct1", VERIFICATION),
    ("mldsa_core::streaming::row_steps::absorb_hinted", VERIFICATION),
    ("mldsa_core::coding::hint::Hint", VERIFICATION),
    ("mldsa_core::lanes::verify", VERIFICATION),
    ("mldsa_core::lanes::interleaved", "public keys and messages"),
    ("mldsa_core::backend::avx2::verify", VERIFICATION),
    ("mldsa_core::backend::avx2::product::product_of", VERIFICATION),
    ("mldsa_core::backend::avx2::reject", "A is public"),
    ("mldsa_core::backend::avx2::lanes::verify", VERIFICATION),
    ("mldsa_core::backend::avx2::lanes::verify_up_to", VERIFICATION),
    ("mldsa_core::backend::avx512::verify", VERIFICATION),
    ("mldsa_core::backend::neon::verify", VERIFICATION),
    ("mldsa_core::keys::verifying::VerifyingKey::verify_job", VERIFICATION),
    ("mldsa_core::backend::neon::product::product_of", VERIFICATION),
    ("mldsa_core::backend::neon::reject", "A is public"),
    ("mldsa_core::backend::neon::plain_lanes::verify", VERIFICATION),
    ("mldsa_core::backend::neon::plain_lanes::verify_up_to", VERIFICATION),
    ("mldsa_core::backend::neon::sha3_lanes::verify", VERIFICATION),
    ("mldsa_core::backend::neon::sha3_lanes::verify_up_to", VERIFICATION),
    ("mldsa_core::backend::avx512::verify_up_to", VERIFICATION),
    ("mldsa_core::backend::avx512::reject", "A is public"),
    ("mldsa_core::backend::avx512::ninth_state", "public keys and messages"),
    ("mldsa_core::backend::portable::inv_ntt_use_hint", VERIFICATION),
    ("mldsa_core::backend::portable::unpack_z_ntt", VERIFICATION),
    ("mldsa_lowmem::verify::compare", VERIFICATION),
    ("mldsa_lowmem::verify::verify_internal", VERIFICATION),
    ("mldsa_lowmem::remote", VERIFICATION),
    ("mldsa_core::coding::hint::hint_bit_pack_vartime", "the hints of a finished signature"),
    ("mldsa_core::sample::Challenge", "the challenge of an attempt is public"),
    ("mldsa_core::streaming::sparse::SparseChallenge::sample_in_ball_vartime", "the challenge of an attempt is public"),
    ("mldsa_core::streaming::sparse::SparseChallenge::signed_places", "the challenge of an attempt is public"),
    ("mldsa_core::sample::rej_ntt_poly_vartime", "A is public"),
    ("mldsa_core::coding::expansion", "A is public"),
    ("mldsa_core::coding::encode", "lengths"),
    ("mldsa_core::backend::Backend::from_name", "the name of a backend"),
    ("mldsa_core::hash::prehash::PreHash::from_name", "the name of a hash function"),
    ("mldsa_core::self_test", "keys that everyone knows"),
    ("mldsa_core::hash::transcript::mu_from_m_prime", "the message"),
    ("mldsa_core::summing::vectors::norm", "public responses, as it says"),
    ("mldsa_core::summing::vectors::response_distance", "public responses, as it says"),
    ("mldsa_core::summing::vectors::combine", "public responses, as it says"),
    ("mldsa_lowmem::attempt::compare", "c_tilde of an attempt, computed twice"),
    ("mladsa_aggregate", "what members publish, and log entries, whose MACs are compared without memcmp; secrets are handled in mldsa_core::summing and sample, and in the modules listed below"),
];
const VERIFICATION: &str = "verification reads public data only";

/// Modules of a public crate above that do handle secrets.
const NOT_PUBLIC: [&str; 5] = [
    "mladsa_aggregate::keys::nonce",
    "mladsa_aggregate::keys::one_time_key",
    "mladsa_aggregate::keys::seed",
    "mladsa_aggregate::open_commitments::one_party",
    "mladsa_aggregate::round::signer",
];

/// Function; how many jumps on a sign, and on what was loaded from a row; why.
#[rustfmt::skip] // One line for each entry.
const SECRET: &[(&str, usize, usize, &str)] = &[
    ("mldsa_core::backend::shake256_lanes", 0, 2, "the next hash of the caller's iterator: an optional reference in a slice"),
    ("mldsa_core::scheme::sign::next_masks", 0, 2, "lanes of the backend; the place of a mask in its group"),
    ("mldsa_core::keys::prepared_signing::PreparedSigningKey::as_prepared_ref", 0, 7, "the number of rows of the key"),
    ("mldsa_core::scheme::sign::respond_z", 1, 1, "z verdict of a row; number of rows"),
    ("mldsa_core::scheme::sign::encode", 0, 4, "lengths, and hints of the finished signature"),
    ("mldsa_core::scheme::sign::sign_expanded", 0, 9, "verdict on the range of s1 and s2, hints of the finished signature; lengths of sections"),
    ("mldsa_core::streaming::row_steps::z_row_reaches", 0, 5, PLACES),
    ("mldsa_core::streaming::row_steps::z_row_write", 0, 5, PLACES),
    ("mldsa_core::streaming::row_steps::r0_row_reaches", 0, 5, PLACES),
    ("mldsa_core::streaming::row_steps::hint_row", 0, 6, PLACES),
    ("mldsa_core::hash::keccak::keccak_f1600_compact", 1, 5, "the number of a round; which half of a word a rotation by a number of the standard begins with"),
    ("mldsa_core::sample::rej_bounded_poly", 0, 3, REFUSED),
    ("mldsa_core::sample::rej_bounded_packed", 0, 2, REFUSED),
    ("mldsa_core::sample::rej_ntt_poly_each_vartime", 0, 5, "refused candidates of A, which is public"),
    ("mldsa_core::scheme::keygen::public_rows", 0, 3, "lengths of rows"),
    ("mldsa_core::scheme::keygen::public_row", 0, 5, "where a row begins, against lengths"),
    ("mldsa_core::keys::signing::SigningKey::sign_mu_observed", 0, 1, SELF_CHECK),
    ("mldsa_core::keys::verifying::VerifyingKey::release", 0, 1, SELF_CHECK),
    ("mldsa_core::memory::secret::zeroize_stack", 0, 2, LENGTHS),
    ("mldsa_core::hash::transcript::CommitmentHash::finish", 0, 1, POSITION),
    ("mldsa_core::hash::xof::Sponge", 2, 2, POSITION),
    ("mldsa_core::hash::transcript::MuBuilder::from_tr", 0, 4, POSITION),
    ("mldsa_core::backend::neon::keccak::permute", 0, 1, "which core it is"),
    ("mldsa_core::backend::portable", 0, 2, LENGTHS),
    ("mldsa_core::backend::avx512::keccak_x1", 0, 1, LENGTHS),
    ("mldsa_core::lanes::sponge::Queue", 0, 20, LENGTHS),
    ("mldsa_core::lanes::sponge::expand_s", 0, 2, REFUSED),
    ("mldsa_core::streaming::window::finish_row", 0, 1, LENGTHS),
    ("mldsa_core::streaming::window::ntt_in_place", 0, 1, LENGTHS),
    ("mldsa_gate_roots", 0, 4, "what operations answered; the position in a sponge's block"),
    ("mldsa_lowmem::key::check_range", 2, 1, "verdict of a key import; number of coefficients"),
    ("mldsa_lowmem::key::SeedKey::keygen_to_writers", 0, 1, "whether the private key is written; answers of the writers"),
    ("mldsa_lowmem::key::ExpandedKey::checked", 0, 1, "number of bytes that are compared"),
    ("mldsa_core::scheme::sign::commit", 0, 1, LENGTHS),
    ("mldsa_core::scheme::keygen::sample_secrets", 0, 1, LENGTHS),
    ("mldsa_core::streaming::row_steps::absorb_high_bits", 0, 1, PARAMETERS),
    ("mldsa_core::internals::randomness_bytes", 0, 1, "whether signing is hedged"),
    ("mldsa_core::streaming::window::last_layers", 0, 1, LENGTHS),
    ("mladsa_aggregate::keys::one_time_key::derive_each", 1, 9, LENGTHS),
    ("mladsa_aggregate::round::signer", 1, 5, "the mode of the round, its members, whether derivation succeeded"),
    ("mldsa_lowmem::verify::self_verify", 0, 1, LENGTHS),
    ("mldsa_lowmem::verify::is_digest", 0, 1, POSITION),
    ("mladsa_aggregate::keys::nonce::sample", 1, 2, LENGTHS),
    ("mldsa_core::coding::pack", 0, 2, LEFT),
    ("mldsa_core::lanes::sponge::Input::next_block", 0, 1, LENGTHS),
    ("mldsa_core::backend::Backend::detect", 0, 4, "what the CPU has"),
    ("mldsa_core::backend::avx2::streams::accept", 0, 17, REFUSED),
    ("mldsa_core::backend::avx512::secret_streams::accept", 0, 2, REFUSED),
    ("mldsa_core::backend::neon::streams::accept", 0, 3, REFUSED),
    ("mldsa_core::scheme::keygen::check_secret_range", 0, 1, PARAMETERS),
    ("mldsa_core::scheme::keygen::unpack_ntt", 0, 1, LAYERS),
    ("mldsa_core::scheme::sign::challenge", 0, 1, LAYERS),
    ("mldsa_core::scheme::sign::sign_internal", 0, 1, "at opt-level z in one codegen unit the transform of the masks is inlined: the lengths of the two halves of a block"),
    ("mldsa_core::scheme::sign::respond_hints", 3, 4, "ct0 (twice where the loop is rotated) and hint weight verdicts; layers of the transform"),
    ("mldsa_core::streaming::row_steps::response_row_reaches", 0, 1, PARAMETERS),
    ("mldsa_core::streaming::window::expand_compact", 0, 1, REFUSED_A),
    ("mldsa_core::streaming::window::multiply_accumulate_two", 0, 1, REFUSED_A),
    ("mldsa_core::streaming::window::load_compact", 0, 1, LEFT),
    ("mldsa_core::streaming::window::store_compact", 0, 1, LEFT),
    ("mldsa_core::summing::vectors::ResponseHat::transform", 0, 1, LAYERS),
    ("mldsa_core::summing::vectors::challenge", 0, 1, LAYERS),
    ("mldsa_core::summing::vectors::matrix_product", 0, 1, LAYERS),
    ("mldsa_core::summing::vectors::ntt", 0, 1, LAYERS),
    ("mldsa_core::summing::vectors::product_difference", 0, 1, LAYERS),
    ("mldsa_core::summing::vectors::respond", 0, 2, LAYERS),
    ("mldsa_lowmem::matrix::eta_group", 0, 2, LEFT),
    ("mldsa_lowmem::matrix::z_group", 0, 2, LEFT),
    ("mldsa_lowmem::matrix::mask_entry_sampled", 0, 1, REFUSED_A),
    ("mldsa_lowmem::matrix::secret_entry", 0, 1, REFUSED_A),
    ("mldsa_lowmem::keygen", 0, 2, POSITION),
    ("mldsa_lowmem::attempt", 0, 2, PARAMETERS),
    ("mldsa_lowmem::matrix::mask_row", 0, 2, PARAMETERS),
    ("mldsa_lowmem::signer::sign_with", 0, 1, "whether there is a public key"),
    ("mldsa_lowmem::signer::MlDsaSigner::sign_mu", 0, 1, "whether there is a public key"),
];
/// Functions that handle secrets and divide or compare bytes that are public: how
/// often, and what.
#[rustfmt::skip] // One line for each entry.
const PUBLIC_VALUES: &[(&str, Kind, usize, &str)] = &[
    ("mldsa_core::backend::avx2::pack", Kind::Division, 1, LENGTHS),
    ("mldsa_core::backend::avx2::rows", Kind::Division, 1, LENGTHS),
    ("mldsa_core::backend::avx2::secret_rows", Kind::Division, 1, LENGTHS),
    ("mldsa_core::backend::avx2::w1", Kind::Division, 1, LENGTHS),
    ("mldsa_core::backend::avx512::secret_rows", Kind::Division, 1, LENGTHS),
    ("mldsa_core::memory::secret::zeroize_stack", Kind::Division, 1, LENGTHS),
    ("mldsa_core::scheme::sign::sign_internal", Kind::Division, 1, LENGTHS),
    ("mladsa_aggregate::round::signer", Kind::Compare, 3, "fingerprints and public keys"),
    ("mladsa_aggregate::keys::one_time_key", Kind::Division, 1, LENGTHS),
    ("mladsa_aggregate::keys::nonce::sample", Kind::Division, 7, LENGTHS),
    ("mldsa_core::backend::avx512::keccak_x1", Kind::Division, 11, "numbers of lanes, at opt-level z"),
    ("mldsa_core::backend::avx512::product", Kind::Division, 1, LENGTHS),
    ("mldsa_core::backend::avx512::w1", Kind::Division, 1, LENGTHS),
    ("mldsa_core::backend::portable::commit_row", Kind::Division, 1, LENGTHS),
    ("mldsa_core::coding::pack", Kind::Division, 2, LENGTHS),
    ("mldsa_core::cost::Operations::hash_message", Kind::Division, 1, LENGTHS),
    ("mldsa_core::sample::expand_a", Kind::Division, 2, "the index of an entry of A"),
    ("mldsa_core::sample::expand_mask_poly", Kind::Division, 2, LENGTHS),
    ("mldsa_core::sample::rej_bounded_packed", Kind::Division, 2, LENGTHS),
    ("mldsa_core::sample::rej_ntt_poly_each_vartime", Kind::Division, 2, LENGTHS),
    ("mldsa_core::scheme::keygen", Kind::Division, 2, LENGTHS),
    ("mldsa_core::scheme::sign::commit", Kind::Division, 2, LENGTHS),
    ("mldsa_core::scheme::sign::respond_z", Kind::Division, 2, LENGTHS),
    ("mldsa_core::scheme::sign::sign_expanded", Kind::Division, 2, LENGTHS),
    ("mldsa_core::streaming::row_steps", Kind::Division, 5, "lengths of rows; places of the challenge of an attempt"),
    ("mldsa_core::streaming::sparse::code_words", Kind::Division, 1, LENGTHS),
    ("mldsa_core::streaming::window", Kind::Division, 2, LENGTHS),
    ("mldsa_core::summing::vectors", Kind::Division, 2, LENGTHS),
    ("mldsa_lowmem::attempt", Kind::Division, 4, LENGTHS),
    ("mldsa_lowmem::key::check_range", Kind::Division, 4, LENGTHS),
    ("mldsa_lowmem::keygen::sample_secrets", Kind::Division, 4, LENGTHS),
    ("mldsa_lowmem::matrix", Kind::Division, 2, LENGTHS),
];
/// Differences of single compilers: release, function, kind, number, reason.
#[rustfmt::skip] // One line for each entry.
const OF_COMPILERS: &[(&str, &str, Kind, usize, &str)] = &[
    ("1.89.0", "mldsa_core::hash::keccak::keccak_f1600_compact", Kind::Loaded, 6, "at opt-level 3 six steps of rho are unrolled in part: which half of a word a rotation by a number of the standard begins with"),
    ("1.89.0", "mldsa_core::summing::interval::CentredInterval::new", Kind::Division, 1, "2^32 by the public width of the interval, a function of its own there"),
];
const SELF_CHECK: &str = "the verdict of self-verification, which the caller gets";
const PLACES: &str = "places of the challenge of an attempt, which are public";
const REFUSED: &str = "ExpandS: which half-bytes were refused";
const LENGTHS: &str = "lengths of rows and layers";
const POSITION: &str = "the position in a sponge's block, which follows from lengths";
const LEFT: &str = "how much of a row is left";
const LAYERS: &str = "layers of the transform, which RV32 counts from a table";
const REFUSED_A: &str = "refused candidates of A, which is public";
const PARAMETERS: &str = "the parameter set";

/// The greatest number of jumps of a kind that function `name` may have under `compiler`.
pub(super) fn allowed(
    name: &str,
    kind: Kind,
    compiler: &str,
    used: &mut BTreeSet<&'static str>,
) -> usize {
    if name.contains(COMPARING) {
        let public = matches!(kind, Kind::Loaded | Kind::Division);
        return if public { usize::MAX } else { 0 };
    }
    let ours = name.contains("mldsa_") || name.contains("mladsa_");
    // Functions of the standard library are made for our types here. They run our
    // code where they are given a closure; without one they see lengths and addresses.
    let foreign = !is_ours(name);
    if !ours || (foreign && !name.contains("{closure")) {
        return if matches!(kind, Kind::Loaded | Kind::Division)
            || name.contains("mladsa_aggregate")
            || !ours
        {
            usize::MAX
        } else {
            0
        };
    }
    let matches = |pattern: &str| match foreign {
        true => is_of(name, pattern),
        false => name.strip_prefix(pattern).is_some_and(is_after_name),
    };
    if foreign || !NOT_PUBLIC.iter().any(|pattern| matches(pattern)) {
        for (pattern, _) in PUBLIC {
            if matches(pattern) {
                used.insert(pattern);
                return usize::MAX;
            }
        }
    }
    let mut most = 0;
    for (pattern, sign, loaded, _) in SECRET {
        if matches(pattern) {
            used.insert(pattern);
            most = most.max(match kind {
                Kind::Sign => *sign,
                Kind::Loaded => *loaded,
                Kind::Compare | Kind::Division => 0,
            });
        }
    }
    for (release, pattern, of, count, _) in OF_COMPILERS {
        if *release == compiler && kind == *of && matches(pattern) {
            used.insert(pattern);
            most = most.max(*count);
        }
    }
    for (pattern, of, count, _) in PUBLIC_VALUES {
        if kind == *of && matches(pattern) {
            used.insert(pattern);
            most = most.max(*count);
        }
    }
    most
}

/// A crate whose functions compare our secrets. Those of `zeroize` only write.
const COMPARING: &str = "subtle::";

/// Whether a name is one of our crates'.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with("mldsa_") || name.starts_with("mladsa_")
}

/// Entries that no build needed.
pub(super) fn unused(compiler: &str, used: &BTreeSet<&'static str>) -> Vec<String> {
    let patterns = PUBLIC.iter().map(|entry| entry.0);
    let of_this = OF_COMPILERS.iter().filter(|entry| entry.0 == compiler);
    patterns
        .chain(of_this.map(|entry| entry.1))
        .chain(SECRET.iter().map(|entry| entry.0))
        .chain(PUBLIC_VALUES.iter().map(|entry| entry.0))
        .filter(|pattern| !used.contains(pattern))
        .map(|pattern| format!("`{pattern}` is listed, but no build has it"))
        .collect()
}
