//! Commitments, their hashes, and the challenge computed from all of them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, slice};

use mldsa_core::Mu;
use mldsa_core::internals::pack::{unpack_signed, unpack_w1};
use mldsa_core::internals::vectors::{self, ResponseHat};
use mldsa_core::internals::{Element, LaneHash, NttPoly, Poly, shake256_lanes};

use crate::error::{EncodingError, RoundError};
use crate::keys::matrix::{K, L, Matrix, P, ntt_vector, vector};
use crate::keys::one_time_key::OneTimePublicKey;
use crate::member_id::MemberName;
use crate::round::definition::Round;
use crate::round::message::{Message, MessageKind};
use crate::wire::framing::hash_lp;

/// Bytes of the high bits in an offset commitment.
pub(crate) const HI_LEN: usize = K * 128;
pub(crate) const HI_POLY_LEN: usize = 128;
pub(crate) const Q_POLY_LEN: usize = 640;

/// Commitment of a member, 6,144 bytes: the high bits of w at 4 bits, then the offset low bits
/// at 20 bits a coefficient. Cheap to clone.
#[derive(Clone)]
pub struct Commitment {
    bytes: Arc<[u8]>,
    /// The committed w, canonical, with inexact low bits.
    w: Arc<Box<[Poly]>>,
}

impl Commitment {
    /// Bytes of the encoding.
    pub const LEN: usize = OneTimePublicKey::LEN;

    /// Decodes a commitment for `round`, which shares the bytes.
    ///
    /// # Errors
    /// [`EncodingError::Length`] unless there are 6,144 bytes; [`EncodingError::Range`] for low
    /// bits beyond gamma2 + R.
    pub fn from_bytes(round: &Round, bytes: impl Into<Arc<[u8]>>) -> Result<Self, EncodingError> {
        let bytes = bytes.into();
        if bytes.len() != Self::LEN {
            return Err(EncodingError::Length);
        }
        let mut w = vector(K);
        let (hi_bytes, q_bytes) = bytes.split_at(HI_LEN);
        let rows = hi_bytes.chunks(HI_POLY_LEN).zip(q_bytes.chunks(Q_POLY_LEN));
        let (limit, mut hi) = (P.gamma2 + round.width as i32, Poly::ZERO);
        let valid = rows.zip(&mut w).all(|((hi_bytes, q_bytes), w)| {
            unpack_w1(hi_bytes, &mut hi);
            unpack_signed::<20>(q_bytes, w);
            let is_within = vectors::norm(slice::from_ref(w)) <= limit;
            vectors::join_commitment(P, slice::from_ref(&hi), slice::from_mut(w));
            is_within
        });
        let w = Arc::new(w);
        valid
            .then_some(Self { bytes, w })
            .ok_or(EncodingError::Range)
    }

    /// Returns the encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Commitment {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Commitment {}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Commitment(..)")
    }
}

/// Computes the hash that `id` publishes before it reveals its commitment. It contains the name, so
/// that a member cannot repeat the hash of another one. The commitment is hashed in eight parts, in
/// lanes.
pub(crate) fn commitment_hash(
    round: &Round,
    id: &MemberName,
    commitment: &[u8; Commitment::LEN],
) -> [u8; 64] {
    let mut parts = [[0; 64]; K];
    let hashes = commitment.chunks(Commitment::LEN / K).zip(&mut parts);
    let hashes = hashes.map(|(part, output)| LaneHash {
        input: [b"F.commit", part],
        output,
    });
    shake256_lanes(round.epoch.matrix.backend, hashes);
    let (mu, width) = (round.mu().as_bytes(), round.width.to_be_bytes());
    let (mode, id) = (&b"offset"[..], id.as_bytes());
    let parts = parts.as_flattened();
    hash_lp(&[], &[b"F.commit", id, mode, mu, &width, parts])
}

/// Received commitments of a round: first the hashes of all of them, in any order, then the
/// commitments, in any order.
///
/// Without the hashes, the member that commits last could choose its commitment by those of the
/// others, and a collision of two challenges would be a forgery.
#[derive(Debug)]
pub struct CommitmentSet {
    round: Arc<Round>,
    // by position of the signer
    hashes: Vec<Option<Message>>,
    // digest of the hashes when all are known
    digest: Option<[u8; 64]>,
    commitments: Vec<Option<(Message, Commitment)>>,
}

impl CommitmentSet {
    /// Creates the empty set.
    pub fn new(round: &Arc<Round>) -> Self {
        Self {
            round: Arc::clone(round),
            hashes: round.ids().map(|_| None).collect(),
            digest: None,
            commitments: round.ids().map(|_| None).collect(),
        }
    }

    /// Adds the hash of a commitment, or a commitment after all hashes. A repeated message is
    /// ignored.
    ///
    /// # Errors
    /// [`RoundError::UnknownMember`] for a sender that is no signer; [`RoundError::OtherRound`] for
    /// a message of another round, or a commitment that answers other hashes, which does not prove
    /// a fault of its sender; [`RoundError::Incomplete`] for a commitment before all hashes;
    /// [`RoundError::InvalidContribution`] for a malformed hash or a malformed commitment with the
    /// signed hash; [`RoundError::InvalidMessage`] for a commitment that has another hash, which
    /// can be of anyone; [`RoundError::ConflictingMessages`] for a second, different hash, which
    /// [`ConflictingMessages::new`](crate::steps::ConflictingMessages::new) of it and [`Self::get`] proves to
    /// others.
    pub fn add(&mut self, message: &Message) -> Result<(), RoundError> {
        if message.kind() == MessageKind::CommitmentHash {
            return self.add_hash(message);
        }
        let (id, round) = (message.id(), &self.round);
        let hashes = self.hashes()?;
        let at = round.position_of(message, MessageKind::Commitment, &hashes)?;
        let invalid = RoundError::InvalidContribution(*id);
        let hash = self.hashes.get(at).and_then(Option::as_ref);
        let slot = self.commitments.get_mut(at);
        let (hash, slot) = hash.zip(slot).ok_or(RoundError::UnknownMember)?;
        if slot
            .as_ref()
            .is_some_and(|(known, _)| known.body() == message.body())
        {
            return Ok(());
        }
        let body = message.body().try_into();
        if !body.is_ok_and(|body| *hash.body() == commitment_hash(round, id, body)) {
            return Err(RoundError::InvalidMessage);
        }
        let commitment = Commitment::from_bytes(round, Arc::clone(message.shared_body()));
        *slot = Some((message.clone(), commitment.map_err(|_| invalid)?));
        Ok(())
    }

    fn add_hash(&mut self, message: &Message) -> Result<(), RoundError> {
        let (id, round) = (message.id(), &self.round);
        let mu = round.mu().as_bytes();
        let at = round.position_of(message, MessageKind::CommitmentHash, mu)?;
        let slot = self.hashes.get_mut(at);
        match slot.ok_or(RoundError::UnknownMember)? {
            slot @ None => *slot = Some(message.clone()),
            Some(known) if known.body() == message.body() => {}
            Some(_) => return Err(RoundError::ConflictingMessages(*id)),
        }
        if self.hashes.iter().all(Option::is_some) {
            let mut parts: Vec<&[u8]> = alloc::vec![b"F.hashes", mu];
            parts.extend(self.hashes.iter().flatten().map(Message::body));
            self.digest = Some(hash_lp(&[], &parts));
        }
        Ok(())
    }

    /// Computes the digest of the hashes of all commitments, which every commitment answers.
    ///
    /// # Errors
    /// [`RoundError::Incomplete`].
    pub(crate) fn hashes(&self) -> Result<[u8; 64], RoundError> {
        self.digest.ok_or(RoundError::Incomplete)
    }

    /// Returns whether the set has this member's hash of this commitment.
    pub(crate) fn has_hash(&self, id: &MemberName, hash: &[u8; 64]) -> bool {
        let at = self.round.position(id);
        let known = at
            .and_then(|at| self.hashes.get(at))
            .and_then(Option::as_ref);
        known.is_some_and(|known| known.body() == hash)
    }

    pub(crate) fn round(&self) -> &Round {
        &self.round
    }

    /// Returns the commitment of a member, or its hash, if it is in the set.
    pub fn get(&self, id: &MemberName) -> Option<&Message> {
        let at = self.round.position(id)?;
        let commitment = self.commitments.get(at)?.as_ref();
        let hash = self.hashes.get(at)?.as_ref();
        commitment.map(|(message, _)| message).or(hash)
    }

    /// Returns the signers whose hash is not in the set; if there are none, the signers whose
    /// commitment is not in it.
    pub fn missing(&self) -> impl Iterator<Item = &MemberName> {
        let all_hashes = self.digest.is_some();
        let slots = self
            .round
            .ids()
            .zip(self.hashes.iter().zip(&self.commitments));
        slots.filter_map(move |(id, (hash, commitment))| {
            let missing = hash.is_none() || (all_hashes && commitment.is_none());
            missing.then_some(id)
        })
    }

    /// Computes the challenge of the complete set. Every member computes it for itself.
    ///
    /// # Errors
    /// [`RoundError::Incomplete`].
    pub fn challenge(&self) -> Result<Arc<Challenge>, RoundError> {
        let slots = self.commitments.iter();
        let commitments: Option<Vec<Commitment>> = slots
            .map(|slot| slot.as_ref().map(|(_, commitment)| commitment.clone()))
            .collect();
        let commitments = commitments.ok_or(RoundError::Incomplete)?;
        let mut sum = vector(K);
        for commitment in &commitments {
            vectors::add(&mut sum, &commitment.w);
        }
        Ok(Arc::new(Challenge {
            round: Arc::clone(&self.round),
            commitments,
            hashes: self.hashes()?,
            value: ChallengeValue::new(&self.round.epoch.matrix, self.round.mu(), sum),
        }))
    }
}

/// The challenge that a sum of w determines.
pub(crate) struct ChallengeValue {
    pub(crate) c_tilde: [u8; 64],
    pub(crate) c_hat: Box<NttPoly>,
    pub(crate) w1: Box<[Poly]>,
}

impl ChallengeValue {
    pub(crate) fn new(matrix: &Matrix, mu: &Mu, mut w: Box<[Poly]>) -> Self {
        let mut c_tilde = [0; 64];
        vectors::commitment_hash(matrix.backend, P, mu, &mut w, &mut c_tilde);
        Self {
            c_hat: challenge_polynomial(matrix, &c_tilde),
            c_tilde,
            w1: w,
        }
    }
}

/// Challenge of a round, computed from the complete set of commitments.
pub struct Challenge {
    round: Arc<Round>,
    pub(crate) commitments: Vec<Commitment>,
    /// Digest of the hashes of the commitments.
    pub(crate) hashes: [u8; 64],
    pub(crate) value: ChallengeValue,
}

impl Challenge {
    /// Returns the round.
    pub fn round(&self) -> &Arc<Round> {
        &self.round
    }

    /// Returns the first 64 bytes of the signature.
    pub fn c_tilde(&self) -> &[u8; 64] {
        &self.value.c_tilde
    }

    /// Checks `|w + c t - A z| <= R + beta`, for the z of a response, whose norm is checked when it
    /// is decoded. An honest response always passes, because the term is the offset plus c s2.
    pub(crate) fn is_answered_by(&self, at: usize, c_hat: &NttPoly, z: &[Poly]) -> bool {
        let round = &self.round;
        let (Some(key), Some(commitment)) = (round.key(at), self.commitments.get(at)) else {
            return false;
        };
        let (w, mut t) = (&commitment.w, vector(K));
        key.public_key.unpack(&mut t);
        let (matrix, mut z_hat) = (&round.epoch.matrix, ntt_vector(L));
        let mut z = ResponseHat {
            z,
            z_hat: &mut z_hat,
        };
        vectors::response_distance(matrix.backend, &matrix.a_hat, c_hat, w, &t, &mut z)
            <= round.width as i32 + P.beta()
    }
}

/// Computes the polynomial c of `c_tilde` in NTT form.
pub(crate) fn challenge_polynomial(matrix: &Matrix, c_tilde: &[u8; 64]) -> Box<NttPoly> {
    let mut c_hat = Box::new(NttPoly::ZERO);
    vectors::challenge(matrix.backend, P, c_tilde, &mut c_hat);
    c_hat
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Challenge(..)")
    }
}
