//! Aggregation by one party that holds all secrets, for measurements and simulations.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::internals::{NttPoly, Poly, Secret, vectors};

use crate::error::RoundError;
use crate::keys::matrix::{K, L, Matrix, ntt_vector, vector};
use crate::keys::member::Member;
use crate::keys::nonce::{SIGMA_BASE, add_nonces};
use crate::keys::one_time_key::{derive_each, full_t};
use crate::keys::seed::MasterSeed;
use crate::open_commitments::scope::OpenCommitments;
use crate::round::aggregate::Aggregate;
use crate::round::combine::complete;
use crate::round::commitment::Challenge;
use crate::round::definition::Round;
use crate::wire::task::{MAX_ATTEMPTS, SigningTask};

impl OpenCommitments {
    /// Signs with all members' secrets in one process: the same bytes as the interactive
    /// protocol. All steps are linear, so one product with A serves for all commitments and one
    /// product with the challenge for all responses. No single commitment or response exists,
    /// and no journal is used. Seeds are hashed eight at a time.
    ///
    /// # Errors
    /// [`RoundError::AttemptsExhausted`], and those of [`Self::round`].
    pub fn aggregate_one_party(
        &self,
        members: &[Member],
        task: &SigningTask,
    ) -> Result<Aggregate, RoundError> {
        let matrix = self.registry().matrix();
        let seeds: Vec<&MasterSeed> = members.iter().map(|member| &member.seed).collect();
        for attempt in 0..MAX_ATTEMPTS {
            let id = self.attempt_id(task, attempt)?;
            let label = self.label(&id);
            let seed_labels: Vec<_> = seeds.iter().map(|seed| (*seed, &label)).collect();
            // Sums over the integers, far below q.
            let mut s = Secret::new(vector(L + K));
            let mut public_keys = Vec::with_capacity(members.len());
            derive_each(matrix, &seed_labels, |secrets, public_key| {
                vectors::add_integers(s.expose_mut(), secrets);
                public_keys.push(public_key);
            });
            let (mut s1_hat, mut t) = (Secret::new(ntt_vector(L)), vector(K));
            full_t(matrix, s.expose(), s1_hat.expose_mut(), &mut t);
            let mut y = Secret::new(vector(L));
            add_nonces(&seeds, &label, SIGMA_BASE, y.expose_mut());
            let keys = self.own_keys(&id, members.iter().map(Member::id), public_keys);
            let round = self.round_with(task, attempt, keys, Some(&t))?;
            match finish(&round, matrix, s1_hat.expose(), y.expose_mut()) {
                Err(error) if error.is_miss() => {}
                result => return result,
            }
        }
        Err(RoundError::AttemptsExhausted)
    }
}

fn finish(
    round: &Arc<Round>,
    matrix: &Matrix,
    s1_hat: &[NttPoly],
    y: &mut [Poly],
) -> Result<Aggregate, RoundError> {
    let mut w = vector(K);
    matrix.apply(y, &mut w);
    let challenge = Challenge::new(round, w);
    // |c sum(s1)| <= 1,024 beta < q / 2: no reduction modulo q occurs.
    vectors::respond(matrix.backend(), &challenge.c_hat, s1_hat, y);
    complete(&challenge, y)
}
