//! A signer's two steps. What must happen once happens once because the value
//! that allows it is consumed, and across processes because the guard says so.

use alloc::boxed::Box;
use core::fmt;

use mldsa_core::hazmat::pack::{pack_signed, w1_encode};
use mldsa_core::hazmat::{NttPoly, Poly, Secret, declassify, declassify_in_place, linear};

use crate::error::Error;
use crate::guard::{self, GuardKey, OneTimeGuard};
use crate::keys::content_key::{ContentKey, pack_vec};
use crate::keys::matrix::{K, P, vector};
use crate::keys::member::Member;
#[cfg(feature = "transparent-commitments")]
use crate::keys::nonce::{SIGMA_BASE, derive_nonce};
use crate::keys::nonce::{derive_nonce_bound, derive_offset};
use crate::round::cohort::{Mode, Round};
use crate::round::combine::Response;
use crate::round::commitment::{
    COMMITMENT_LEN, Challenge, Commitment, HI_LEN, HI_POLY_LEN, Q_POLY_LEN,
};
use crate::wire::label::ContentLabel;

impl Member {
    /// Commits to a nonce for `round`. The guard has stored the commitment when
    /// this returns; the same commitment comes out again whenever the same round
    /// is asked for, and no other ever does.
    ///
    /// Constant time in the secrets.
    ///
    /// # Errors
    /// [`Error::UnknownMember`] outside the cohort, [`Error::CohortMismatch`] if
    /// the round has another key under this member's name,
    /// [`Error::OneTimeViolation`], [`Error::GuardFailure`].
    pub fn commit<'r, G: OneTimeGuard + ?Sized>(
        &'r self,
        round: &'r Round,
        guard: &mut G,
    ) -> Result<(Pending<'r>, Commitment), Error> {
        let pending = Pending::derive(self, round)?;
        guard::commit(
            guard,
            &pending.guard_key(),
            &pending.commitment.digest(round),
        )?;
        let commitment = pending.commitment.clone();
        Ok((pending, commitment))
    }

    /// Takes up a round again after a restart: for a commitment that the guard
    /// already holds. Commits to nothing.
    ///
    /// # Errors
    /// As [`Self::commit`]; [`Error::OneTimeViolation`] if the guard does not hold
    /// this commitment.
    pub fn resume<'r, G: OneTimeGuard + ?Sized>(
        &'r self,
        round: &'r Round,
        guard: &mut G,
    ) -> Result<Pending<'r>, Error> {
        let pending = Pending::derive(self, round)?;
        guard::resume(
            guard,
            &pending.guard_key(),
            &pending.commitment.digest(round),
        )?;
        Ok(pending)
    }

    /// Gives `label` up: from now on nothing is released for it. For every attempt
    /// that failed or was abandoned.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    pub fn retire<G: OneTimeGuard + ?Sized>(
        &self,
        label: &ContentLabel,
        guard: &mut G,
    ) -> Result<(), Error> {
        guard::retire(guard, &GuardKey::new(&self.seed, label))
    }
}

/// A signer that has committed and not responded. Holds the nonce and the content
/// key; wiped on drop, consumed by [`Self::respond`]: a second use does not compile.
///
/// ```compile_fail,E0382
/// # use mladsa_aggregate::*;
/// fn twice(pending: Pending<'_>, challenge: &Challenge<'_>, guard: &mut dyn OneTimeGuard) {
///     let _ = pending.respond(challenge, guard);
///     let _ = pending.respond(challenge, guard);
/// }
/// ```
pub struct Pending<'r> {
    member: &'r Member,
    round: &'r Round,
    commitment: Commitment,
    y: Secret<Box<[Poly]>>,
    s1_hat: Secret<Box<[NttPoly]>>,
}

impl<'r> Pending<'r> {
    /// Everything that is determined by the seed and the round.
    fn derive(member: &'r Member, round: &'r Round) -> Result<Self, Error> {
        let matrix = round.matrix();
        let (_, own) = round.member(&member.id)?;
        let content = round.label.as_bytes();
        let key = ContentKey::derive(matrix, &member.seed, content);
        if key.public_key != own.public_key {
            return Err(Error::CohortMismatch);
        }
        let y = nonce(member, round)?;
        let mut bytes = [0; COMMITMENT_LEN];
        let mut w = Secret::new(vector(K));
        matrix.apply(y.expose(), w.expose_mut());
        match round.mode {
            Mode::Base => pack_vec(w.expose(), &mut bytes),
            Mode::Offset => {
                let mu = round.mu().as_bytes();
                let mut q = derive_offset(&member.seed, content, mu, round.width);
                let mut hi = Secret::new(vector(K));
                linear::split_commitment(P, w.expose(), hi.expose_mut(), q.expose_mut());
                let (hi_bytes, q_bytes) = bytes.split_at_mut(HI_LEN);
                for (hi, bytes) in hi.expose().iter().zip(hi_bytes.chunks_mut(HI_POLY_LEN)) {
                    w1_encode(P.gamma2, hi, bytes, |a| a);
                }
                for (q, bytes) in q.expose().iter().zip(q_bytes.chunks_mut(Q_POLY_LEN)) {
                    pack_signed::<20>(q, bytes);
                }
            }
        }
        declassify_in_place(&mut bytes, "the published commitment");
        Ok(Self {
            member,
            round,
            commitment: Commitment::new(bytes),
            y,
            s1_hat: key.s1_hat,
        })
    }

    fn guard_key(&self) -> GuardKey {
        GuardKey::new(&self.member.seed, &self.round.label)
    }

    /// Answers the challenge, once. The guard has stored the answer before it is
    /// computed; a second answer to the same challenge is the same answer, to any
    /// other challenge there is none, not even after a restart.
    ///
    /// The answer is computed twice, the second time from the seed, and compared:
    /// a fault in a deterministic nonce would give the key away. Constant time in
    /// the secrets.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] if the challenge belongs to another round or does
    /// not contain this signer's own commitment, [`Error::OneTimeViolation`],
    /// [`Error::GuardFailure`], [`Error::Fault`].
    pub fn respond<G: OneTimeGuard + ?Sized>(
        mut self,
        challenge: &Challenge<'_>,
        guard: &mut G,
    ) -> Result<Response, Error> {
        let round = self.round;
        let (at, _) = challenge.round.member(&self.member.id)?;
        if challenge.round.mu() != round.mu()
            || challenge.round.width != round.width
            || challenge.commitments.get(at) != Some(&self.commitment)
        {
            return Err(Error::CohortMismatch);
        }
        guard::respond(
            guard,
            &self.guard_key(),
            &self.commitment.digest(round),
            &challenge.c_tilde,
        )?;
        let (member, matrix) = (self.member, round.matrix());
        let answer = |s1_hat: &[NttPoly], y: &mut [Poly]| {
            linear::respond(matrix.backend(), &challenge.c_hat, s1_hat, y);
        };
        answer(self.s1_hat.expose(), self.y.expose_mut());
        let mut again = nonce(member, round)?;
        let s1_hat = ContentKey::derive_s1(matrix, &member.seed, round.label.as_bytes());
        answer(s1_hat.expose(), again.expose_mut());
        let z = self.y.expose();
        let same = z.iter().zip(again.expose()).fold(0, |sum, (a, b)| {
            a.0.iter().zip(&b.0).fold(sum, |sum, (a, b)| sum | (a ^ b))
        });
        if declassify(same != 0, "verdict of the comparison before release") {
            return Err(Error::Fault);
        }
        Response::pack(round, z)
    }
}

/// The member's nonce for `round`.
fn nonce(member: &Member, round: &Round) -> Result<Secret<Box<[Poly]>>, Error> {
    let content = round.label.as_bytes();
    match round.mode {
        #[cfg(feature = "transparent-commitments")]
        Mode::Base => Ok(derive_nonce(&member.seed, content, SIGMA_BASE)),
        #[cfg(not(feature = "transparent-commitments"))]
        Mode::Base => Err(Error::ModeRefused),
        Mode::Offset => {
            let sigma = round.mode.sigma() as u32;
            let mu = round.mu().as_bytes();
            Ok(derive_nonce_bound(&member.seed, content, mu, sigma))
        }
    }
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({}, ..)", self.member.id)
    }
}
