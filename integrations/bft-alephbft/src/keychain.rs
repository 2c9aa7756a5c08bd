//! The engine's keychain.

use std::sync::Arc;

use aleph_bft::{
    Index, Keychain, MultiKeychain, NodeCount, NodeIndex, PartialMultisignature as _, SignatureSet,
};
use batch_verify::{
    BatchVerifier, Duplicates, KeySet, Policy, SignerId, Threads, Threshold, Vote, Weights,
};
use measure::{How, Kind, Meter, ThreadTime};
use mldsa_core::{Context, Randomness, ParameterSet, PreparedSigningKey, SigningKey};

/// What all signatures of this network are bound to.
const CONTEXT: &[u8] = b"example/alephbft/v1";

/// What the members know of each other; each of them verifies for itself.
#[derive(Clone, Debug)]
pub struct Committee<P: ParameterSet> {
    keys: KeySet<P>,
    verifier: BatchVerifier<P>,
    weights: Arc<Weights>,
    how: How,
    meter: Arc<Meter>,
}

impl<P: ParameterSet> Committee<P> {
    /// The owners of these keys, whose signatures are verified as `how` says.
    ///
    /// # Panics
    /// If two keys are the same.
    #[must_use]
    pub fn new(members: &[SigningKey<P>], how: How, meter: Arc<Meter>) -> Self {
        let public = members.iter().map(SigningKey::verifying_key);
        let keys = KeySet::from_public_keys(public).expect("keys differ");
        let verifier = BatchVerifier::builder()
            .keys(keys.clone())
            .context(CONTEXT)
            .threads(Threads::Inline)
            .build()
            .expect("a short context");
        Self {
            weights: Arc::new(Weights::equal(keys.len())),
            keys,
            verifier,
            how,
            meter,
        }
    }

    fn verify(&self, message: &[u8], signature: &[u8], index: NodeIndex) -> bool {
        let context = Context::new(CONTEXT).expect("a short context");
        let Self { keys, how, .. } = self;
        how.verify_one(keys, signer(index), context, message, signature)
    }
}

/// Members are few; no index beyond them is one of theirs.
fn signer(index: NodeIndex) -> SignerId {
    SignerId::new(u32::try_from(index.0).unwrap_or(u32::MAX))
}

/// A member's keychain.
#[derive(Clone, Debug)]
pub struct Keys<P: ParameterSet> {
    index: NodeIndex,
    key: Arc<PreparedSigningKey<P>>,
    committee: Committee<P>,
    spoils: bool,
}

impl<P: ParameterSet> Keys<P> {
    /// The keychain of the member at `index`, which signs wrongly if it `spoils`.
    #[must_use]
    pub fn new(index: usize, key: &SigningKey<P>, committee: Committee<P>, spoils: bool) -> Self {
        Self {
            index: NodeIndex(index),
            key: Arc::new(key.prepare()),
            committee,
            spoils,
        }
    }
}

impl<P: ParameterSet> Index for Keys<P> {
    fn index(&self) -> NodeIndex {
        self.index
    }
}

impl<P: ParameterSet> Keychain for Keys<P> {
    /// The bytes: the engine wants a SCALE codec, and takes any length.
    type Signature = Vec<u8>;

    fn node_count(&self) -> NodeCount {
        NodeCount(self.committee.keys.len())
    }

    /// Deterministic, so that a unit that is signed again after a restart is no fork.
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let start = ThreadTime::now();
        let context = Context::new(CONTEXT).expect("a short context");
        let (context, message) = self.committee.how.frame(context, message);
        let signature = self.key.sign(&message, context, Randomness::Deterministic);
        // Fails after 814 rejected attempts in a row only, which nobody has seen.
        let mut signature = signature.expect("signing ends").as_ref().to_vec();
        self.committee.meter.signed(start.elapsed());
        signature[0] ^= u8::from(self.spoils);
        signature
    }

    fn verify(&self, message: &[u8], signature: &Vec<u8>, index: NodeIndex) -> bool {
        let (committee, start) = (&self.committee, ThreadTime::now());
        let valid = committee.verify(message, signature, index);
        let time = start.elapsed();
        let bytes = message.len() + signature.len();
        committee.meter.inside(time);
        committee
            .meter
            .verified(Kind::Vote, 1, bytes, usize::from(!valid), time);
        valid
    }
}

impl<P: ParameterSet> MultiKeychain for Keys<P> {
    type PartialMultisignature = SignatureSet<Vec<u8>>;

    fn bootstrap_multi(&self, signature: &Vec<u8>, index: NodeIndex) -> SignatureSet<Vec<u8>> {
        SignatureSet::with_size(self.node_count()).add_signature(signature, index)
    }

    /// Every signature is valid and they are enough: one call.
    fn is_complete(&self, message: &[u8], partial: &SignatureSet<Vec<u8>>) -> bool {
        let start = ThreadTime::now();
        let votes: Vec<Vote<'_>> = partial
            .iter()
            .map(|(index, signature)| Vote::new(signer(index), signature))
            .collect();
        let enough = self.node_count().consensus_threshold().0 as u128;
        let Some(threshold) = Threshold::at_least(enough) else {
            return false;
        };
        let Committee {
            verifier,
            weights,
            meter,
            how,
            ..
        } = &self.committee;
        let complete = if *how == How::AwsLc {
            // Signed with the context in front; only by this crate verified so.
            let valid = |vote: &Vote<'_>| {
                let index = NodeIndex(vote.signer.index() as usize);
                self.committee.verify(message, vote.signature, index)
            };
            votes.len() as u128 >= threshold.weight() && votes.iter().all(valid)
        } else {
            let (policy, duplicates) = (Policy::Strict, Duplicates::Reject);
            let verdict =
                verifier.verify_quorum(message, &votes, weights, threshold, policy, duplicates);
            verdict.is_ok()
        };
        let time = start.elapsed();
        let bytes = votes.iter().map(|vote| vote.signature.len()).sum();
        let invalid = usize::from(!complete);
        meter.inside(time);
        meter.verified(Kind::Certificate, votes.len(), bytes, invalid, time);
        complete
    }
}
