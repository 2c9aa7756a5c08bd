//! Rounds with open commitments (the "base mode" of the scheme), by one party that holds all
//! secrets: the published derivations, for known answers, interoperability tests and measurements.
//!
//! **Security: every observer of such a round can recover the one-time key of every signer.** The
//! crate has no interactive round of this mode, no journal and no verifier for it.

use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::{Poly, Secret, vectors};
use mldsa_core::{Backend, Context, MlDsa87, MuBuilder, Signature, VerifyingKey};

use crate::committee::merkle;
use crate::error::{EncodingError, RoundError};
use crate::keys::label::Label;
use crate::keys::matrix::{K, L, Matrix, P, encode_key, ntt_vector, vector};
use crate::keys::nonce::{SIGMA_BASE, add_nonces, derive_nonce};
use crate::keys::one_time_key::{OneTimePublicKey, derive_each, full_t, key_seed, pack_vec};
use crate::keys::seed::MasterSeed;
use crate::round::combine::complete;
use crate::round::commitment::ChallengeValue;

/// Number of attempts at a message.
const ATTEMPTS: u8 = 64;

/// A group of master seeds with the matrix that they share.
pub struct OneParty {
    matrix: Matrix,
    seeds: Vec<MasterSeed>,
}

/// A signature of a group, with its key and the number of the attempt that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenSignature {
    /// The aggregate key.
    pub key: VerifyingKey<MlDsa87>,
    /// The ordinary ML-DSA-87 signature.
    pub signature: Signature<MlDsa87>,
    /// The attempt, from 0.
    pub attempt: u8,
}

impl OneParty {
    /// Creates a group of seeds, at least one and at most 1,024, with the public seed of the
    /// matrix.
    ///
    /// # Errors
    /// [`EncodingError::Range`] for another number of seeds.
    pub fn new(rho: &[u8; 32], seeds: Vec<MasterSeed>) -> Result<Self, EncodingError> {
        let matrix = Matrix::expand(rho);
        let valid = (1..=1024).contains(&seeds.len());
        valid
            .then_some(Self { matrix, seeds })
            .ok_or(EncodingError::Range)
    }

    /// Signs with all seeds: the same bytes as the interactive protocol with open commitments. All
    /// steps are linear, so one product with A serves for all commitments and one product with the
    /// challenge for all responses. Seeds are hashed eight at a time. Attempt a uses the one-time
    /// keys of `label || a`. Rejected attempts are repeated.
    ///
    /// # Errors
    /// [`RoundError::Encoding`] for a context above 255 bytes; an error with
    /// [`RoundError::is_miss`] if all 64 attempts missed.
    pub fn sign(
        &self,
        label: &[u8],
        context: &[u8],
        message: &[u8],
    ) -> Result<OpenSignature, RoundError> {
        let context = Context::new(context).map_err(|_| EncodingError::Length)?;
        let seeds: Vec<&MasterSeed> = self.seeds.iter().collect();
        let mut result = Err(RoundError::TooManyHints);
        for attempt in 0..ATTEMPTS {
            let label = Label::new(label).with_attempt(attempt);
            let s = self.summed_secrets(&label);
            let (mut s1_hat, mut t) = (Secret::new(ntt_vector(L)), vector(K));
            full_t(&self.matrix, s.expose(), s1_hat.expose_mut(), &mut t);
            let key = encode_key(&self.matrix, &t)?;
            let mut mu = MuBuilder::from_tr(key.tr(), context);
            mu.update(message);
            let mu = mu.finish();
            let (mut y, mut w) = (Secret::new(vector(L)), vector(K));
            add_nonces(&seeds, &label, SIGMA_BASE, y.expose_mut());
            self.matrix.apply(y.expose(), &mut w);
            let challenge = ChallengeValue::new(&self.matrix, &mu, w);
            // |c sum(s1)| <= 1,024 beta < q / 2: no reduction modulo q occurs.
            let (backend, z) = (self.matrix.backend, y.expose_mut());
            vectors::respond(backend, &challenge.c_hat, s1_hat.expose(), z);
            result = complete(&self.matrix, &key, &mu, &challenge, z);
            match result {
                Err(error) if error.is_miss() => {}
                _ => {
                    return result.map(|signature| OpenSignature {
                        key,
                        signature,
                        attempt,
                    });
                }
            }
        }
        result.and(Err(RoundError::TooManyHints))
    }

    /// Computes the aggregate key of the one-time keys of a label without an attempt.
    ///
    /// # Errors
    /// None for a valid group.
    pub fn key(&self, label: &[u8]) -> Result<VerifyingKey<MlDsa87>, EncodingError> {
        let s = self.summed_secrets(&Label::new(label));
        let (mut s1_hat, mut t) = (Secret::new(ntt_vector(L)), vector(K));
        full_t(&self.matrix, s.expose(), s1_hat.expose_mut(), &mut t);
        encode_key(&self.matrix, &t)
    }

    /// Computes the sums over the integers, far below q.
    fn summed_secrets(&self, label: &Label) -> Secret<alloc::boxed::Box<[Poly]>> {
        let mut s = Secret::new(vector(L + K));
        let keys: Vec<_> = self.seeds.iter().map(|seed| (seed, label)).collect();
        derive_each(&self.matrix, &keys, |secrets, _| {
            vectors::add_integers(s.expose_mut(), secrets);
        });
        s
    }
}

impl fmt::Debug for OneParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OneParty({} seeds)", self.seeds.len())
    }
}

/// Computes ExpandS and ContentKeyDerive of a label: `vec(s1) || vec(s2)`, 11,520 bytes, **which is
/// the secret key**, and `vec(t)`, 6,144 bytes.
pub fn one_time_key(rho: &[u8; 32], seed: &MasterSeed, label: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (matrix, label) = (Matrix::expand(rho), Label::new(label));
    let mut s = vector(L + K);
    vectors::expand_s(
        Backend::detect(),
        P,
        key_seed(seed, &label).expose(),
        &mut s,
    );
    let public_key = OneTimePublicKey::derive(&matrix, seed, &label);
    (canonical(&s), public_key.as_bytes().to_vec())
}

/// Computes DeriveNonce of a label with sigma = 1,440: `vec(y)`, 5,376 bytes, **secret**.
pub fn nonce(seed: &MasterSeed, label: &[u8]) -> Vec<u8> {
    canonical(derive_nonce(seed, &Label::new(label), SIGMA_BASE).expose())
}

/// Computes the Merkle root over `Leaf(bytes)` of each item; `None` without items.
pub fn merkle_root(items: &[&[u8]]) -> Option<[u8; 32]> {
    let leaves: Vec<_> = items.iter().map(|item| merkle::raw_leaf(item)).collect();
    merkle::root(&leaves)
}

/// Computes the encoding `vec` of polynomials with coefficients of either sign.
fn canonical(polys: &[Poly]) -> Vec<u8> {
    let mut reduced = vector(polys.len());
    vectors::add(&mut reduced, polys);
    let mut bytes = alloc::vec![0; 768 * polys.len()];
    pack_vec(&reduced, &mut bytes);
    bytes
}
