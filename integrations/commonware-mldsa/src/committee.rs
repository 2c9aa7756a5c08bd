//! The validators of an epoch, shared by all who verify their votes.

use std::fmt;

use batch_verify::{
    BatchVerifier, BuildError, Duplicates, Item, KeySet, KeySetError, KeyStorage, Mode, SignerId,
    Threads,
};
use commonware_consensus::simplex::{scheme::Namespace, types::Subject};
use commonware_cryptography::{
    Digest,
    certificate::{Namespace as _, Subject as _},
    ed25519::PublicKey as Identity,
};
use commonware_parallel::Strategy;
use commonware_utils::ordered::{Map, Set};
use mldsa_core::{Context, ContextError, ParameterSet};
use thiserror::Error;

use crate::{PublicKey, Vote};

/// Votes per task of the engine's thread pool: two groups of the widest backend.
const CHUNK: usize = 16;

/// Why a committee was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitteeError {
    /// Nobody is in it.
    #[error("a committee needs a member")]
    Empty,
    /// The namespace does not fit into an ML-DSA context (255 bytes) with simplex's suffix.
    #[error("the namespace is too long for an ML-DSA context")]
    Namespace(#[from] ContextError),
    /// The keys are not those of distinct members.
    #[error(transparent)]
    Keys(#[from] KeySetError),
    /// The verifier could not be built.
    #[error(transparent)]
    Verifier(#[from] BuildError),
}

/// The validators of an epoch: identities and ML-DSA keys in one order, the keys expanded.
///
/// To be shared (`Arc`) by the schemes of an epoch. Expanded keys take 15, 27 or 48 KiB each.
pub struct Committee<P: ParameterSet> {
    participants: Set<Identity>,
    keys: KeySet<P>,
    verifier: BatchVerifier<P>,
    namespace: Namespace,
}

impl<P: ParameterSet> Committee<P> {
    /// The committee of a chain's first epoch. `namespace` names the chain; the kind of vote is
    /// added to it.
    ///
    /// # Errors
    /// [`CommitteeError`]: nobody, a key twice, or a namespace too long.
    pub fn new(
        namespace: &[u8],
        members: &Map<Identity, PublicKey<P>>,
    ) -> Result<Self, CommitteeError> {
        let keys = KeySet::builder()
            // The engine's other work empties the caches between two calls: less to load.
            .storage(KeyStorage::Packed)
            .build(members.values())?;
        let verifier = BatchVerifier::builder()
            .keys(keys.clone())
            .mode(Mode::Full)
            // The engine brings its own workers with each call.
            .threads(Threads::Inline)
            // It hands over one vote a signer, and a certificate has one by its form.
            .duplicates(Duplicates::Verify)
            .build()?;
        Self::assemble(Namespace::derive(namespace), members, keys, verifier)
    }

    /// The committee of the next epoch. Who stays keeps the expanded key, at whatever place the
    /// new order gives it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn next(&self, members: &Map<Identity, PublicKey<P>>) -> Result<Self, CommitteeError> {
        let keys = self.keys.with_ordered_keys(members.values())?;
        let verifier = self.verifier.with_keys(keys.clone());
        Self::assemble(self.namespace.clone(), members, keys, verifier)
    }

    fn assemble(
        namespace: Namespace,
        members: &Map<Identity, PublicKey<P>>,
        keys: KeySet<P>,
        verifier: BatchVerifier<P>,
    ) -> Result<Self, CommitteeError> {
        if members.is_empty() {
            return Err(CommitteeError::Empty);
        }
        for context in [&namespace.notarize, &namespace.nullify, &namespace.finalize] {
            Context::new(context)?;
        }
        Ok(Self {
            participants: members.keys().clone(),
            keys,
            verifier,
            namespace,
        })
    }

    /// The identities, in order.
    #[must_use]
    pub fn participants(&self) -> &Set<Identity> {
        &self.participants
    }

    /// The keys: signer `i` is participant `i`.
    #[must_use]
    pub fn keys(&self) -> &KeySet<P> {
        &self.keys
    }

    /// Verifies votes on the threads of the engine and returns one verdict per vote, in order.
    pub fn verify(&self, votes: &[Vote<'_>], parallelism: &impl Strategy) -> Vec<bool> {
        if let [vote] = votes {
            return vec![self.verify_one(vote)];
        }
        let chunks: Vec<_> = votes.chunks(CHUNK).collect();
        let verdicts = parallelism.map_collect_vec(chunks, |votes| batch(&self.verifier, votes));
        verdicts.concat()
    }

    /// One vote, without batch machinery.
    #[must_use]
    pub fn verify_one(&self, vote: &Vote<'_>) -> bool {
        let signer = SignerId::new(vote.signer.get());
        let verdict = self
            .keys
            .verify_one(signer, vote.message, vote.context, vote.signature);
        verdict.is_ok()
    }

    /// The ML-DSA context of a subject.
    pub(crate) fn context<D: Digest>(&self, subject: &Subject<'_, D>) -> Context<'_> {
        // Checked when the committee was made.
        Context::new(subject.namespace(&self.namespace)).unwrap_or(Context::EMPTY)
    }
}

impl<P: ParameterSet> fmt::Debug for Committee<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Committee<{}>({})", P::NAME, self.participants.len())
    }
}

fn batch<P: ParameterSet>(verifier: &BatchVerifier<P>, votes: &[Vote<'_>]) -> Vec<bool> {
    let (report, _) = verifier.report_by(votes, |_, vote| {
        Item::new(vote.signer.get(), vote.message, vote.signature).with_context(vote.context)
    });
    let outcomes = report.outcomes().iter();
    outcomes.map(|outcome| outcome.is_valid()).collect()
}
