//! Responses, their verification, and the sum of them. All values are public.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::pack::{pack_signed, unpack_signed};
use mldsa_core::internals::vectors::{self, CombineError, ResponseHat};
use mldsa_core::internals::{Poly, declassify_in_place};
use mldsa_core::{MlDsa87, Mu, ParameterSet, Signature, VerifyingKey};

use crate::error::{EncodingError, RoundError};
use crate::keys::matrix::{L, Matrix, ntt_vector, vector};
use crate::member_id::MemberName;
use crate::round::aggregate::Aggregate;
use crate::round::commitment::{Challenge, ChallengeValue};
use crate::round::definition::RESPONSE_BOUND;
use crate::round::message::{Message, MessageKind};

const Z_POLY_LEN: usize = 384;

/// Response z of a member at 12 bits a coefficient: 2,688 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Response(Arc<[u8]>);

impl Response {
    /// Bytes of the encoding.
    pub const LEN: usize = L * Z_POLY_LEN;

    /// Decodes a response, which shares the bytes, and unpacks it into `z`.
    ///
    /// # Errors
    /// [`EncodingError::Length`] unless there are 2,688 bytes; [`EncodingError::Range`] for a
    /// coefficient beyond sigma + beta.
    pub(crate) fn read(bytes: impl Into<Arc<[u8]>>, z: &mut [Poly]) -> Result<Self, EncodingError> {
        let bytes = bytes.into();
        if bytes.len() != Self::LEN {
            return Err(EncodingError::Length);
        }
        let response = Self(bytes);
        response.unpack(z);
        (vectors::norm(z) <= RESPONSE_BOUND)
            .then_some(response)
            .ok_or(EncodingError::Range)
    }

    /// Decodes a response.
    ///
    /// # Errors
    /// As [`Self::read`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        Self::read(bytes, &mut vector(L))
    }

    /// Packs and publishes a response made by this process, and unpacks it into the same place.
    pub(crate) fn pack(z: &mut [Poly]) -> Result<Self, RoundError> {
        let mut bytes = [0; Self::LEN];
        for (z, bytes) in z.iter().zip(bytes.chunks_mut(Z_POLY_LEN)) {
            pack_signed::<12>(z, bytes);
        }
        declassify_in_place(&mut bytes, "the published response");
        // |y| <= sigma and |c s1| <= beta without a fault.
        Self::read(bytes, z).map_err(|_| RoundError::Fault)
    }

    /// Returns the encoding.
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
    responses: Vec<Option<Response>>,
}

impl Combiner {
    /// Creates a combiner without responses.
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
    /// hashes of commitments; [`RoundError::InvalidMessage`] for a wrong or a second response,
    /// which can be of anyone.
    pub fn add(&mut self, message: &Message) -> Result<(), RoundError> {
        let challenge = &self.challenge;
        let round = challenge.round();
        let at = round.position_of(message, MessageKind::Response, challenge.c_tilde())?;
        let slot = self.responses.get_mut(at);
        let slot = slot.ok_or(RoundError::UnknownMember)?;
        let invalid = RoundError::InvalidMessage;
        if let Some(known) = slot {
            let same = **known.as_bytes() == *message.body();
            return same.then_some(()).ok_or(invalid);
        }
        let mut z = vector(L);
        let response = Response::read(Arc::clone(message.shared_body()), &mut z);
        let response = response.map_err(|_| invalid)?;
        if !challenge.is_answered_by(at, &challenge.value.c_hat, &z) {
            return Err(invalid);
        }
        *slot = Some(response);
        Ok(())
    }

    /// Returns the signers in id order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &MemberName> {
        self.challenge.round().ids()
    }

    /// Returns the signers without a response. A silent member is excluded from the next attempt,
    /// never from this one.
    pub fn missing(&self) -> impl Iterator<Item = &MemberName> {
        let slots = self.challenge.round().ids().zip(&self.responses);
        slots.filter_map(|(id, slot)| slot.is_none().then_some(id))
    }

    /// Computes the aggregate of the complete responses, verified before it is returned.
    ///
    /// # Errors
    /// [`RoundError::Incomplete`]; an error with [`RoundError::is_miss`] if the attempt missed;
    /// [`RoundError::Fault`].
    pub fn finish(&self) -> Result<Aggregate, RoundError> {
        let (mut sum, mut z) = (vector(L), vector(L));
        for response in &self.responses {
            response
                .as_ref()
                .ok_or(RoundError::Incomplete)?
                .unpack(&mut z);
            vectors::add_integers(&mut sum, &z);
        }
        let (round, value) = (self.challenge.round(), &self.challenge.value);
        let signature = complete(
            &round.epoch.matrix,
            round.aggregate_key(),
            round.mu(),
            value,
            &sum,
        )?;
        Ok(Aggregate::new(round, signature))
    }
}

/// Makes the signature of the summed response and verifies it.
///
/// Bound: at most 8,192 signers with |z| <= 480, or 1,024 with |z| <= 1,560, so that
/// |z_sum| < q / 2.
pub(crate) fn complete(
    matrix: &Matrix,
    key: &VerifyingKey<MlDsa87>,
    mu: &Mu,
    challenge: &ChallengeValue,
    z_sum: &[Poly],
) -> Result<Signature<MlDsa87>, RoundError> {
    let mut z_hat = ntt_vector(L);
    let z = ResponseHat {
        z: z_sum,
        z_hat: &mut z_hat,
    };
    let mut signature = [0; MlDsa87::SIG_LEN];
    vectors::combine::<MlDsa87>(
        matrix.backend,
        &matrix.a_hat,
        key.as_bytes(),
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
    key.verify_mu(mu, &signature)
        .map_err(|_| RoundError::Fault)?;
    Signature::from_bytes(&signature).map_err(|_| RoundError::Fault)
}
