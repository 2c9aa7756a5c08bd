//! Signing and verification of votes as a trait, for measurements and comparisons.

use std::fmt::Debug;

use batch_verify::{Committee, MemberId};
use commonware_parallel::Strategy;
use commonware_utils::Participant;
use mldsa_core::{Context, ParameterSet, PreparedSigningKey, Randomness};

use crate::{Signature, Validators};

/// Signature to verify.
#[derive(Clone, Copy, Debug)]
pub struct Vote<'a, P: ParameterSet> {
    /// Committee of this kind of vote.
    pub committee: &'a Committee<P>,
    /// Claimed signer.
    pub signer: Participant,
    /// Signed message.
    pub message: &'a [u8],
    /// Signature bytes; empty, and therefore rejected, if they could not be decoded.
    pub signature: &'a [u8],
}

impl<'a, P: ParameterSet> Vote<'a, P> {
    /// Committee member of the claimed signer; `None` for an index outside of the committee.
    #[must_use]
    pub fn member(&self) -> Option<MemberId> {
        self.committee.member(self.signer.get())
    }

    /// The vote with its committee member.
    pub(crate) fn of_member(&self) -> Option<batch_verify::Vote<'a>> {
        let (member, message) = (self.member()?, self.message);
        Some(batch_verify::Vote::new(member, message, self.signature))
    }

    /// Verifies the vote without batch machinery.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let vote = self.of_member();
        vote.is_some_and(|vote| self.committee.verify(&vote).is_ok())
    }
}

/// Operation that the engine requests from the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Signing of an own vote, including the verification of the new signature.
    Sign,
    /// Verification of votes.
    VerifyVotes,
    /// Verification of certificates.
    VerifyCertificates,
}

/// Signing and verification of votes.
///
/// Applications use [`Prepared`]. Another implementation runs the same scheme with another
/// library, or counts operations.
pub trait VoteBackend<P: ParameterSet>: Clone + Debug + Send + Sync + 'static {
    /// Signs deterministically. `None` if signing fails.
    fn sign(
        &self,
        key: &PreparedSigningKey<P>,
        context: Context<'_>,
        message: &[u8],
    ) -> Option<Signature<P>> {
        let signature = key.sign_with_context(message, context, Randomness::Deterministic);
        signature.ok().map(Signature::from)
    }

    /// Returns one verdict per vote, in order.
    fn verify(
        &self,
        validators: &Validators<P>,
        _: Operation,
        votes: &[Vote<'_, P>],
        parallelism: &impl Strategy,
    ) -> Vec<bool> {
        validators.verify(votes, parallelism)
    }

    /// Runs one operation, including decoding and list building.
    fn instrument<R>(&self, _: Operation, call: impl FnOnce() -> R) -> R {
        call()
    }
}

/// Verification in batches under prepared keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared;

impl<P: ParameterSet> VoteBackend<P> for Prepared {}
