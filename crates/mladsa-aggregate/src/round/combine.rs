//! Responses, their check, and the signature they sum to. All public.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, slice};

use mldsa_core::internals::pack::{pack_signed, unpack_signed};
use mldsa_core::internals::vectors::{self, ResponseHat};
use mldsa_core::internals::{Element, Poly, declassify_in_place};
use mldsa_core::{MlDsa87, ParameterSet, Signature};

use crate::epoch::message::{Message, Part};
use crate::error::Error;
use crate::keys::matrix::{L, ntt_vector, vector};
use crate::member_id::MemberId;
use crate::round::aggregate::Aggregate;
use crate::round::cohort::Round;
use crate::round::commitment::Challenge;

/// Bytes of one member's response.
pub const RESPONSE_LEN: usize = L * Z_POLY_LEN;
const Z_POLY_LEN: usize = 384;

/// A member's response z at 12 bits a coefficient: 2,688 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Response(Box<[u8]>);

impl Response {
    /// Reads a response for `round`.
    ///
    /// # Errors
    /// [`Error::BadLength`] unless there are 2,688 bytes; [`Error::OutOfRange`]
    /// for a coefficient beyond sigma + beta.
    pub fn from_bytes(round: &Round, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != RESPONSE_LEN {
            return Err(Error::BadLength);
        }
        let mut z = Poly::ZERO;
        let valid = bytes.chunks(Z_POLY_LEN).all(|bytes| {
            unpack_signed::<12>(bytes, &mut z);
            vectors::norm(slice::from_ref(&z)) <= round.response_bound()
        });
        valid.then(|| Self(bytes.into())).ok_or(Error::OutOfRange)
    }

    /// Packs a response that this process made: from here on it is public.
    pub(crate) fn pack(round: &Round, z: &[Poly]) -> Result<Self, Error> {
        let mut bytes = [0; RESPONSE_LEN];
        for (z, bytes) in z.iter().zip(bytes.chunks_mut(Z_POLY_LEN)) {
            pack_signed::<12>(z, bytes);
        }
        declassify_in_place(&mut bytes, "the published response");
        // |y| <= sigma and |c s1| <= beta: anything else is a fault.
        Self::from_bytes(round, &bytes).map_err(|_| Error::Fault)
    }

    /// The encoding.
    pub fn as_bytes(&self) -> &[u8] {
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

/// Collects the responses to a challenge, in any order and grouping, and completes
/// the signature.
#[derive(Debug)]
pub struct Combiner {
    challenge: Arc<Challenge>,
    // by position in the cohort
    responses: Vec<Option<(Message, Response)>>,
}

impl Combiner {
    /// An empty one.
    pub fn new(challenge: &Arc<Challenge>) -> Self {
        Self {
            challenge: Arc::clone(challenge),
            responses: challenge.round.ids().map(|_| None).collect(),
        }
    }

    /// Checks a response against its member's commitment and key, and adds it.
    /// The same one again is ignored.
    ///
    /// # Errors
    /// [`Error::UnknownMember`] outside the cohort; [`Error::OtherRound`] for the
    /// response to another challenge: somebody showed two commitments, and not
    /// necessarily the sender; [`Error::BadContribution`] for a response that is
    /// provably wrong, [`Error::Equivocation`] for a second, different one.
    pub fn add(&mut self, message: &Message) -> Result<(), Error> {
        let id = message.id();
        let challenge = &self.challenge;
        let (at, _) = challenge.round.member(id)?;
        if message.part() != Part::Response
            || *message.subject() != challenge.round.subject
            || *message.about() != challenge.c_tilde
        {
            return Err(Error::OtherRound);
        }
        let slot = self.responses.get(at).ok_or(Error::UnknownMember)?;
        if let Some((known, _)) = slot {
            let same = known.body() == message.body();
            return same.then_some(()).ok_or(Error::Equivocation(*id));
        }
        let response = Response::from_bytes(&challenge.round, message.body());
        let response = response.map_err(|_| Error::BadContribution(*id))?;
        let mut z = vector(L);
        response.unpack(&mut z);
        if !challenge.is_answered_by(at, &challenge.c_hat, &z) {
            return Err(Error::BadContribution(*id));
        }
        self.put(at, Some((message.clone(), response)));
        Ok(())
    }

    /// Takes over what another combiner of the same challenge collected and
    /// checked.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] for another challenge; [`Error::Equivocation`]
    /// if both have different responses of one member.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        if other.challenge.c_tilde != self.challenge.c_tilde
            || other.challenge.commitments != self.challenge.commitments
        {
            return Err(Error::CohortMismatch);
        }
        let ids = self.challenge.round.ids();
        for ((id, own), theirs) in ids.zip(&self.responses).zip(&other.responses) {
            if let (Some((_, own)), Some((_, theirs))) = (own, theirs)
                && own != theirs
            {
                return Err(Error::Equivocation(*id));
            }
        }
        for (at, response) in other.responses.into_iter().enumerate() {
            if response.is_some() {
                self.put(at, response);
            }
        }
        Ok(())
    }

    fn put(&mut self, at: usize, response: Option<(Message, Response)>) {
        if let Some(slot) = self.responses.get_mut(at) {
            *slot = response;
        }
    }

    /// Who has not responded yet. A member that stays silent is left out together
    /// with the next attempt, never of this one.
    pub fn missing(&self) -> impl Iterator<Item = &MemberId> {
        let slots = self.challenge.round.ids().zip(&self.responses);
        slots.filter_map(|(id, slot)| slot.is_none().then_some(id))
    }

    /// The aggregate, once everybody has responded: verified before it is
    /// returned.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] while responses are missing; [`Error::Retry`] if
    /// the attempt failed, the same for everybody: discard all of it and retire
    /// its label; [`Error::VerifyFailed`] is a fault.
    pub fn finish(&self) -> Result<Aggregate, Error> {
        let (mut sum, mut z) = (vector(L), vector(L));
        for slot in &self.responses {
            let (_, response) = slot.as_ref().ok_or(Error::CohortMismatch)?;
            response.unpack(&mut z);
            vectors::add_integers(&mut sum, &z);
        }
        complete(&self.challenge, &sum)
    }
}

/// Makes the signature from the summed response and verifies it.
///
/// Bounds: at most 8,192 members with |z| <= 480 or 1,024 with |z| <= 1,560, so
/// |z_sum| < q / 2.
pub(crate) fn complete(challenge: &Challenge, z_sum: &[Poly]) -> Result<Aggregate, Error> {
    let round = &challenge.round;
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
        round.key().as_bytes(),
        &challenge.c_tilde,
        &challenge.w1,
        z,
        &mut signature,
    )
    .map_err(Error::Retry)?;
    round
        .key()
        .verify_mu(round.mu(), &signature)
        .map_err(|_| Error::VerifyFailed)?;
    let signature = Signature::from_bytes(&signature).map_err(|_| Error::VerifyFailed)?;
    Ok(Aggregate::new(round, signature))
}
