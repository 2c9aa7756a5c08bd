//! What members publish before the challenge, and the challenge that all of it
//! gives.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, slice};

use mldsa_core::internals::pack::{unpack_full, unpack_signed, unpack_w1};
use mldsa_core::internals::vectors::{self, ResponseHat};
use mldsa_core::internals::{Element, NttPoly, Poly};

use crate::epoch::merkle::Hash;
use crate::epoch::message::{Message, Part};
use crate::error::Error;
use crate::keys::content_key::{CONTENT_PUBLIC_KEY_LEN, unpack_vec};
use crate::keys::matrix::{K, L, P, ntt_vector, vector};
use crate::member_id::MemberId;
use crate::round::cohort::{Mode, Round};
use crate::wire::framing::hash_lp;

/// Bytes of a commitment in either mode.
pub const COMMITMENT_LEN: usize = CONTENT_PUBLIC_KEY_LEN;
/// Bytes of the high bits in a commitment of offset mode.
pub(crate) const HI_LEN: usize = K * 128;
pub(crate) const HI_POLY_LEN: usize = 128;
pub(crate) const Q_POLY_LEN: usize = 640;

/// A member's commitment: 6,144 bytes. Offset mode: high bits of w at 4 bits,
/// then offset low bits at 20 bits a coefficient. Base mode: w. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Commitment(Arc<[u8]>);

impl Commitment {
    /// Reads a commitment for `round`.
    ///
    /// # Errors
    /// [`Error::BadLength`] unless there are 6,144 bytes; [`Error::OutOfRange`]
    /// for low bits beyond gamma2 + R, or a coefficient of q or more.
    pub fn from_bytes(round: &Round, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != COMMITMENT_LEN {
            return Err(Error::BadLength);
        }
        let mut poly = Poly::ZERO;
        let valid = match round.mode {
            Mode::Base => (bytes.as_chunks().0.iter()).all(|bytes| unpack_full(bytes, &mut poly.0)),
            Mode::Offset => bytes.split_at(HI_LEN).1.chunks(Q_POLY_LEN).all(|bytes| {
                unpack_signed::<20>(bytes, &mut poly);
                vectors::norm(slice::from_ref(&poly)) <= P.gamma2 + round.width as i32
            }),
        };
        valid.then(|| Self(bytes.into())).ok_or(Error::OutOfRange)
    }

    /// A commitment that this process made.
    pub(crate) fn new(bytes: [u8; COMMITMENT_LEN]) -> Self {
        Self(Arc::new(bytes))
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What a guard stores of it.
    pub(crate) fn digest(&self, round: &Round) -> Hash {
        hash_lp(
            &[],
            &[
                round.mode.name(),
                round.mu().as_bytes(),
                &round.width.to_be_bytes(),
                &self.0,
            ],
        )
    }

    /// What it says about w: canonical.
    pub(crate) fn w(&self, mode: Mode, w: &mut [Poly]) {
        match mode {
            Mode::Base => {
                unpack_vec(&self.0, w);
            }
            Mode::Offset => {
                let (hi_bytes, q_bytes) = self.0.split_at(HI_LEN);
                let rows = hi_bytes.chunks(HI_POLY_LEN).zip(q_bytes.chunks(Q_POLY_LEN));
                let mut hi = Poly::ZERO;
                for ((hi_bytes, q_bytes), w) in rows.zip(w) {
                    unpack_w1(hi_bytes, &mut hi);
                    unpack_signed::<20>(q_bytes, w);
                    vectors::join_commitment(P, slice::from_ref(&hi), slice::from_mut(w));
                }
            }
        }
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Commitment(..)")
    }
}

/// The commitments of a round as they come in, in any order.
#[derive(Debug)]
pub struct CommitmentSet {
    round: Arc<Round>,
    // by position in the cohort
    commitments: Vec<Option<(Message, Commitment)>>,
}

impl CommitmentSet {
    /// An empty set.
    pub fn new(round: &Arc<Round>) -> Self {
        Self {
            round: Arc::clone(round),
            commitments: round.ids().map(|_| None).collect(),
        }
    }

    /// Adds a commitment. The same one again is ignored.
    ///
    /// # Errors
    /// [`Error::UnknownMember`] outside the cohort; [`Error::OtherRound`] for one of
    /// another round, which is no fault of its sender; [`Error::BadContribution`]
    /// for a malformed one; [`Error::Equivocation`] for a second, different one:
    /// [`Equivocation::new`](crate::Equivocation::new) of it and [`Self::get`]
    /// proves that to others.
    pub fn add(&mut self, message: &Message) -> Result<(), Error> {
        let id = message.id();
        let (at, _) = self.round.member(id)?;
        let round = &self.round;
        if message.part() != Part::Commitment
            || *message.subject() != round.subject
            || message.about() != round.mu().as_bytes()
        {
            return Err(Error::OtherRound);
        }
        let commitment = Commitment::from_bytes(round, message.body());
        let commitment = commitment.map_err(|_| Error::BadContribution(*id))?;
        match self.commitments.get_mut(at).ok_or(Error::UnknownMember)? {
            slot @ None => *slot = Some((message.clone(), commitment)),
            Some((_, known)) if *known == commitment => {}
            Some(_) => return Err(Error::Equivocation(*id)),
        }
        Ok(())
    }

    /// The commitment of a member, if it is there.
    pub fn get(&self, id: &MemberId) -> Option<&Message> {
        let (at, _) = self.round.member(id).ok()?;
        let slot = self.commitments.get(at)?.as_ref();
        slot.map(|(message, _)| message)
    }

    /// Who has not committed yet.
    pub fn missing(&self) -> impl Iterator<Item = &MemberId> {
        let slots = self.round.ids().zip(&self.commitments);
        slots.filter_map(|(id, slot)| slot.is_none().then_some(id))
    }

    /// The challenge, once everybody has committed. Every member computes it
    /// itself.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] while commitments are missing.
    pub fn challenge(&self) -> Result<Arc<Challenge>, Error> {
        let slots = self.commitments.iter();
        let commitments: Option<Vec<Commitment>> = slots
            .map(|slot| slot.as_ref().map(|(_, commitment)| commitment.clone()))
            .collect();
        let commitments = commitments.ok_or(Error::CohortMismatch)?;
        let (mut sum, mut w) = (vector(K), vector(K));
        for commitment in &commitments {
            commitment.w(self.round.mode, &mut w);
            vectors::add(&mut sum, &w);
        }
        let mut challenge = Challenge::new(&self.round, sum);
        challenge.commitments = commitments;
        Ok(Arc::new(challenge))
    }
}

/// The challenge of a round, computed from the complete commitment set: what a
/// response answers, and what a combination has to meet.
pub struct Challenge {
    pub(crate) round: Arc<Round>,
    pub(crate) commitments: Vec<Commitment>,
    pub(crate) c_tilde: [u8; 64],
    pub(crate) c_hat: Box<NttPoly>,
    pub(crate) w1: Box<[Poly]>,
}

impl Challenge {
    /// From the sum of all w.
    pub(crate) fn new(round: &Arc<Round>, mut w: Box<[Poly]>) -> Self {
        let backend = round.matrix().backend();
        let mut c_tilde = [0; 64];
        vectors::commitment_hash(backend, P, round.mu(), &mut w, &mut c_tilde);
        let c_hat = challenge_polynomial(round, &c_tilde);
        Self {
            round: Arc::clone(round),
            commitments: Vec::new(),
            c_tilde,
            c_hat,
            w1: w,
        }
    }

    /// The round.
    pub fn round(&self) -> &Arc<Round> {
        &self.round
    }

    /// The 64 bytes that the signature will start with.
    pub fn c_tilde(&self) -> &[u8; 64] {
        &self.c_tilde
    }

    /// `|z| <= sigma + beta` and `|w + c t - A z| <= R + beta`: an honest member
    /// always passes, because the second term is the offset plus c s2.
    pub(crate) fn is_answered_by(&self, at: usize, c_hat: &NttPoly, z: &[Poly]) -> bool {
        let round = &self.round;
        let (Some(member), Some(commitment)) = (round.members.get(at), self.commitments.get(at))
        else {
            return false;
        };
        let (mut w, mut t) = (vector(K), vector(K));
        commitment.w(round.mode, &mut w);
        member.public_key.unpack(&mut t);
        let (matrix, mut z_hat) = (round.matrix(), ntt_vector(L));
        let mut z = ResponseHat {
            z,
            z_hat: &mut z_hat,
        };
        vectors::norm(z.z) <= round.response_bound()
            && vectors::response_distance(matrix.backend(), matrix.a_hat(), c_hat, &w, &t, &mut z)
                <= round.width as i32 + P.beta()
    }
}

/// c of `c_tilde`, in NTT form.
pub(crate) fn challenge_polynomial(round: &Round, c_tilde: &[u8; 64]) -> Box<NttPoly> {
    let mut c_hat = Box::new(NttPoly::ZERO);
    vectors::challenge(round.matrix().backend(), P, c_tilde, &mut c_hat);
    c_hat
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Challenge(..)")
    }
}
