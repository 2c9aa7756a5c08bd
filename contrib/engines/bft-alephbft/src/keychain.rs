//! Keychain of the engine.

use std::sync::Arc;

use aleph_bft::{
    Index, Keychain, MultiKeychain, NodeCount, NodeIndex, PartialMultisignature as _, SignatureSet,
};
use batch_verify::{Committee, CommitteeVerifier, MemberId, QuorumRule, Threads, Threshold};
use harness::{Kind, Meter, Signer, Strategy, ThreadTime, flip_bit};
use mldsa_core::{ParameterSet, SigningKey};

/// Context of all signatures.
const CONTEXT: &[u8] = b"example/alephbft/v1";

/// Committee of the members with the strategy that verifies their signatures. Clones share the
/// keys.
#[derive(Clone, Debug)]
pub struct Validators<P: ParameterSet> {
    committee: Committee<P>,
    verifier: CommitteeVerifier<P>,
    strategy: Strategy,
    meter: Arc<Meter>,
}

impl<P: ParameterSet> Validators<P> {
    /// Members with these keys and equal weights, as the engine requires.
    ///
    /// # Panics
    /// If there are no keys, or two are equal.
    #[must_use]
    pub fn new(members: &[SigningKey<P>], strategy: Strategy, meter: Arc<Meter>) -> Self {
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
            strategy,
            meter,
        }
    }

    fn member(&self, index: NodeIndex) -> Option<MemberId> {
        self.committee.member(u32::try_from(index.0).ok()?)
    }

    fn verify(&self, message: &[u8], signature: &[u8], index: NodeIndex) -> bool {
        self.member(index).is_some_and(|member| {
            let committee = &self.committee;
            self.strategy
                .verify_one(committee, member, message, signature)
        })
    }

    /// Whether all signatures are valid and have more than two thirds of the weight.
    fn verify_all(&self, message: &[u8], signatures: &SignatureSet<Vec<u8>>) -> bool {
        if self.strategy == Strategy::AwsLc {
            // Signed with the context as part of the message, see `Strategy::frame`.
            let enough = 3 * signatures.iter().count() > 2 * self.committee.len();
            let mut signatures = signatures.iter();
            return enough && signatures.all(|(index, s)| self.verify(message, s, index));
        }
        let attestations: Option<Vec<_>> = signatures
            .iter()
            .map(|(index, signature)| Some((self.member(index)?, &signature[..])))
            .collect();
        attestations.is_some_and(|attestations| {
            let rule = QuorumRule::Certificate;
            let quorum = self.verifier.verify_quorum(message, &attestations, rule);
            quorum.is_ok()
        })
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
        NodeCount(self.validators.committee.len())
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

    /// Verifies all signatures in one call. The threshold of the engine is that of the committee.
    fn is_complete(&self, message: &[u8], partial: &SignatureSet<Vec<u8>>) -> bool {
        let votes = partial.iter().count();
        let bytes = partial.iter().map(|(_, signature)| signature.len()).sum();
        let validators = &self.validators;
        validators.metered(Kind::Certificate, votes, bytes, || {
            validators.verify_all(message, partial)
        })
    }
}
