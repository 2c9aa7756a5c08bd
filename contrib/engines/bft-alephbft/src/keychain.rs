//! Keychain of the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aleph_bft::{
    Index, Keychain, MultiKeychain, NodeCount, NodeIndex, PartialMultisignature as _, SignatureSet,
};
use batch_verify::{Committee, CommitteeVerifier, MemberId, QuorumRule, Threads, Threshold, Vote};
use harness::flip_bit;
use mldsa_core::{Context, ParameterSet, PreparedSigningKey, Randomness, SigningKey};

/// Context of all signatures.
const CONTEXT: &[u8] = b"example/alephbft/v1";

/// Committee of the members. Clones share the keys and the counter.
#[derive(Clone, Debug)]
pub struct Validators<P: ParameterSet> {
    committee: Committee<P>,
    verifier: CommitteeVerifier<P>,
    rejected: Arc<AtomicU64>,
}

impl<P: ParameterSet> Validators<P> {
    /// Members with these keys and equal weights, as the engine requires.
    ///
    /// # Panics
    /// If there are no keys, or two are equal.
    #[must_use]
    pub fn new(members: &[SigningKey<P>]) -> Self {
        let committee = Committee::builder(CONTEXT)
            .threshold(Threshold::TWO_THIRDS)
            .threads(Threads::Inline)
            .build(members.iter().map(|key| (key.verifying_key(), 1)))
            .expect("keys differ");
        let verifier = CommitteeVerifier::builder().threads(Threads::Inline);
        let verifier = verifier.build(committee.clone());
        Self {
            verifier: verifier.expect("no threads to start"),
            committee,
            rejected: Arc::default(),
        }
    }

    fn member(&self, index: NodeIndex) -> Option<MemberId> {
        self.committee.member(u32::try_from(index.0).ok()?)
    }

    /// Returns the number of signatures and multisignatures rejected so far.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    fn counted(&self, valid: bool) -> bool {
        let invalid = u64::from(!valid);
        self.rejected.fetch_add(invalid, Ordering::Relaxed);
        valid
    }

    fn verify(&self, message: &[u8], signature: &[u8], index: NodeIndex) -> bool {
        let member = self.member(index);
        let vote = member.map(|member| Vote::new(member, message, signature));
        self.counted(vote.is_some_and(|vote| self.committee.verify(&vote).is_ok()))
    }

    /// Whether all signatures are valid and have more than two thirds of the weight.
    fn verify_all(&self, message: &[u8], signatures: &SignatureSet<Vec<u8>>) -> bool {
        let attestations: Option<Vec<_>> = signatures
            .iter()
            .map(|(index, signature)| Some((self.member(index)?, &signature[..])))
            .collect();
        let rule = QuorumRule::Certificate;
        let verify = |attestations: Vec<_>| {
            let quorum = self.verifier.verify_quorum(message, &attestations, rule);
            quorum.is_ok()
        };
        self.counted(attestations.is_some_and(verify))
    }
}

/// Keychain of a member.
#[derive(Clone, Debug)]
pub struct Keys<P: ParameterSet> {
    index: NodeIndex,
    key: Arc<PreparedSigningKey<P>>,
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
        Self {
            index: NodeIndex(index),
            key: Arc::new(key.prepare()),
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
        NodeCount(self.validators.committee.len())
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let context = Context::new(CONTEXT).expect("a short context");
        let signature = (self.key).sign_with_context(message, context, Randomness::Deterministic);
        // FIPS 204 allows an error after 821 rejected attempts; its probability is below 2^-256.
        let signature = signature.expect("signing ends");
        match self.byzantine {
            true => flip_bit(signature.as_ref()),
            false => signature.as_ref().to_vec(),
        }
    }

    fn verify(&self, message: &[u8], signature: &Vec<u8>, index: NodeIndex) -> bool {
        self.validators.verify(message, signature, index)
    }
}

impl<P: ParameterSet> MultiKeychain for Keys<P> {
    type PartialMultisignature = SignatureSet<Vec<u8>>;

    fn bootstrap_multi(&self, signature: &Vec<u8>, index: NodeIndex) -> SignatureSet<Vec<u8>> {
        SignatureSet::with_size(self.node_count()).add_signature(signature, index)
    }

    /// Verifies all signatures in one call. The threshold of the engine is that of the committee.
    fn is_complete(&self, message: &[u8], partial: &SignatureSet<Vec<u8>>) -> bool {
        self.validators.verify_all(message, partial)
    }
}
