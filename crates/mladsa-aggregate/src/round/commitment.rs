//! Commitments, and the challenge computed from all of them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, slice};

use mldsa_core::internals::pack::{unpack_full, unpack_signed, unpack_w1};
use mldsa_core::internals::vectors::{self, ResponseHat};
use mldsa_core::internals::{Element, NttPoly, Poly};

use crate::epoch::merkle::Node;
use crate::epoch::message::{MessageKind, SignedMessage};
use crate::error::{EncodingError, RoundError};
use crate::keys::matrix::{K, L, P, ntt_vector, vector};
use crate::keys::one_time_key::{OneTimePublicKey, unpack_vec};
use crate::member_id::MemberId;
use crate::round::definition::{CommitmentMode, Round};
use crate::wire::framing::hash_lp;

/// Bytes of the high bits in an offset commitment.
pub(crate) const HI_LEN: usize = K * 128;
pub(crate) const HI_POLY_LEN: usize = 128;
pub(crate) const Q_POLY_LEN: usize = 640;

/// Commitment of a member, 6,144 bytes. Offset commitment: the high bits of w at 4 bits, then
/// the offset low bits at 20 bits a coefficient. Open commitment: w. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Commitment(Arc<[u8]>);

impl Commitment {
    /// Bytes of the encoding in either mode.
    pub const LEN: usize = OneTimePublicKey::LEN;

    /// Decodes a commitment for `round`.
    ///
    /// # Errors
    /// [`EncodingError::Length`] unless there are 6,144 bytes; [`EncodingError::Range`] for low
    /// bits beyond gamma2 + R, or a coefficient of q or more.
    pub fn from_bytes(round: &Round, bytes: &[u8]) -> Result<Self, EncodingError> {
        if bytes.len() != Self::LEN {
            return Err(EncodingError::Length);
        }
        let mut poly = Poly::ZERO;
        let valid = match round.mode() {
            CommitmentMode::Open => {
                let mut polys = bytes.as_chunks().0.iter();
                polys.all(|bytes| unpack_full(bytes, &mut poly.0))
            }
            CommitmentMode::Offset => bytes.split_at(HI_LEN).1.chunks(Q_POLY_LEN).all(|bytes| {
                unpack_signed::<20>(bytes, &mut poly);
                vectors::norm(slice::from_ref(&poly)) <= P.gamma2 + round.width() as i32
            }),
        };
        valid
            .then(|| Self(bytes.into()))
            .ok_or(EncodingError::Range)
    }

    /// A commitment made by this process.
    pub(crate) fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(Arc::new(bytes))
    }

    /// The encoding.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digest that a journal stores.
    pub(crate) fn digest(&self, round: &Round) -> Node {
        let (mu, width) = (round.mu().as_bytes(), round.width().to_be_bytes());
        hash_lp(&[], &[round.mode().name(), mu, &width, &self.0])
    }

    /// The committed w, canonical. With offsets its low bits are not exact.
    fn w(&self, mode: CommitmentMode, w: &mut [Poly]) {
        match mode {
            CommitmentMode::Open => {
                unpack_vec(&self.0, w);
            }
            CommitmentMode::Offset => {
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

/// Received commitments of a round, in any order.
#[derive(Debug)]
pub struct CommitmentSet {
    round: Arc<Round>,
    // by position of the signer
    commitments: Vec<Option<(SignedMessage, Commitment)>>,
}

impl CommitmentSet {
    /// The empty set.
    #[must_use]
    pub fn new(round: &Arc<Round>) -> Self {
        Self {
            round: Arc::clone(round),
            commitments: round.ids().map(|_| None).collect(),
        }
    }

    /// Adds a commitment. A repeated message is ignored.
    ///
    /// # Errors
    /// [`RoundError::UnknownMember`] for a sender that is no signer; [`RoundError::OtherRound`]
    /// for a commitment to another round, which does not prove a fault of its sender;
    /// [`RoundError::InvalidContribution`] for a malformed one; [`RoundError::Equivocation`] for
    /// a second, different one, which [`Equivocation::new`](crate::steps::Equivocation::new) of
    /// it and [`Self::get`] proves to others.
    pub fn add(&mut self, message: &SignedMessage) -> Result<(), RoundError> {
        let (id, round) = (message.id(), &self.round);
        let at = round.position_of(message, MessageKind::Commitment, round.mu().as_bytes())?;
        let commitment = Commitment::from_bytes(round, message.body());
        let commitment = commitment.map_err(|_| RoundError::InvalidContribution(*id))?;
        let slot = self.commitments.get_mut(at);
        match slot.ok_or(RoundError::UnknownMember)? {
            slot @ None => *slot = Some((message.clone(), commitment)),
            Some((_, known)) if *known == commitment => {}
            Some(_) => return Err(RoundError::Equivocation(*id)),
        }
        Ok(())
    }

    /// The commitment of a member, if it is in the set.
    #[must_use]
    pub fn get(&self, id: &MemberId) -> Option<&SignedMessage> {
        let slot = self.commitments.get(self.round.position(id)?)?.as_ref();
        slot.map(|(message, _)| message)
    }

    /// The signers without a commitment in the set.
    pub fn missing(&self) -> impl Iterator<Item = &MemberId> {
        let slots = self.round.ids().zip(&self.commitments);
        slots.filter_map(|(id, slot)| slot.is_none().then_some(id))
    }

    /// The challenge of the complete set. Every member computes it for itself.
    ///
    /// # Errors
    /// [`RoundError::Incomplete`].
    pub fn challenge(&self) -> Result<Arc<Challenge>, RoundError> {
        let slots = self.commitments.iter();
        let commitments: Option<Vec<Commitment>> = slots
            .map(|slot| slot.as_ref().map(|(_, commitment)| commitment.clone()))
            .collect();
        let commitments = commitments.ok_or(RoundError::Incomplete)?;
        let (mut sum, mut w) = (vector(K), vector(K));
        for commitment in &commitments {
            commitment.w(self.round.mode(), &mut w);
            vectors::add(&mut sum, &w);
        }
        let mut challenge = Challenge::new(&self.round, sum);
        challenge.commitments = commitments;
        Ok(Arc::new(challenge))
    }
}

/// Challenge of a round, computed from the complete set of commitments.
pub struct Challenge {
    round: Arc<Round>,
    pub(crate) commitments: Vec<Commitment>,
    pub(crate) c_tilde: [u8; 64],
    pub(crate) c_hat: Box<NttPoly>,
    pub(crate) w1: Box<[Poly]>,
}

impl Challenge {
    /// The challenge of the sum of all w.
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
    #[must_use]
    pub fn round(&self) -> &Arc<Round> {
        &self.round
    }

    /// The first 64 bytes of the signature.
    #[must_use]
    pub fn c_tilde(&self) -> &[u8; 64] {
        &self.c_tilde
    }

    /// Checks `|z| <= sigma + beta` and `|w + c t - A z| <= R + beta`. An honest response always
    /// passes, because the second term is the offset plus c s2.
    pub(crate) fn is_answered_by(&self, at: usize, c_hat: &NttPoly, z: &[Poly]) -> bool {
        let round = &self.round;
        let (Some(key), Some(commitment)) = (round.key(at), self.commitments.get(at)) else {
            return false;
        };
        let (mut w, mut t) = (vector(K), vector(K));
        commitment.w(round.mode(), &mut w);
        key.public_key.unpack(&mut t);
        let (matrix, mut z_hat) = (round.matrix(), ntt_vector(L));
        let mut z = ResponseHat {
            z,
            z_hat: &mut z_hat,
        };
        vectors::norm(z.z) <= round.response_bound()
            && vectors::response_distance(matrix.backend(), matrix.a_hat(), c_hat, &w, &t, &mut z)
                <= round.width() as i32 + P.beta()
    }
}

/// The polynomial c of `c_tilde` in NTT form.
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
