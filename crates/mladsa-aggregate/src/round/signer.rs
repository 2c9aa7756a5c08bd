//! Signer steps: open, commit, reveal, resume, respond, retire. Within a process a step is taken
//! once because it consumes its input; across processes because the journal admits it once.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::{fmt, slice};

use mldsa_core::internals::pack::{pack_signed, w1_encode};
use mldsa_core::internals::{NttPoly, Poly, Secret, declassify_in_place, vectors};

use crate::committee::epoch::{AttemptId, Epoch};
use crate::committee::full::SigningCommittee;
use crate::committee::member::Member;
use crate::committee::opening::AuthenticatedKey;
use crate::error::{CommitteeError, RoundError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::journal::states::{Attempt, Digest};
use crate::keys::matrix::{K, P, vector};
use crate::keys::nonce::{SIGMA_OFFSET, derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::derive_s1;
use crate::member_id::MemberName;
use crate::round::combine::Response;
use crate::round::commitment::{
    Challenge, Commitment, CommitmentSet, HI_LEN, HI_POLY_LEN, Q_POLY_LEN, challenge_polynomial,
    commitment_hash,
};
use crate::round::definition::Round;
use crate::round::message::{Message, MessageKind, Subject};

impl SigningCommittee {
    pub(crate) fn subject(&self, attempt: AttemptId) -> Subject {
        Subject {
            committee: *self.identity(),
            attempt,
        }
    }

    /// Authenticates the one-time key in an opening message.
    ///
    /// # Errors
    /// [`RoundError::OtherRound`] for another kind of message or another committee,
    /// [`RoundError::Committee`].
    #[doc(hidden)]
    pub fn authenticate(&self, message: &Message) -> Result<AuthenticatedKey, RoundError> {
        let attempt = message.attempt_id();
        if message.kind() != MessageKind::Opening || *message.subject() != self.subject(attempt) {
            return Err(RoundError::OtherRound);
        }
        let at = self.position(message.id());
        let at = at.ok_or(RoundError::UnknownMember)?;
        Ok(self.view().authenticate(at, attempt, message.body())?)
    }
}

impl Member {
    /// Opens the one-time key of `attempt`, when the committee is final. The journal binds the seed
    /// to this committee for the epoch: nothing is opened for another one from then on, because a
    /// root that is chosen after openings are known can forge.
    ///
    /// # Errors
    /// [`RoundError::Committee`] if the committee is of another epoch, has another key or root for
    /// this member, or if the epoch does not contain the attempt; [`RoundError::Journal`] if the
    /// seed serves another committee in this epoch; [`RoundError::Fault`].
    #[doc(hidden)]
    pub fn open(
        &self,
        committee: &SigningCommittee,
        attempt: AttemptId,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Message, RoundError> {
        let own = committee.position(&self.id);
        let entry = own.and_then(|at| committee.view().entry(at));
        let entry = entry.ok_or(CommitteeError::UnknownMember)?;
        let key = self.registration_key.verifying_key();
        if **committee.epoch() != *self.epoch
            || entry.root != *self.root()
            || committee.key(&self.id) != Some(key)
        {
            return Err(CommitteeError::OtherCommittee.into());
        }
        let opening = self.opening(attempt)?.ok_or(RoundError::Fault)?;
        journal.check_seed(&self.seed)?;
        journal.bind(self.epoch.number(), committee.identity())?;
        let (subject, body) = (committee.subject(attempt), opening.to_bytes());
        self.message(MessageKind::Opening, &subject, &[0; 64], body)
    }

    /// Commits to a nonce for `round` and returns the hash of the commitment, which
    /// [`Self::reveal`] reveals. The journal has recorded the commitment when this returns. A
    /// repeated call for the same round returns the same hash, also after it was answered. There
    /// is no commitment to another payload of the same task, and none before every earlier attempt
    /// is retired.
    ///
    /// The hash is signed. Constant time in the secrets.
    ///
    /// # Errors
    /// [`RoundError::UnknownMember`] if this member is no signer; [`RoundError::Journal`] if the
    /// seed does not serve the committee, the key was used, or the journal failed.
    #[doc(hidden)]
    pub fn commit(
        &self,
        round: &Arc<Round>,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<(PendingResponse, Message), RoundError> {
        let pending = PendingResponse::derive(self, round, journal)?;
        let task = round.task().digest(round.epoch.domain());
        journal.commit(&pending.attempt, &pending.digest(), &task)?;
        let (subject, mu) = (&round.subject, round.mu().as_bytes());
        let message = self.message(MessageKind::CommitmentHash, subject, mu, pending.hash)?;
        Ok((pending, message))
    }

    /// Reveals the commitment after the hashes of all commitments are known. The journal has
    /// recorded the hashes when this returns: the member answers no other ones in this attempt.
    ///
    /// # Errors
    /// [`RoundError::OtherRound`] if the set belongs to another round or does not contain this
    /// signer's own hash, [`RoundError::Incomplete`], [`RoundError::Journal`].
    #[doc(hidden)]
    pub fn reveal(
        &self,
        pending: &PendingResponse,
        set: &CommitmentSet,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Message, RoundError> {
        let round = &*pending.round;
        if pending.id != self.id
            || !round.is_same_as(set.round())
            || !set.has_hash(&self.id, &pending.hash)
        {
            return Err(RoundError::OtherRound);
        }
        let hashes = set.hashes()?;
        journal.check_seed(&self.seed)?;
        journal.reveal(&pending.attempt, &pending.digest(), &hashes)?;
        let body = Arc::clone(&pending.commitment);
        self.message(MessageKind::Commitment, &round.subject, &hashes, body)
    }

    /// Resumes a round after a restart, for a commitment that the journal contains. Records
    /// nothing.
    ///
    /// # Errors
    /// As [`Self::commit`].
    #[doc(hidden)]
    pub fn resume(
        &self,
        round: &Arc<Round>,
        journal: &OneTimeKeyJournal,
    ) -> Result<PendingResponse, RoundError> {
        let pending = PendingResponse::derive(self, round, journal)?;
        journal.resume(&pending.attempt, &pending.digest())?;
        Ok(pending)
    }

    /// Responds to the challenge of the commitments whose hashes this member has answered with
    /// its own commitment ([`Self::reveal`]). The journal has recorded the challenge before the
    /// response is computed. A repeated call with the same challenge returns the same response; a
    /// response to another challenge is never released, also not after a restart.
    ///
    /// A fault in a deterministic nonce would reveal the key. So the nonce is derived a second
    /// time. The packed response is verified against the commitment to the first one, with the
    /// challenge computed again from its hash. Constant time in the secrets.
    ///
    /// # Errors
    /// [`RoundError::OtherRound`] if the challenge belongs to another round or does not contain
    /// this signer's own commitment, [`RoundError::Journal`]; [`RoundError::Fault`], also if the
    /// round has another key under the name of this member.
    #[doc(hidden)]
    pub fn respond(
        &self,
        pending: PendingResponse,
        challenge: &Challenge,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<Message, RoundError> {
        let round = &*pending.round;
        let at = round.position(&self.id).ok_or(RoundError::UnknownMember)?;
        let commitment = challenge.commitments.get(at).map(Commitment::as_bytes);
        if pending.id != self.id
            || !round.is_same_as(challenge.round())
            || commitment != Some(&*pending.commitment)
        {
            return Err(RoundError::OtherRound);
        }
        journal.check_seed(&self.seed)?;
        let (hashes, c_tilde) = (&challenge.hashes, challenge.c_tilde());
        journal.respond(&pending.attempt, &pending.digest(), hashes, c_tilde)?;
        let s1_hat = derive_s1(round.epoch.matrix.backend, &self.seed, &round.attempt_label);
        let response = answer(challenge, at, nonce(self, round), s1_hat.expose())?;
        let body = Arc::clone(response.as_bytes());
        self.message(MessageKind::Response, &round.subject, c_tilde, body)
    }

    pub(crate) fn is_retired(&self, attempt: AttemptId, journal: &OneTimeKeyJournal) -> bool {
        journal.is_retired(&journal_entry(&self.epoch, attempt, journal))
    }

    /// Retires an attempt that missed or was abandoned, and all before it: nothing is released
    /// for them any more.
    ///
    /// # Errors
    /// [`RoundError::Journal`].
    #[doc(hidden)]
    pub fn retire(
        &self,
        attempt: AttemptId,
        journal: &mut OneTimeKeyJournal,
    ) -> Result<(), RoundError> {
        journal.check_seed(&self.seed)?;
        journal.retire(&journal_entry(&self.epoch, attempt, journal))?;
        Ok(())
    }
}

/// Returns the attempt in the journal of a seed.
fn journal_entry(epoch: &Epoch, id: AttemptId, journal: &OneTimeKeyJournal) -> Attempt {
    journal.attempt(epoch.number(), &epoch.slot_label(id.slot), id.number)
}

/// State of a signer between commitment and response. It contains no secrets, and is consumed by
/// [`Member::respond`], so that a second use does not compile:
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
    id: MemberName,
    round: Arc<Round>,
    // in the journal of the seed
    attempt: Attempt,
    // the encoded commitment
    commitment: Arc<[u8]>,
    hash: [u8; 64],
}

impl PendingResponse {
    /// Derives the state that seed and round determine.
    fn derive(
        member: &Member,
        round: &Arc<Round>,
        journal: &OneTimeKeyJournal,
    ) -> Result<Self, RoundError> {
        journal.check_seed(&member.seed)?;
        let committee = &round.subject.committee;
        journal.check_committee(round.epoch.number(), committee)?;
        let position = round.position(&member.id);
        position.ok_or(RoundError::UnknownMember)?;
        let attempt = round.attempt(journal);
        Ok(Self::with_nonce(
            member,
            round,
            attempt,
            &nonce(member, round),
        ))
    }

    fn with_nonce(
        member: &Member,
        round: &Arc<Round>,
        attempt: Attempt,
        y: &Secret<Box<[Poly]>>,
    ) -> Self {
        let matrix = &round.epoch.matrix;
        let mut bytes = [0; Commitment::LEN];
        let mut w = Secret::new(vector(K));
        matrix.apply(y.expose(), w.expose_mut());
        let (label, mu) = (&round.attempt_label, round.mu().as_bytes());
        let mut q = derive_offset(&member.seed, label, mu, round.width);
        let mut hi = Secret::<Poly>::zeroed();
        let (hi_bytes, q_bytes) = bytes.split_at_mut(HI_LEN);
        let rows = hi_bytes
            .chunks_mut(HI_POLY_LEN)
            .zip(q_bytes.chunks_mut(Q_POLY_LEN));
        for ((w, q), (hi_bytes, q_bytes)) in w.expose().iter().zip(q.expose_mut()).zip(rows) {
            let (hi, w) = (hi.expose_mut(), slice::from_ref(w));
            vectors::split_commitment(P, w, slice::from_mut(hi), slice::from_mut(q));
            w1_encode(P.gamma2, hi, hi_bytes, |a| a);
            pack_signed::<20>(q, q_bytes);
        }
        declassify_in_place(&mut bytes, "the published commitment");
        Self {
            id: member.id,
            round: Arc::clone(round),
            attempt,
            hash: commitment_hash(round, &member.id, &bytes),
            commitment: Arc::new(bytes),
        }
    }

    /// Computes the digest that a journal stores: the first half of the hash.
    fn digest(&self) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice(&self.hash[..32]);
        digest
    }
}

/// Computes the response of the signer at position `at`, verified before it is returned.
fn answer(
    challenge: &Challenge,
    at: usize,
    mut y: Secret<Box<[Poly]>>,
    s1_hat: &[NttPoly],
) -> Result<Response, RoundError> {
    let (matrix, y) = (&challenge.round().epoch.matrix, y.expose_mut());
    vectors::respond(matrix.backend, &challenge.value.c_hat, s1_hat, y);
    let response = Response::pack(y)?;
    let c_hat = challenge_polynomial(matrix, challenge.c_tilde());
    challenge
        .is_answered_by(at, &c_hat, y)
        .then_some(response)
        .ok_or(RoundError::Fault)
}

fn nonce(member: &Member, round: &Round) -> Secret<Box<[Poly]>> {
    let (label, mu) = (&round.attempt_label, round.mu().as_bytes());
    derive_nonce_bound(&member.seed, label, mu, SIGMA_OFFSET)
}

impl fmt::Debug for PendingResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingResponse({}, ..)", self.id)
    }
}

#[cfg(test)]
mod tests {
    use mldsa_core::Randomness;

    use super::*;
    use crate::keys::matrix::L;
    use crate::keys::seed::MasterSeed;
    use crate::round::task::SigningTask;

    /// The only member of a committee, its journal and a round.
    fn single_signer() -> (Member, OneTimeKeyJournal, Arc<Round>) {
        let id = MemberName::new(b"member").unwrap();
        let epoch = Epoch::new(b"domain", 1, 1, 4).unwrap();
        let member = Member::new(id, MasterSeed::from_bytes(&[1; 32]), &epoch).unwrap();
        let mut journal = OneTimeKeyJournal::in_memory(&member.seed).unwrap();
        let entry = member.register(Randomness::Deterministic).unwrap();
        let committee = SigningCommittee::new(&epoch, [(entry, 1)], 1).unwrap();
        let attempt = AttemptId { slot: 0, number: 0 };
        let opening = member.open(&committee, attempt, &mut journal).unwrap();
        let key = committee.authenticate(&opening).unwrap();
        let task = SigningTask::decision(0, b"payload");
        let round = Round::new(committee.view(), &task, 0, [key]).unwrap();
        (member, journal, round)
    }

    fn pending(
        member: &Member,
        round: &Arc<Round>,
        journal: &OneTimeKeyJournal,
    ) -> PendingResponse {
        PendingResponse::derive(member, round, journal).unwrap()
    }

    /// All steps of a single signer before the challenge.
    fn committed(
        member: &Member,
        pending: &PendingResponse,
        journal: &mut OneTimeKeyJournal,
    ) -> CommitmentSet {
        let round = &pending.round;
        let task = round.task().digest(round.epoch.domain());
        let recorded = journal.commit(&pending.attempt, &pending.digest(), &task);
        recorded.unwrap();
        let (subject, mu) = (&round.subject, round.mu().as_bytes());
        let hash = member.message(MessageKind::CommitmentHash, subject, mu, pending.hash);
        let mut set = CommitmentSet::new(round);
        set.add(&hash.unwrap()).unwrap();
        let commitment = member.reveal(pending, &set, journal).unwrap();
        set.add(&commitment).unwrap();
        set
    }

    /// A fault in each input of a response.
    #[test]
    fn fault_before_the_response_is_detected() {
        let (member, mut journal, round) = single_signer();
        let pending = pending(&member, &round, &journal);
        let set = committed(&member, &pending, &mut journal);
        let challenge = set.challenge().unwrap();
        let (backend, label) = (round.epoch.matrix.backend, &round.attempt_label);
        let s1_hat = || derive_s1(backend, &member.seed, label);
        let answer = |challenge: &Challenge, y, s1_hat: Secret<Box<[NttPoly]>>| {
            super::answer(challenge, 0, y, s1_hat.expose()).map(drop)
        };
        let y = || nonce(&member, &round);
        assert_eq!(answer(&challenge, y(), s1_hat()), Ok(()));
        let fault = Err(RoundError::Fault);
        let mut faulty = set.challenge().unwrap();
        Arc::get_mut(&mut faulty).unwrap().value.c_hat.0[77] ^= 1;
        assert_eq!(answer(&faulty, y(), s1_hat()), fault);
        let mut changed = y();
        changed.expose_mut()[3].0[77] ^= 1;
        assert_eq!(answer(&challenge, changed, s1_hat()), fault);
        // The response would be c s1.
        let zero = Secret::new(vector(L));
        assert_eq!(answer(&challenge, zero, s1_hat()), fault);
        let mut changed = s1_hat();
        changed.expose_mut()[6].0[255] ^= 1;
        assert_eq!(answer(&challenge, y(), changed), fault);
        let other = MasterSeed::from_bytes(&[9; 32]);
        let other = derive_s1(backend, &other, label);
        assert_eq!(answer(&challenge, y(), other), fault);
    }

    /// A fault in the commitment, and in the nonce of the commitment.
    #[test]
    fn fault_in_the_commitment_is_detected() {
        for zero_nonce in [false, true] {
            let (member, mut journal, round) = single_signer();
            let mut faulty = pending(&member, &round, &journal);
            if zero_nonce {
                let zero = Secret::new(vector(L));
                let attempt = round.attempt(&journal);
                faulty = PendingResponse::with_nonce(&member, &round, attempt, &zero);
            } else {
                let mut bytes: [u8; Commitment::LEN] = (&*faulty.commitment).try_into().unwrap();
                bytes[77] ^= 1;
                faulty.hash = commitment_hash(&round, &member.id, &bytes);
                faulty.commitment = Arc::new(bytes);
            }
            let set = committed(&member, &faulty, &mut journal);
            let challenge = set.challenge().unwrap();
            let result = member.respond(faulty, &challenge, &mut journal);
            assert_eq!(result.unwrap_err(), RoundError::Fault);
        }
    }
}
