//! How votes are signed and verified, as a choice: for those who measure or compare.

use std::fmt::Debug;

use commonware_parallel::Strategy;
use commonware_utils::Participant;
use mldsa_core::{Context, Randomness, ParameterSet, PreparedSigningKey};

use crate::{Committee, Signature};

/// One signature to verify.
#[derive(Clone, Copy, Debug)]
pub struct Vote<'a> {
    /// Who is said to have signed.
    pub signer: Participant,
    /// The engine's namespace for this kind of vote.
    pub context: Context<'a>,
    /// What was signed.
    pub message: &'a [u8],
    /// The signature; empty if it could not be decoded, and then refused for its length.
    pub signature: &'a [u8],
}

/// What the scheme is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A vote of our own: its signature, and the verification before it leaves.
    Sign,
    /// Votes of others.
    Votes,
    /// Certificates.
    Certificates,
}

/// How votes are signed and verified. [`Batched`] is how it should be done; the trait is there so
/// that an engine can run with another library, or count what is done, in the same scheme.
pub trait Voting<P: ParameterSet>: Clone + Debug + Send + Sync + 'static {
    /// Signs; the same bytes each time. `None` if that fails.
    fn sign(
        &self,
        key: &PreparedSigningKey<P>,
        context: Context<'_>,
        message: &[u8],
    ) -> Option<Signature<P>> {
        let signature = key.sign(message, context, Randomness::Deterministic);
        signature.ok().map(Signature::from)
    }

    /// One verdict a vote, in order.
    fn verify(
        &self,
        committee: &Committee<P>,
        _: Work,
        votes: &[Vote<'_>],
        strategy: &impl Strategy,
    ) -> Vec<bool> {
        committee.verify(votes, strategy)
    }

    /// Runs one call of the engine from beginning to end, decoding and lists included.
    fn around<R>(&self, _: Work, call: impl FnOnce() -> R) -> R {
        call()
    }
}

/// One batch for what the engine hands over, under expanded keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batched;

impl<P: ParameterSet> Voting<P> for Batched {}
