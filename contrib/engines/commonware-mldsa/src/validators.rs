//! Validators of an epoch, shared by all schemes of the epoch.

use std::fmt;

use batch_verify::{BuildError, Committee, CommitteeVerifier, KeyStorage, MemberId, Threads};
use commonware_consensus::simplex::{scheme::Namespace, types::Subject};
use commonware_cryptography::{
    Digest, certificate::Namespace as _, ed25519::PublicKey as Identity,
};
use commonware_parallel::Strategy;
use commonware_utils::{
    Participant,
    ordered::{Map, Set},
};
use mldsa_core::ParameterSet;

use crate::PublicKey;

/// Votes per task of the engine's thread pool: two groups of the widest backend.
const CHUNK: usize = 16;

/// Signature to verify.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote<'a, P: ParameterSet> {
    /// Committee of this kind of vote.
    pub(crate) committee: &'a Committee<P>,
    /// Claimed signer.
    pub(crate) signer: Participant,
    /// Signed message.
    pub(crate) message: &'a [u8],
    /// Signature bytes; empty, and therefore rejected, if they could not be decoded.
    pub(crate) signature: &'a [u8],
}

impl<'a, P: ParameterSet> Vote<'a, P> {
    /// Returns the committee member of the claimed signer; `None` for an index outside of the committee.
    fn member(&self) -> Option<MemberId> {
        self.committee.member(self.signer.get())
    }

    /// Returns the vote with its committee member.
    pub(crate) fn of_member(&self) -> Option<batch_verify::Vote<'a>> {
        let (member, message) = (self.member()?, self.message);
        Some(batch_verify::Vote::new(member, message, self.signature))
    }

    /// Verifies the vote without batch machinery.
    pub(crate) fn is_valid(&self) -> bool {
        let vote = self.of_member();
        vote.is_some_and(|vote| self.committee.verify(&vote).is_ok())
    }
}

/// Validators of an epoch: identities and expanded ML-DSA keys in the same order.
///
/// Shared (`Arc`) by the schemes of an epoch. Expanded keys take 15, 27 or 48 KiB each. Each kind
/// of vote has a [`Committee`] of its own with the engine's namespace as its context; the three
/// share the expanded keys.
pub struct Validators<P: ParameterSet> {
    participants: Set<Identity>,
    namespace: Namespace,
    notarize: Committee<P>,
    nullify: Committee<P>,
    finalize: Committee<P>,
    verifier: CommitteeVerifier<P>,
}

impl<P: ParameterSet> Validators<P> {
    /// Validators of the first epoch. `namespace` names the chain; the engine appends the kind of
    /// vote.
    ///
    /// # Errors
    /// [`BuildError`]: no members, a repeated key, or a namespace longer than 246 bytes.
    pub fn new(
        namespace: &[u8],
        members: &Map<Identity, PublicKey<P>>,
    ) -> Result<Self, BuildError> {
        let namespace = Namespace::derive(namespace);
        let notarize = Committee::builder(&namespace.notarize)
            // Packed keys need less memory traffic; other work of the engine evicts the caches.
            .key_storage(KeyStorage::Packed)
            // The engine has threads of its own.
            .threads(Threads::Inline)
            .build(weighted(members))?;
        Self::with_committee(members, namespace, notarize)
    }

    /// Validators of the next epoch. Continuing members keep their expanded keys in any order.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn next(&self, members: &Map<Identity, PublicKey<P>>) -> Result<Self, BuildError> {
        let epoch = self.notarize.epoch() + 1;
        let notarize = self.notarize.successor_ordered(epoch, weighted(members))?;
        Self::with_committee(members, self.namespace.clone(), notarize)
    }

    fn with_committee(
        members: &Map<Identity, PublicKey<P>>,
        namespace: Namespace,
        notarize: Committee<P>,
    ) -> Result<Self, BuildError> {
        let nullify = notarize.with_context(&namespace.nullify)?;
        let finalize = notarize.with_context(&namespace.finalize)?;
        let verifier = CommitteeVerifier::builder()
            .threads(Threads::Inline)
            .build(notarize.clone())?
            .with_committee(nullify.clone())
            .with_committee(finalize.clone());
        Ok(Self {
            participants: members.keys().clone(),
            namespace,
            notarize,
            nullify,
            finalize,
            verifier,
        })
    }

    /// Identities, in order.
    #[must_use]
    pub fn participants(&self) -> &Set<Identity> {
        &self.participants
    }

    /// Committee of a kind of vote: member `i` is participant `i`.
    #[must_use]
    pub fn committee<D: Digest>(&self, subject: &Subject<'_, D>) -> &Committee<P> {
        match subject {
            Subject::Notarize { .. } => &self.notarize,
            Subject::Nullify { .. } => &self.nullify,
            Subject::Finalize { .. } => &self.finalize,
        }
    }

    /// Member with a public key.
    pub(crate) fn member_of(&self, public_key: &[u8]) -> Option<MemberId> {
        self.notarize.member_of(public_key)
    }

    /// Verifies votes on the threads of the engine and returns one verdict per vote, in order.
    pub(crate) fn verify(&self, votes: &[Vote<'_, P>], parallelism: &impl Strategy) -> Vec<bool> {
        if let [vote] = votes {
            return vec![vote.is_valid()];
        }
        let chunks: Vec<_> = votes.chunks(CHUNK).collect();
        let verdicts = parallelism.map_collect_vec(chunks, |votes| self.verify_batch(votes));
        verdicts.concat()
    }

    fn verify_batch(&self, votes: &[Vote<'_, P>]) -> Vec<bool> {
        let votes: Vec<_> = votes.iter().map(Vote::of_member).collect();
        let report = self.verifier.verify_batch(votes.iter().copied().flatten());
        let mut verdicts = report.verdicts().iter();
        let mut next = || verdicts.next().is_some_and(|verdict| verdict.is_ok());
        votes.iter().map(|vote| vote.is_some() && next()).collect()
    }
}

impl<P: ParameterSet> fmt::Debug for Validators<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Validators<{}>({})", P::NAME, self.participants.len())
    }
}

/// Keys with equal weights: the engine counts members.
fn weighted<P: ParameterSet>(
    members: &Map<Identity, PublicKey<P>>,
) -> impl Iterator<Item = (&PublicKey<P>, u64)> {
    members.values().iter().map(|key| (key, 1))
}
