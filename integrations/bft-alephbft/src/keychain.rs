//! Keychain of the engine.

use std::sync::Arc;

use aleph_bft::{
    Index, Keychain, MultiKeychain, NodeCount, NodeIndex, PartialMultisignature as _, SignatureSet,
};
use batch_verify::{
    BatchVerifier, Duplicates, KeySet, Policy, SignerId, Threads, Threshold, Vote, Weights,
};
use harness::{Kind, Meter, Signer, Strategy, ThreadTime, flip_bit};
use mldsa_core::{Context, ParameterSet, SigningKey};

/// Context of all signatures.
const CONTEXT: &[u8] = b"example/alephbft/v1";

/// Keys of all members with the strategy that verifies them. Clones share the keys.
#[derive(Clone, Debug)]
pub struct Validators<P: ParameterSet> {
    keys: KeySet<P>,
    verifier: BatchVerifier<P>,
    weights: Arc<Weights>,
    strategy: Strategy,
    meter: Arc<Meter>,
}

impl<P: ParameterSet> Validators<P> {
    /// Members with these keys.
    ///
    /// # Panics
    /// If two keys are equal.
    #[must_use]
    pub fn new(members: &[SigningKey<P>], strategy: Strategy, meter: Arc<Meter>) -> Self {
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
            strategy,
            meter,
        }
    }

    fn verify(&self, message: &[u8], signature: &[u8], index: NodeIndex) -> bool {
        let context = Context::new(CONTEXT).expect("a short context");
        let Self { keys, strategy, .. } = self;
        strategy.verify_one(keys, signer(index), context, message, signature)
    }

    fn verify_quorum(&self, message: &[u8], votes: &[Vote<'_>], weight: u128) -> bool {
        let Some(threshold) = Threshold::at_least(weight) else {
            return false;
        };
        if self.strategy == Strategy::AwsLc {
            // Signed with the context as part of the message, see `Strategy::frame`.
            let valid = |vote: &Vote<'_>| {
                let index = NodeIndex(vote.signer.index() as usize);
                self.verify(message, vote.signature, index)
            };
            return votes.len() as u128 >= weight && votes.iter().all(valid);
        }
        let (policy, duplicates) = (Policy::Strict, Duplicates::Reject);
        let (verifier, weights) = (&self.verifier, &self.weights);
        let verdict =
            verifier.verify_quorum(message, votes, weights, threshold, policy, duplicates);
        verdict.is_ok()
    }

    /// Runs a verification of signatures of one message and records it.
    fn metered(
        &self,
        kind: Kind,
        votes: usize,
        bytes: usize,
        verify: impl FnOnce() -> bool,
    ) -> bool {
        let start = ThreadTime::now();
        let valid = verify();
        let time = start.elapsed();
        let invalid = usize::from(!valid);
        self.meter.record_call(kind, votes, bytes, invalid, time);
        self.meter.record_total(kind, time);
        valid
    }
}

/// Signer id of a member; an index outside of `u32` is none.
fn signer(index: NodeIndex) -> SignerId {
    SignerId::new(u32::try_from(index.0).unwrap_or(u32::MAX))
}

/// Keychain of a member.
#[derive(Clone, Debug)]
pub struct Keys<P: ParameterSet> {
    index: NodeIndex,
    signer: Signer<P>,
    validators: Validators<P>,
    byzantine: bool,
}

impl<P: ParameterSet> Keys<P> {
    /// Keychain of the member at `index`. A byzantine member makes wrong signatures.
    #[must_use]
    pub fn new(
        index: usize,
        key: &SigningKey<P>,
        validators: Validators<P>,
        byzantine: bool,
    ) -> Self {
        let meter = Arc::clone(&validators.meter);
        Self {
            index: NodeIndex(index),
            signer: Signer::new(key, validators.strategy, meter),
            validators,
            byzantine,
        }
    }
}

impl<P: ParameterSet> Index for Keys<P> {
    fn index(&self) -> NodeIndex {
        self.index
    }
}

impl<P: ParameterSet> Keychain for Keys<P> {
    /// Bytes of any length: the engine requires a SCALE codec.
    type Signature = Vec<u8>;

    fn node_count(&self) -> NodeCount {
        NodeCount(self.validators.keys.len())
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature = self.signer.sign(CONTEXT, message);
        match self.byzantine {
            true => flip_bit(&signature),
            false => signature,
        }
    }

    fn verify(&self, message: &[u8], signature: &Vec<u8>, index: NodeIndex) -> bool {
        let bytes = message.len() + signature.len();
        self.validators.metered(Kind::Vote, 1, bytes, || {
            self.validators.verify(message, signature, index)
        })
    }
}

impl<P: ParameterSet> MultiKeychain for Keys<P> {
    type PartialMultisignature = SignatureSet<Vec<u8>>;

    fn bootstrap_multi(&self, signature: &Vec<u8>, index: NodeIndex) -> SignatureSet<Vec<u8>> {
        SignatureSet::with_size(self.node_count()).add_signature(signature, index)
    }

    /// True if all signatures are valid and reach the threshold of the engine.
    fn is_complete(&self, message: &[u8], partial: &SignatureSet<Vec<u8>>) -> bool {
        let votes: Vec<Vote<'_>> = partial
            .iter()
            .map(|(index, signature)| Vote::new(signer(index), signature))
            .collect();
        let bytes = votes.iter().map(|vote| vote.signature.len()).sum();
        let weight = self.node_count().consensus_threshold().0 as u128;
        let validators = &self.validators;
        validators.metered(Kind::Certificate, votes.len(), bytes, || {
            validators.verify_quorum(message, &votes, weight)
        })
    }
}
