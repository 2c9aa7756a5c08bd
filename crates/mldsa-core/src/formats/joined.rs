//! Joined private keys: the seed and the expanded key, one after the other, without a structure.

use crate::backend::Backend;
use crate::hash::transcript::seed_suffix;
use crate::hash::xof::Shake256;
use crate::memory::ct::{difference, is_zero};
use crate::memory::secret::declassify;
use crate::params::{ParameterSet, SEED_LEN};

/// Returns whether `bytes` are a joined private key of `P`: a seed of 32 bytes, then an expanded
/// key of `SK_LEN` bytes whose `rho` comes from that seed.
///
/// A joined key of ML-DSA-44 is as long as a public key of ML-DSA-87. A random string of that
/// length passes with a probability of 2^-256. The rest of the key is not checked. Constant time
/// in the bytes, except for the result.
#[must_use]
pub fn is_joined_private_key<P: ParameterSet>(bytes: &[u8]) -> bool {
    let Some((seed, expanded)) = bytes.split_at_checked(SEED_LEN) else {
        return false;
    };
    if expanded.len() != P::SK_LEN {
        return false;
    }
    let mut rho = [0; SEED_LEN];
    let input = [seed, &seed_suffix(&P::PARAMS)];
    Shake256::digest(Backend::detect().permutation(), &input, &mut rho);
    let differing = difference(&rho, &expanded[..SEED_LEN]);
    declassify(is_zero(differing), "verdict of a key import")
}
