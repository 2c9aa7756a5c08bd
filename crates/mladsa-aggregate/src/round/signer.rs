//! A signer's two steps. What must happen once happens once because the value
//! that allows it is consumed, and across processes because the guard says so.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use mldsa_core::internals::pack::{pack_signed, w1_encode};
use mldsa_core::internals::{NttPoly, Poly, Secret, declassify, declassify_in_place, vectors};

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::message::{Message, Part};
use crate::error::Error;
use crate::guard::journal::Guard;
use crate::guard::states::Attempt;
use crate::keys::content_key::{ContentKey, pack_vec};
use crate::keys::matrix::{K, L, P, vector};
use crate::keys::member::Member;
#[cfg(feature = "transparent-commitments")]
use crate::keys::nonce::{SIGMA_BASE, derive_nonce};
use crate::keys::nonce::{derive_nonce_bound, derive_offset};
use crate::member_id::MemberId;
use crate::round::cohort::{Mode, Round};
use crate::round::combine::Response;
use crate::round::commitment::{
    COMMITMENT_LEN, Challenge, Commitment, HI_LEN, HI_POLY_LEN, Q_POLY_LEN, challenge_polynomial,
};
use crate::wire::label::ContentLabel;

impl Member {
    /// Commits to a nonce for `round`. The guard has stored the commitment when
    /// this returns; the same commitment comes out again whenever the same round
    /// is asked for, also after it was answered, and no other ever does: neither for another payload under the
    /// same base label, nor before every earlier attempt is retired.
    ///
    /// Constant time in the secrets.
    ///
    /// # Errors
    /// [`Error::UnknownMember`] outside the cohort, [`Error::CohortMismatch`] if
    /// the round has another key under this member's name,
    /// [`Error::RootsNotAgreed`] if the guard does not hold the seed to the list of
    /// roots of the round, [`Error::OneTimeViolation`], [`Error::GuardFailure`].
    pub fn commit(
        &self,
        round: &Arc<Round>,
        guard: &mut Guard,
    ) -> Result<(Pending, Message), Error> {
        let pending = Pending::derive(self, round, guard)?;
        let digest = pending.commitment.digest(round);
        guard.commit(&round.attempt(guard), &digest, &round.decided)?;
        let body = pending.commitment.as_bytes().to_vec();
        let subject = round.subject.clone();
        let message = self.seal(Part::Commitment, subject, round.mu().as_bytes(), body)?;
        Ok((pending, message))
    }

    /// Takes up a round again after a restart: for a commitment that the guard
    /// already holds. Commits to nothing.
    ///
    /// # Errors
    /// As [`Self::commit`]; [`Error::OneTimeViolation`] if the guard does not hold
    /// this commitment.
    pub fn resume(&self, round: &Arc<Round>, guard: &Guard) -> Result<Pending, Error> {
        let pending = Pending::derive(self, round, guard)?;
        guard.resume(&round.attempt(guard), &pending.commitment.digest(round))?;
        Ok(pending)
    }

    /// Answers the challenge, once. The guard has stored the answer before it is
    /// computed; a second answer to the same challenge is the same answer, to any
    /// other challenge there is none, not even after a restart.
    ///
    /// The answer is computed twice, the second time from the seed and from the
    /// challenge's hash, and compared; then it is held against commitment and key,
    /// as others will: a fault in a deterministic nonce would give the key away.
    /// Constant time in the secrets.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] if the challenge belongs to another round or does
    /// not contain this signer's own commitment, [`Error::OneTimeViolation`],
    /// [`Error::GuardFailure`], [`Error::Fault`].
    pub fn respond(
        &self,
        mut pending: Pending,
        challenge: &Challenge,
        guard: &mut Guard,
    ) -> Result<Message, Error> {
        let round = &*pending.round;
        let (at, _) = round.member(&self.id)?;
        if pending.id != self.id
            || challenge.round.mu() != round.mu()
            || challenge.round.width != round.width
            || challenge.commitments.get(at) != Some(&pending.commitment)
        {
            return Err(Error::CohortMismatch);
        }
        if guard.fingerprint() != self.seed.fingerprint() {
            return Err(Error::GuardFailure);
        }
        let digest = pending.commitment.digest(round);
        guard.respond(&round.attempt(guard), &digest, &challenge.c_tilde)?;
        let matrix = round.matrix();
        let answer = |c_hat: &NttPoly, s1_hat: &[NttPoly], y: &mut [Poly]| {
            vectors::respond(matrix.backend(), c_hat, s1_hat, y);
        };
        let y = pending.y.expose_mut();
        answer(&challenge.c_hat, pending.s1_hat.expose(), y);
        let c_hat = challenge_polynomial(round, &challenge.c_tilde);
        let mut again = nonce(self, round)?;
        let s1_hat = ContentKey::derive_s1(matrix, &self.seed, &round.content);
        answer(&c_hat, s1_hat.expose(), again.expose_mut());
        let z = pending.y.expose();
        let same = z.iter().zip(again.expose()).fold(0, |sum, (a, b)| {
            a.0.iter().zip(&b.0).fold(sum, |sum, (a, b)| sum | (a ^ b))
        });
        if declassify(same != 0, "verdict of the comparison before release") {
            return Err(Error::Fault);
        }
        let response = Response::pack(round, z)?;
        let mut z = vector(L);
        response.unpack(&mut z);
        if !challenge.is_answered_by(at, &c_hat, &z) {
            return Err(Error::Fault);
        }
        let body = response.as_bytes().to_vec();
        let subject = round.subject.clone();
        self.seal(Part::Response, subject, &challenge.c_tilde, body)
    }

    /// Gives the attempt of `label` up, and all before it: from now on nothing is
    /// released for them. For every attempt that failed or was abandoned.
    ///
    /// # Errors
    /// [`Error::EpochConflict`] if the seed serves another plan in this epoch,
    /// [`Error::GuardFailure`].
    pub fn retire(
        &self,
        agreed: &AgreedRoots,
        label: &ContentLabel,
        guard: &mut Guard,
    ) -> Result<(), Error> {
        if guard.fingerprint() != self.seed.fingerprint() {
            return Err(Error::GuardFailure);
        }
        let epoch = agreed.plan().epoch();
        let base = agreed.registry().scope(epoch).label(label.base());
        let attempt = Attempt {
            epoch,
            key: guard.decision_key(&base),
            number: label.attempt(),
        };
        guard.retire(&attempt)
    }
}

/// A signer that has committed and not responded. Holds the nonce and the content
/// key; wiped on drop, consumed by [`Member::respond`]: a second use does not
/// compile.
///
/// ```compile_fail,E0382
/// # use mladsa_aggregate::*;
/// fn twice(member: &Member, pending: Pending, challenge: &Challenge, guard: &mut Guard) {
///     let _ = member.respond(pending, challenge, guard);
///     let _ = member.respond(pending, challenge, guard);
/// }
/// ```
pub struct Pending {
    id: MemberId,
    round: Arc<Round>,
    commitment: Commitment,
    y: Secret<Box<[Poly]>>,
    s1_hat: Secret<Box<[NttPoly]>>,
}

impl Pending {
    /// Everything that is determined by the seed and the round.
    fn derive(member: &Member, round: &Arc<Round>, guard: &Guard) -> Result<Self, Error> {
        if guard.fingerprint() != member.seed.fingerprint() {
            return Err(Error::GuardFailure);
        }
        guard.has_agreed(round.subject.epoch, &round.subject.roots)?;
        let matrix = round.matrix();
        let (_, own) = round.member(&member.id)?;
        let key = ContentKey::derive(matrix, &member.seed, &round.content);
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
                let mut q = derive_offset(&member.seed, &round.content, mu, round.width);
                let mut hi = Secret::new(vector(K));
                vectors::split_commitment(P, w.expose(), hi.expose_mut(), q.expose_mut());
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
            id: member.id,
            round: Arc::clone(round),
            commitment: Commitment::new(bytes),
            y,
            s1_hat: key.s1_hat,
        })
    }
}

/// The member's nonce for `round`.
fn nonce(member: &Member, round: &Round) -> Result<Secret<Box<[Poly]>>, Error> {
    let content = &round.content;
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

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({}, ..)", self.id)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::mem;

    use mldsa_core::Randomness;

    use super::*;
    use crate::epoch::pinned::PinnedRoots;
    use crate::epoch::pins::InMemoryPinsForTests;
    use crate::epoch::plan::EpochPlan;
    use crate::epoch::registry::Registry;
    use crate::keys::seed::MasterSeed;
    use crate::round::cohort::{Decision, Kind};
    use crate::round::commitment::CommitmentSet;
    use crate::wire::label::BaseLabel;

    /// A member that is alone in its committee, with a round.
    fn alone() -> (Member, Guard, Arc<Round>) {
        let id = MemberId::new(b"member").unwrap();
        let member = Member::new(id, MasterSeed::from_bytes(&[1; 32]), &[2; 32]);
        let mut guard = Guard::in_memory_for_tests(&member.seed).unwrap();
        let entry = member.register(Randomness::Deterministic).unwrap();
        let registry = Registry::new(&[3; 32], [entry]).unwrap();
        let label = BaseLabel::new(b"x").unwrap();
        let plan = EpochPlan::new(1, vec![label.clone()]).unwrap();
        let tree = member.epoch_tree(&registry, &plan).unwrap();
        let root = member.announce(&tree, &mut guard, Randomness::Deterministic);
        let mut pins = InMemoryPinsForTests::default();
        let pinned = PinnedRoots::pin(&mut pins, &registry, &plan, &[root.unwrap()]).unwrap();
        let word = member.acknowledge(&pinned, &mut guard, Randomness::Deterministic);
        let agreed = AgreedRoots::new(&pinned, &[word.unwrap()]).unwrap();
        let content = label.attempt(0).unwrap();
        let opening = member.open(&agreed, &tree, &content, &guard).unwrap();
        let key = agreed.authenticate(&opening).unwrap();
        let decision = Decision {
            ctx: b"",
            label: &label,
            kind: Kind::Decision,
            payload: b"payload",
        };
        let round = Round::new(&agreed, &decision, 0, [key]).unwrap();
        (member, guard, round)
    }

    /// Both computations of an answer used the one transformed challenge: a fault in
    /// it passed the comparison, and answers under two challenges give the key away.
    #[test]
    fn a_fault_in_the_challenge_is_noticed() {
        let (member, mut guard, round) = alone();
        let (pending, message) = member.commit(&round, &mut guard).unwrap();
        let mut set = CommitmentSet::new(&round);
        set.add(&message).unwrap();
        let mut challenge = set.challenge().unwrap();
        let faulty = Arc::get_mut(&mut challenge).unwrap();
        faulty.c_hat.0[77] ^= 1;
        let refused = member.respond(pending, &challenge, &mut guard);
        assert_eq!(refused.unwrap_err(), Error::Fault);
        // Without the fault, the same answer is still to be had.
        let whole = set.challenge().unwrap();
        let pending = member.resume(&round, &guard).unwrap();
        assert!(member.respond(pending, &whole, &mut guard).is_ok());
        // A key that is not the one that was opened: z belongs to nothing.
        let mut pending = member.resume(&round, &guard).unwrap();
        let other = MasterSeed::from_bytes(&[9; 32]);
        let s1_hat = ContentKey::derive_s1(round.matrix(), &other, &round.content);
        drop(mem::replace(&mut pending.s1_hat, s1_hat));
        let refused = member.respond(pending, &whole, &mut guard);
        assert_eq!(refused.unwrap_err(), Error::Fault);
    }

    /// A fault that both computations share: a commitment that is not to the nonce.
    #[test]
    fn a_fault_in_the_commitment_is_noticed() {
        let (member, mut guard, round) = alone();
        let mut pending = Pending::derive(&member, &round, &guard).unwrap();
        let mut bytes: [u8; COMMITMENT_LEN] = pending.commitment.as_bytes().try_into().unwrap();
        bytes[77] ^= 1;
        pending.commitment = Commitment::new(bytes);
        let digest = pending.commitment.digest(&round);
        let attempt = round.attempt(&guard);
        guard.commit(&attempt, &digest, &round.decided).unwrap();
        let (subject, mu) = (round.subject.clone(), round.mu().as_bytes());
        let message = member.seal(Part::Commitment, subject, mu, bytes.to_vec());
        let mut set = CommitmentSet::new(&round);
        set.add(&message.unwrap()).unwrap();
        let challenge = set.challenge().unwrap();
        let refused = member.respond(pending, &challenge, &mut guard);
        assert_eq!(refused.unwrap_err(), Error::Fault);
    }
}
