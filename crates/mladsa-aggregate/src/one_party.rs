//! A whole cohort in one process: for simulations, tests and measurements.

use alloc::vec::Vec;

use mldsa_core::hazmat::{NttPoly, Poly, Secret, linear};

use crate::aggregate::Aggregate;
use crate::base::Gate;
use crate::combine::complete;
use crate::commitment::Challenge;
use crate::content_key::ContentKey;
use crate::epoch::AuthenticatedShare;
use crate::error::Error;
use crate::label::MAX_ATTEMPTS;
use crate::mask::{SIGMA_BASE, derive_nonce};
use crate::matrix::{K, L, Matrix, ntt_vector, vector};
use crate::registry::Member;
use crate::round::{Decision, Kind, Round};

impl Gate {
    /// What [`Member::commit`], [`Pending::respond`](crate::Pending::respond) and
    /// [`Combiner::finish`](crate::Combiner::finish) come to when one party holds
    /// all members' secrets, attempt after attempt: the same bytes. Because
    /// everything is linear, one product with A serves for all commitments and one
    /// product with the challenge for all responses; no single commitment or
    /// response ever exists, and no guard is asked.
    ///
    /// # Errors
    /// [`Error::AttemptsExhausted`], and those of [`Gate::round`].
    pub fn aggregate_one_party(
        &self,
        members: &[Member],
        ctx: &[u8],
        kind: Kind,
        payload: &[u8],
    ) -> Result<Aggregate, Error> {
        for attempt in 0..MAX_ATTEMPTS {
            let label = self.label(ctx, payload, attempt)?;
            let matrix = self.registry().matrix();
            let mut s1_hat = Secret::new(ntt_vector(L));
            let mut y = Secret::new(vector(L));
            let mut shares = Vec::with_capacity(members.len());
            for member in members {
                let key = ContentKey::derive(matrix, &member.seed, label.as_bytes());
                linear::add_ntt(s1_hat.expose_mut(), key.s1_hat.expose());
                let nonce = derive_nonce(&member.seed, label.as_bytes(), SIGMA_BASE);
                linear::add_integers(y.expose_mut(), nonce.expose());
                shares.push(AuthenticatedShare {
                    id: member.id,
                    label: label.clone(),
                    leaf: key.share.leaf(member.id.as_bytes(), label.as_bytes()),
                    share: key.share,
                    source: self.source(),
                });
            }
            let decision = Decision {
                ctx,
                label: &label,
                kind,
                payload,
            };
            let round = self.round(&decision, shares)?;
            match finish(&round, matrix, s1_hat.expose(), y.expose_mut()) {
                Err(Error::Retry(_)) => {}
                result => return result,
            }
        }
        Err(Error::AttemptsExhausted)
    }
}

fn finish(
    round: &Round,
    matrix: &Matrix,
    s1_hat: &[NttPoly],
    y: &mut [Poly],
) -> Result<Aggregate, Error> {
    let mut w = vector(K);
    matrix.apply(y, &mut w);
    let challenge = Challenge::new(round, w);
    // |c sum(s1)| <= 1,024 beta < q / 2: still the integer that it stands for.
    linear::respond(matrix.backend(), &challenge.c_hat, s1_hat, y);
    complete(&challenge, y)
}
