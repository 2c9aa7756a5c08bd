//! What members publish before the challenge, and the challenge that all of it
//! gives.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, slice};

use mldsa_core::hazmat::pack::{unpack_full, unpack_signed, unpack_w1};
use mldsa_core::hazmat::{Element, NttPoly, Poly, linear};

use crate::epoch::merkle::Hash;
use crate::error::Error;
use crate::keys::content_key::{CONTENT_PUBLIC_KEY_LEN, unpack_vec};
use crate::keys::matrix::{K, P, vector};
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
                linear::norm(slice::from_ref(&poly)) <= P.gamma2 + round.width as i32
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
                    linear::join_commitment(P, slice::from_ref(&hi), slice::from_mut(w));
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
pub struct CommitmentSet<'r> {
    round: &'r Round,
    // by position in the cohort
    commitments: Vec<Option<Commitment>>,
}

impl<'r> CommitmentSet<'r> {
    /// An empty set.
    pub fn new(round: &'r Round) -> Self {
        Self {
            round,
            commitments: round.ids().map(|_| None).collect(),
        }
    }

    /// Adds a commitment. The same one again is ignored.
    ///
    /// # Errors
    /// [`Error::UnknownMember`] outside the cohort; [`Error::BadContribution`] for
    /// a second, different one.
    pub fn add(&mut self, id: &MemberId, commitment: Commitment) -> Result<(), Error> {
        let (at, _) = self.round.member(id)?;
        match self.commitments.get_mut(at).ok_or(Error::UnknownMember)? {
            slot @ None => *slot = Some(commitment),
            Some(known) if *known == commitment => {}
            Some(_) => return Err(Error::BadContribution(*id)),
        }
        Ok(())
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
    pub fn challenge(self) -> Result<Challenge<'r>, Error> {
        let commitments: Option<Vec<Commitment>> = self.commitments.into_iter().collect();
        let commitments = commitments.ok_or(Error::CohortMismatch)?;
        let round = self.round;
        let (mut sum, mut w) = (vector(K), vector(K));
        for commitment in &commitments {
            commitment.w(round.mode, &mut w);
            linear::add(&mut sum, &w);
        }
        let mut challenge = Challenge::new(round, sum);
        challenge.commitments = commitments;
        Ok(challenge)
    }
}

/// The challenge of a round, computed from the complete commitment set: what a
/// response answers, and what a combination has to meet.
pub struct Challenge<'r> {
    pub(crate) round: &'r Round,
    pub(crate) commitments: Vec<Commitment>,
    pub(crate) c_tilde: [u8; 64],
    pub(crate) c_hat: Box<NttPoly>,
    pub(crate) w1: Box<[Poly]>,
}

impl<'r> Challenge<'r> {
    /// From the sum of all w.
    pub(crate) fn new(round: &'r Round, mut w: Box<[Poly]>) -> Self {
        let backend = round.matrix().backend();
        let mut c_tilde = [0; 64];
        linear::commitment_hash(backend, P, round.mu(), &mut w, &mut c_tilde);
        let mut c_hat = Box::new(NttPoly::ZERO);
        linear::challenge(backend, P, &c_tilde, &mut c_hat);
        Self {
            round,
            commitments: Vec::new(),
            c_tilde,
            c_hat,
            w1: w,
        }
    }

    /// The round.
    pub fn round(&self) -> &'r Round {
        self.round
    }

    /// The 64 bytes that the signature will start with.
    pub fn c_tilde(&self) -> &[u8; 64] {
        &self.c_tilde
    }
}

impl fmt::Debug for Challenge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Challenge(..)")
    }
}
