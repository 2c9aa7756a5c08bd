//! Responses, their verification, and the sum of them. All values are public.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::pack::{pack_signed, unpack_signed};
use mldsa_core::internals::vectors::{self, CombineError, ResponseHat};
use mldsa_core::internals::{Poly, declassify_in_place};
use mldsa_core::{MlDsa87, ParameterSet, Signature};

use crate::epoch::message::{MessageKind, SignedMessage};
use crate::error::{EncodingError, RoundError};
use crate::keys::matrix::{L, ntt_vector, vector};
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::commitment::Challenge;
use crate::round::definition::Round;

const Z_POLY_LEN: usize = 384;

/// Response z of a member at 12 bits a coefficient: 2,688 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Response(Arc<[u8]>);

impl Response {
    /// Bytes of the encoding.
    pub const LEN: usize = L * Z_POLY_LEN;

    /// Decodes a response for `round`, which shares the bytes, and unpacks it into `z`.
    ///
    /// # Errors
    /// [`EncodingError::Length`] unless there are 2,688 bytes; [`EncodingError::Range`] for a
    /// coefficient beyond sigma + beta.
    pub(crate) fn read(
        round: &Round,
        bytes: impl Into<Arc<[u8]>>,
        z: &mut [Poly],
    ) -> Result<Self, EncodingError> {
        let bytes = bytes.into();
        if bytes.len() != Self::LEN {
            return Err(EncodingError::Length);
        }
        let response = Self(bytes);
        response.unpack(z);
        (vectors::norm(z) <= round.response_bound())
            .then_some(response)
            .ok_or(EncodingError::Range)
    }

    /// Decodes a response for `round`.
    ///
    /// # Errors
    /// As [`Self::read`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn from_bytes(round: &Round, bytes: &[u8]) -> Result<Self, EncodingError> {
        Self::read(round, bytes, &mut vector(L))
    }

    /// Packs and publishes a response made by this process, and unpacks it into the same place.
    pub(crate) fn pack(round: &Round, z: &mut [Poly]) -> Result<Self, RoundError> {
        let mut bytes = [0; Self::LEN];
        for (z, bytes) in z.iter().zip(bytes.chunks_mut(Z_POLY_LEN)) {
            pack_signed::<12>(z, bytes);
        }
        declassify_in_place(&mut bytes, "the published response");
        // |y| <= sigma and |c s1| <= beta without a fault.
        Self::read(round, bytes, z).map_err(|_| RoundError::Fault)
    }

    /// The encoding.
    #[must_use]
    pub fn as_bytes(&self) -> &Arc<[u8]> {
        &self.0
    }

    pub(crate) fn unpack(&self, z: &mut [Poly]) {
        for (bytes, z) in self.0.chunks(Z_POLY_LEN).zip(z) {
            unpack_signed::<12>(bytes, z);
        }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Response(..)")
    }
}

/// Collector of the responses to a challenge, in any order and grouping, which completes the
/// signature.
#[derive(Debug)]
pub struct Combiner {
    challenge: Arc<Challenge>,
    // by position of the signer
    responses: Vec<Option<(SignedMessage, Response)>>,
}

impl Combiner {
    /// A combiner without responses.
    #[must_use]
    pub fn new(challenge: &Arc<Challenge>) -> Self {
        Self {
            challenge: Arc::clone(challenge),
            responses: challenge.round().ids().map(|_| None).collect(),
        }
    }

    /// Verifies a response against its member's commitment and key, and adds it. A repeated
    /// message is ignored.
    ///
    /// # Errors
    /// [`RoundError::UnknownMember`] for a sender that is no signer; [`RoundError::OtherRound`]
    /// for a response to another challenge: a member, not necessarily the sender, has sent two
    /// hashes of commitments; [`RoundError::InvalidContribution`] for a signed response that is
    /// wrong, [`RoundError::Equivocation`] for a second, different one;
    /// [`RoundError::InvalidMessage`] for a wrong one without a signature, which can be of anyone.
    pub fn add(&mut self, message: &SignedMessage) -> Result<(), RoundError> {
        let (id, challenge) = (message.id(), &self.challenge);
        let round = challenge.round();
        let at = round.position_of(message, MessageKind::Response, &challenge.c_tilde)?;
        let slot = self.responses.get_mut(at);
        let slot = slot.ok_or(RoundError::UnknownMember)?;
        if let Some((known, _)) = slot {
            let same = known.body() == message.body();
            let second = message.blame(RoundError::Equivocation(*id));
            return same.then_some(()).ok_or(second);
        }
        let invalid = || message.blame(RoundError::InvalidContribution(*id));
        let mut z = vector(L);
        let response = Response::read(round, Arc::clone(message.shared_body()), &mut z);
        let response = response.map_err(|_| invalid())?;
        if !challenge.is_answered_by(at, &challenge.c_hat, &z) {
            return Err(invalid());
        }
        *slot = Some((message.clone(), response));
        Ok(())
    }

    /// Adds the verified responses of another combiner of the same challenge.
    ///
    /// # Errors
    /// [`RoundError::OtherRound`] for another challenge; [`RoundError::Equivocation`] if both
    /// have different responses of one member.
    pub fn merge(&mut self, other: Self) -> Result<(), RoundError> {
        if other.challenge.c_tilde != self.challenge.c_tilde
            || other.challenge.commitments != self.challenge.commitments
        {
            return Err(RoundError::OtherRound);
        }
        for pair in self.responses.iter().zip(&other.responses) {
            if let (Some((message, own)), Some((_, theirs))) = pair
                && own != theirs
            {
                return Err(RoundError::Equivocation(*message.id()));
            }
        }
        for (slot, response) in self.responses.iter_mut().zip(other.responses) {
            *slot = response.or(slot.take());
        }
        Ok(())
    }

    /// The signers in id order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &MemberId> {
        self.challenge.round().ids()
    }

    /// The signers without a response. A silent member is excluded from the next attempt, never
    /// from this one.
    pub fn missing(&self) -> impl Iterator<Item = &MemberId> {
        let slots = self.challenge.round().ids().zip(&self.responses);
        slots.filter_map(|(id, slot)| slot.is_none().then_some(id))
    }

    /// The aggregate of the complete responses, verified before it is returned.
    ///
    /// # Errors
    /// [`RoundError::Incomplete`]; an error with [`RoundError::is_miss`] if the attempt missed;
    /// [`RoundError::Fault`].
    pub fn finish(&self) -> Result<Aggregate, RoundError> {
        let (mut sum, mut z) = (vector(L), vector(L));
        for slot in &self.responses {
            let (_, response) = slot.as_ref().ok_or(RoundError::Incomplete)?;
            response.unpack(&mut z);
            vectors::add_integers(&mut sum, &z);
        }
        complete(&self.challenge, &sum)
    }
}

/// Makes the signature of the summed response and verifies it.
///
/// Bound: at most 8,192 signers with |z| <= 480, or 1,024 with |z| <= 1,560, so that
/// |z_sum| < q / 2.
pub(crate) fn complete(challenge: &Challenge, z_sum: &[Poly]) -> Result<Aggregate, RoundError> {
    let round = challenge.round();
    let matrix = round.matrix();
    let mut z_hat = ntt_vector(L);
    let z = ResponseHat {
        z: z_sum,
        z_hat: &mut z_hat,
    };
    let mut signature = [0; MlDsa87::SIG_LEN];
    vectors::combine::<MlDsa87>(
        matrix.backend(),
        matrix.a_hat(),
        round.aggregate_key().as_bytes(),
        &challenge.c_tilde,
        &challenge.w1,
        z,
        &mut signature,
    )
    .map_err(|error| match error {
        CombineError::ZNorm => RoundError::ResponseTooLarge,
        CombineError::Weight => RoundError::TooManyHints,
        CombineError::Carry => RoundError::HintOutOfReach,
    })?;
    let key = round.aggregate_key();
    key.verify_mu(round.mu(), &signature)
        .map_err(|_| RoundError::Fault)?;
    let signature = Signature::from_bytes(&signature).map_err(|_| RoundError::Fault)?;
    Ok(Aggregate::new(round, signature))
}
