//! Signer steps: commit, resume, respond, retire. Within a process a step is taken once
//! because it consumes its input; across processes because the journal admits it once.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use mldsa_core::internals::pack::{pack_signed, w1_encode};
use mldsa_core::internals::{NttPoly, Poly, Secret, declassify, declassify_in_place, vectors};

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::message::{MessageKind, SignedMessage};
use crate::error::RoundError;
use crate::journal::one_time::OneTimeKeyJournal;
use crate::journal::states::Attempt;
use crate::keys::matrix::{K, L, P, vector};
use crate::keys::member::Member;
#[cfg(feature = "insecure-open-commitments")]
use crate::keys::nonce::{SIGMA_BASE, derive_nonce};
use crate::keys::nonce::{derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::{OneTimeKey, pack_vec};
use crate::member_id::MemberId;
use crate::round::combine::Response;
use crate::round::commitment::{
    Challenge, Commitment, HI_LEN, HI_POLY_LEN, Q_POLY_LEN, challenge_polynomial,
};
use crate::round::definition::{CommitmentMode, Round};
use crate::wire::task::AttemptId;

impl Member {
    /// Commits to a nonce for `round`. The journal has recorded the commitment when this
    /// returns. A repeated call for the same round returns the same commitment, also after it
    /// was answered. There is no commitment to another payload of the same task, and none
    /// before every earlier attempt is retired.
    ///
    /// Constant time in the secrets.
    ///
    /// # Errors
    /// [`RoundError::UnknownMember`] if this member is no signer, [`RoundError::OtherKey`] if
    /// the round has another key under its name; [`RoundError::Journal`] if the seed has not
    /// acknowledged the list of roots, the key was used, or the journal failed.
    pub fn commit(
        &self,
        round: &Arc<Round>,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<(PendingResponse, SignedMessage), RoundError> {
        let pending = PendingResponse::derive(self, round, journal)?;
        let digest = pending.commitment.digest(round);
        journal.commit(&round.attempt(journal), &digest, &round.task().digest())?;
        let body = pending.commitment.as_bytes().to_vec();
        let (subject, mu) = (round.subject().clone(), round.mu().as_bytes());
        let message = self.seal(MessageKind::Commitment, subject, mu, body)?;
        Ok((pending, message))
    }

    /// Resumes a round after a restart, for a commitment that the journal contains. Records
    /// nothing.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub fn resume(
        &self,
        round: &Arc<Round>,
        journal: &OneTimeKeyJournal,
    ) -> Result<PendingResponse, RoundError> {
        let pending = PendingResponse::derive(self, round, journal)?;
        let digest = pending.commitment.digest(round);
        journal.resume(&round.attempt(journal), &digest)?;
        Ok(pending)
    }

    /// Responds to the challenge. The journal has recorded the challenge before the response is
    /// computed. A repeated call with the same challenge returns the same response; a response
    /// to another challenge is never released, also not after a restart.
    ///
    /// The response is computed twice, the second time from the seed and from the hash of the
    /// challenge, and then verified against commitment and key: a fault in a deterministic
    /// nonce would reveal the key. Constant time in the secrets.
    ///
    /// # Errors
    /// [`RoundError::OtherRound`] if the challenge belongs to another round or does not contain
    /// this signer's own commitment, [`RoundError::Journal`], [`RoundError::Fault`].
    pub fn respond(
        &self,
        mut pending: PendingResponse,
        challenge: &Challenge,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<SignedMessage, RoundError> {
        let round = &*pending.round;
        let at = round.position(&self.id).ok_or(RoundError::UnknownMember)?;
        if pending.id != self.id
            || challenge.round().mu() != round.mu()
            || challenge.round().width() != round.width()
            || challenge.commitments.get(at) != Some(&pending.commitment)
        {
            return Err(RoundError::OtherRound);
        }
        journal.check_seed(&self.seed)?;
        let digest = pending.commitment.digest(round);
        journal.respond(&round.attempt(journal), &digest, &challenge.c_tilde)?;
        let matrix = round.matrix();
        let respond = |c_hat: &NttPoly, s1_hat: &[NttPoly], y: &mut [Poly]| {
            vectors::respond(matrix.backend(), c_hat, s1_hat, y);
        };
        let y = pending.y.expose_mut();
        respond(&challenge.c_hat, pending.s1_hat.expose(), y);
        let c_hat = challenge_polynomial(round, &challenge.c_tilde);
        let mut again = nonce(self, round);
        let s1_hat = OneTimeKey::derive_s1(matrix, &self.seed, round.attempt_label());
        respond(&c_hat, s1_hat.expose(), again.expose_mut());
        let z = pending.y.expose();
        let difference = z.iter().zip(again.expose()).fold(0, |sum, (a, b)| {
            a.0.iter().zip(&b.0).fold(sum, |sum, (a, b)| sum | (a ^ b))
        });
        if declassify(difference != 0, "verdict of the comparison before release") {
            return Err(RoundError::Fault);
        }
        let response = Response::pack(round, z)?;
        let mut z = vector(L);
        response.unpack(&mut z);
        if !challenge.is_answered_by(at, &c_hat, &z) {
            return Err(RoundError::Fault);
        }
        let body = response.as_bytes().to_vec();
        let subject = round.subject().clone();
        self.seal(MessageKind::Response, subject, &challenge.c_tilde, body)
    }

    /// Retires an attempt that missed or was abandoned, and all before it: nothing is released
    /// for them any more.
    ///
    /// # Errors
    /// [`RoundError::Journal`].
    pub fn retire(
        &self,
        agreed: &AgreedRoots,
        attempt: &AttemptId,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<(), RoundError> {
        journal.check_seed(&self.seed)?;
        let epoch = agreed.plan().epoch();
        let task = agreed.registry().scope(epoch).label(attempt.task());
        journal.retire(&Attempt {
            epoch,
            key: journal.task_key(&task),
            number: attempt.attempt(),
        })?;
        Ok(())
    }
}

/// State of a signer between commitment and response: nonce and one-time key. Zeroized on drop
/// and consumed by [`Member::respond`], so that a second use does not compile:
///
/// ```compile_fail,E0382
/// # use mladsa_aggregate::{*, steps::*};
/// fn twice(m: &Member, p: PendingResponse, c: &Challenge, journal: &mut OneTimeKeyJournal) {
///     let _ = m.respond(p, c, journal);
///     let _ = m.respond(p, c, journal);
/// }
/// ```
#[must_use]
pub struct PendingResponse {
    id: MemberId,
    round: Arc<Round>,
    commitment: Commitment,
    y: Secret<Box<[Poly]>>,
    s1_hat: Secret<Box<[NttPoly]>>,
}

impl PendingResponse {
    /// The state that seed and round determine.
    fn derive(
        member: &Member,
        round: &Arc<Round>,
        journal: &OneTimeKeyJournal,
    ) -> Result<Self, RoundError> {
        journal.check_seed(&member.seed)?;
        let subject = round.subject();
        journal.check_roots(subject.epoch, &subject.roots)?;
        let matrix = round.matrix();
        let at = round.position(&member.id);
        let own = at.and_then(|at| round.key(at));
        let own = own.ok_or(RoundError::UnknownMember)?;
        let key = OneTimeKey::derive(matrix, &member.seed, round.attempt_label());
        if key.public_key != own.public_key {
            return Err(RoundError::OtherKey);
        }
        let y = nonce(member, round);
        let mut bytes = [0; Commitment::LEN];
        let mut w = Secret::new(vector(K));
        matrix.apply(y.expose(), w.expose_mut());
        match round.mode() {
            CommitmentMode::Open => pack_vec(w.expose(), &mut bytes),
            CommitmentMode::Offset => {
                let (label, mu) = (round.attempt_label(), round.mu().as_bytes());
                let mut q = derive_offset(&member.seed, label, mu, round.width());
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

/// The nonce of a member for `round`. Rounds with open commitments exist only with their
/// feature.
fn nonce(member: &Member, round: &Round) -> Secret<Box<[Poly]>> {
    let label = round.attempt_label();
    match round.mode() {
        #[cfg(feature = "insecure-open-commitments")]
        CommitmentMode::Open => derive_nonce(&member.seed, label, SIGMA_BASE),
        mode => {
            let mu = round.mu().as_bytes();
            derive_nonce_bound(&member.seed, label, mu, mode.sigma() as u32)
        }
    }
}

impl fmt::Debug for PendingResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingResponse({}, ..)", self.id)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::mem;

    use mldsa_core::Randomness;

    use super::*;
    use crate::epoch::pinned::PinnedRoots;
    use crate::epoch::plan::EpochPlan;
    use crate::epoch::quorum::QuorumRule;
    use crate::epoch::registry::Registry;
    use crate::epoch::write_once::MemoryWriteOnceStore;
    use crate::keys::seed::MasterSeed;
    use crate::round::commitment::CommitmentSet;
    use crate::wire::task::{SigningTask, TaskId};

    /// The only member of a committee, its journal and a round.
    fn single_signer() -> (Member, OneTimeKeyJournal, Arc<Round>) {
        let id = MemberId::new(b"member").unwrap();
        let member = Member::new(id, MasterSeed::from_bytes(&[1; 32]), &[2; 32]);
        let mut journal = OneTimeKeyJournal::in_memory(&member.seed).unwrap();
        let entry = member.register(Randomness::Deterministic).unwrap();
        let registry = Registry::new(&[3; 32], [entry], &QuorumRule::TwoThirds).unwrap();
        let id = TaskId::new(b"x").unwrap();
        let plan = EpochPlan::new(1, vec![id.clone()]).unwrap();
        let tree = member.epoch_tree(&registry, &plan).unwrap();
        let root = member.announce(&tree, &mut journal, Randomness::Deterministic);
        let mut store = MemoryWriteOnceStore::default();
        let pinned = PinnedRoots::pin(&mut store, &registry, &plan, &[root.unwrap()]).unwrap();
        let acknowledgement = member.acknowledge(&pinned, &mut journal, Randomness::Deterministic);
        let agreed =
            AgreedRoots::from_pin(&registry.identity(1), &pinned, &[acknowledgement.unwrap()])
                .unwrap();
        let attempt = id.attempt(0).unwrap();
        let opening = member.open(&agreed, &tree, &attempt, &journal).unwrap();
        let key = agreed.authenticate(&opening).unwrap();
        let task = SigningTask::decision(id, b"", b"payload").unwrap();
        let round = Round::new(&agreed, &task, 0, [key]).unwrap();
        (member, journal, round)
    }

    /// Both computations of a response must not share the transformed challenge: with a fault in
    /// it they would agree, and responses to two challenges reveal the key.
    #[test]
    fn fault_in_the_challenge_is_detected() {
        let (member, mut journal, round) = single_signer();
        let (pending, message) = member.commit(&round, &mut journal).unwrap();
        let mut set = CommitmentSet::new(&round);
        set.add(&message).unwrap();
        let mut challenge = set.challenge().unwrap();
        let faulty = Arc::get_mut(&mut challenge).unwrap();
        faulty.c_hat.0[77] ^= 1;
        let result = member.respond(pending, &challenge, &mut journal);
        assert_eq!(result.unwrap_err(), RoundError::Fault);
        // Without the fault the response is released.
        let correct = set.challenge().unwrap();
        let pending = member.resume(&round, &journal).unwrap();
        assert!(member.respond(pending, &correct, &mut journal).is_ok());
        // A one-time key that is not the opened one.
        let mut pending = member.resume(&round, &journal).unwrap();
        let other = MasterSeed::from_bytes(&[9; 32]);
        let s1_hat = OneTimeKey::derive_s1(round.matrix(), &other, round.attempt_label());
        drop(mem::replace(&mut pending.s1_hat, s1_hat));
        let result = member.respond(pending, &correct, &mut journal);
        assert_eq!(result.unwrap_err(), RoundError::Fault);
    }

    /// A fault that both computations share: a commitment to another nonce.
    #[test]
    fn fault_in_the_commitment_is_detected() {
        let (member, mut journal, round) = single_signer();
        let mut pending = PendingResponse::derive(&member, &round, &journal).unwrap();
        let mut bytes: [u8; Commitment::LEN] = pending.commitment.as_bytes().try_into().unwrap();
        bytes[77] ^= 1;
        pending.commitment = Commitment::new(bytes);
        let digest = pending.commitment.digest(&round);
        let attempt = round.attempt(&journal);
        journal
            .commit(&attempt, &digest, &round.task().digest())
            .unwrap();
        let (subject, mu) = (round.subject().clone(), round.mu().as_bytes());
        let message = member.seal(MessageKind::Commitment, subject, mu, bytes.to_vec());
        let mut set = CommitmentSet::new(&round);
        set.add(&message.unwrap()).unwrap();
        let challenge = set.challenge().unwrap();
        let result = member.respond(pending, &challenge, &mut journal);
        assert_eq!(result.unwrap_err(), RoundError::Fault);
    }
}
