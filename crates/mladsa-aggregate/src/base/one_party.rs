//! A whole cohort in one process: for simulations, tests and measurements.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::internals::{NttPoly, Poly, Secret, vectors};

use crate::base::gate::Gate;
use crate::error::Error;
use crate::keys::content_key::derive_each;
use crate::keys::matrix::{K, L, Matrix, ntt_vector, vector};
use crate::keys::member::Member;
use crate::keys::nonce::{SIGMA_BASE, add_nonces};
use crate::keys::seed::MasterSeed;
use crate::round::aggregate::Aggregate;
use crate::round::cohort::{Decision, Round};
use crate::round::combine::complete;
use crate::round::commitment::Challenge;
use crate::wire::label::MAX_ATTEMPTS;

impl Gate {
    /// What [`Member::commit`], [`Member::respond`] and
    /// [`Combiner::finish`](crate::Combiner::finish) come to when one party holds
    /// all members' secrets, attempt after attempt: the same bytes. Because
    /// everything is linear, one product with A serves for all commitments and one
    /// product with the challenge for all responses; no single commitment or
    /// response ever exists, and no guard is asked. Signers are hashed eight at a
    /// time.
    ///
    /// # Errors
    /// [`Error::AttemptsExhausted`], and those of [`Gate::round`].
    pub fn aggregate_one_party(
        &self,
        members: &[Member],
        decision: &Decision<'_>,
    ) -> Result<Aggregate, Error> {
        let matrix = self.registry().matrix();
        let seeds: Vec<&MasterSeed> = members.iter().map(|member| &member.seed).collect();
        for attempt in 0..MAX_ATTEMPTS {
            let label = self.label(decision, attempt)?;
            let content = self.epoch_label(&label);
            let keys: Vec<_> = seeds.iter().map(|seed| (*seed, &content)).collect();
            let mut s1_hat = Secret::new(ntt_vector(L));
            let mut public_keys = Vec::with_capacity(members.len());
            derive_each(matrix, &keys, |s1, public_key| {
                vectors::add_ntt(s1_hat.expose_mut(), s1);
                public_keys.push(public_key);
            });
            let mut y = Secret::new(vector(L));
            add_nonces(&seeds, &content, SIGMA_BASE, y.expose_mut());
            let public_keys = self.own_keys(&label, members.iter().map(Member::id), public_keys);
            let round = self.round(decision, attempt, public_keys)?;
            match finish(&round, matrix, s1_hat.expose(), y.expose_mut()) {
                Err(Error::Retry(_)) => {}
                result => return result,
            }
        }
        Err(Error::AttemptsExhausted)
    }
}

fn finish(
    round: &Arc<Round>,
    matrix: &Matrix,
    s1_hat: &[NttPoly],
    y: &mut [Poly],
) -> Result<Aggregate, Error> {
    let mut w = vector(K);
    matrix.apply(y, &mut w);
    let challenge = Challenge::new(round, w);
    // |c sum(s1)| <= 1,024 beta < q / 2: still the integer that it stands for.
    vectors::respond(matrix.backend(), &challenge.c_hat, s1_hat, y);
    complete(&challenge, y)
}
