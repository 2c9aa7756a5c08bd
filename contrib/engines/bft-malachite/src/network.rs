//! All validators in one thread.

use anyhow::{bail, ensure};
use arc_malachitebft_core_consensus::{LivenessMsg, SignedConsensusMsg};
use arc_malachitebft_core_types::{
    ExtendedCommitCertificate, NilOrVal, SignedMessage, ValidatorSet as _, VoteExtensions, VoteType,
};
use batch_verify::{QuorumRule, RejectReason};
use harness::{check_faulty, flip_bit, signing_key};
use mldsa_core::{ParameterSet, SigningKey};

use crate::admission::VoteAdmission;
use crate::chain::{Address, Chain, Value};
use crate::epochs::Epochs;
use crate::message::{Message, vote_bytes};
use crate::scheme::Signature;
use crate::validator::{Counts, Validator};

/// Turns without any message or input after which the run has failed.
const MAX_IDLE_TURNS: usize = 100;

/// Size and faults of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// Number of validators.
    pub validators: usize,
    /// Number of heights that all validators decide.
    pub heights: u64,
    /// The last `byzantine` validators send wrong signatures.
    pub byzantine: usize,
    /// Number of heights, from the third on, for which the first validator is disconnected. It
    /// then catches up from commit certificates.
    pub offline: u64,
    /// Number of heights after which members, order and voting power change; 0 for never.
    pub epoch_length: u64,
}

/// Result of a run.
#[derive(Debug)]
pub struct Run {
    /// Signatures verified by all validators, without those found in a verdict cache.
    pub verified: u64,
    /// Messages rejected on arrival by all validators.
    pub rejected: u64,
    /// By validator: certificates, catch-up and engine errors.
    pub counts: Vec<Counts>,
    /// Number of failed rounds, all decisions.
    pub failed_rounds: i64,
    /// By decision: signers, validators, voting power of the signers, voting power of all.
    pub quorums: Vec<[u64; 4]>,
}

/// Runs one network and asserts its outcome.
///
/// # Errors
/// A plan that the engine does not tolerate, a run without progress, or a failed assertion.
pub fn run<P: ParameterSet>(plan: Plan) -> anyhow::Result<Run> {
    ensure!(plan.validators >= 4, "at least 4 validators are needed");
    let faulty = plan.byzantine + usize::from(plan.offline > 0);
    check_faulty(plan.validators, faulty)?;
    let mut network = Network::<P>::new(plan)?;
    network.run()?;
    network.finish()
}

struct Network<P: ParameterSet> {
    plan: Plan,
    validators: Vec<Validator<P>>,
    epochs: Epochs<P>,
}

impl<P: ParameterSet> Network<P> {
    fn new(plan: Plan) -> anyhow::Result<Self> {
        let keys: Vec<SigningKey<P>> = (0..plan.validators).map(signing_key).collect();
        let public: Vec<_> = keys.iter().map(|key| key.verifying_key().clone()).collect();
        // All validators share the expanded keys; the nodes of a real network cannot.
        let epochs = Epochs::new(&plan, &public)?;
        let mut validators = Vec::new();
        for (address, key) in (0..).map(Address).zip(&keys) {
            let admission = VoteAdmission::new(epochs.clone())?;
            validators.push(Validator::new(address, key.prepare(), admission));
        }
        Ok(Self {
            plan,
            validators,
            epochs,
        })
    }

    /// Runs until all validators have decided the heights of the plan.
    fn run(&mut self) -> anyhow::Result<()> {
        let mut idle = 0;
        while self.decided_by_all() < self.plan.heights {
            if self.turns() {
                idle = 0;
                continue;
            }
            idle += 1;
            if idle > MAX_IDLE_TURNS {
                bail!("no decision after height {}", self.decided_by_all());
            }
            self.elapse();
        }
        Ok(())
    }

    /// Lets step timeouts elapse, or rebroadcast timeouts if no step timeout is scheduled.
    fn elapse(&mut self) {
        let steps = self.validators.iter().any(Validator::has_step_timeout);
        self.validators.iter_mut().for_each(|v| v.elapse(steps));
    }

    /// Runs each validator once. False if none had anything to process.
    fn turns(&mut self) -> bool {
        let mut progress = false;
        for at in 0..self.validators.len() {
            if at == 0 && self.is_first_offline() {
                self.validators[0].clear_inbox();
                continue;
            }
            progress |= self.catch_up(at);
            progress |= self.turn(at);
        }
        progress
    }

    fn turn(&mut self, at: usize) -> bool {
        let sent = self.validators[at].turn();
        let progress = sent.is_some();
        for message in sent.into_iter().flatten() {
            self.broadcast(at, message);
        }
        progress
    }

    fn broadcast(&mut self, from: usize, message: Message<P>) {
        let n = self.validators.len();
        let sent = match from >= n - self.plan.byzantine {
            true => corrupted(message),
            false => message,
        };
        for to in (0..n).filter(|to| *to != from) {
            self.validators[to].deliver(from, sent.clone());
        }
    }

    /// Whether the first validator is disconnected.
    fn is_first_offline(&self) -> bool {
        let [own, others] = [0, 1].map(|at| self.validators[at].decided().len());
        self.plan.offline > 0 && own >= 2 && others < 2 + self.plan.offline as usize
    }

    /// Passes the commit certificates of missed heights to a validator that has missed more than
    /// one, each after a copy with a wrong signature. False if there are none.
    fn catch_up(&mut self, at: usize) -> bool {
        let own = self.validators[at].decided().len();
        let furthest = self.validators.iter().max_by_key(|v| v.decided().len());
        let missed: Vec<_> = furthest
            .and_then(|other| other.decided().get(own..))
            .filter(|missed| missed.len() > 1)
            .map_or_else(Vec::new, <[_]>::to_vec);
        for certificate in &missed {
            let certificate = ExtendedCommitCertificate::from_commit_certificate_and_extensions(
                certificate.clone(),
                VoteExtensions::new(Vec::new()),
            );
            let mut forged = certificate.clone();
            let signature = &mut forged.commit_signatures[0].signature;
            *signature = flip_bit(signature.as_ref()).into();
            self.validators[at].sync(forged);
            self.validators[at].sync(certificate);
            self.turn(at);
        }
        !missed.is_empty()
    }

    /// Number of heights that all validators have decided.
    fn decided_by_all(&self) -> u64 {
        let decided = self.validators.iter().map(|v| v.decided().len());
        decided.min().unwrap_or(0) as u64
    }

    /// Signers, validators, voting power of the signers and of all, for each decision. Asserts
    /// that the commit certificate is a quorum of the committee of its height, also if the
    /// committee has been replaced since.
    fn quorums(&self) -> anyhow::Result<Vec<[u64; 4]>> {
        let mut quorums = Vec::new();
        for certificate in self.validators[0].decided() {
            let (height, round) = (certificate.height, certificate.round);
            let epoch = self.epochs.at(height);
            let value = NilOrVal::Val(certificate.value_id);
            let message = vote_bytes(VoteType::Precommit, height, round, value);
            let signatures = &certificate.commit_signatures;
            let attestations = signatures.iter().filter_map(|s| {
                let member = epoch.member(s.address)?;
                Some((member, s.signature.as_ref()))
            });
            let attestations: Vec<_> = attestations.collect();
            let verifier = epoch.committee.verifier();
            let rule = QuorumRule::Certificate;
            let report = verifier.verify_quorum(&message[..], &attestations, rule)?;
            let (count, total) = (epoch.set.count() as u64, epoch.set.total_voting_power());
            let power = u64::try_from(report.weight())?;
            ensure!(3 * power > 2 * total, "a decision without a quorum");
            quorums.push([attestations.len() as u64, count, power, total]);
        }
        Ok(quorums)
    }

    /// Returns the result of the run, after its assertions.
    fn finish(self) -> anyhow::Result<Run> {
        let Plan {
            heights,
            byzantine,
            offline,
            ..
        } = self.plan;
        let values = |validator: &Validator<P>| -> Vec<Value> {
            let decided = validator.decided().iter().take(heights as usize);
            decided.map(|certificate| certificate.value_id).collect()
        };
        let first = values(&self.validators[0]);
        ensure!(
            self.validators.iter().all(|v| values(v) == first),
            "decisions differ"
        );
        // Each validator rejects messages of the faulty ones, for the expected reason, and no others.
        let honest = self.validators.len() - byzantine;
        for (at, validator) in self.validators.iter().enumerate() {
            let faulty = (honest..self.validators.len()).filter(|n| *n != at);
            let expected = faulty.map(|n| (n, RejectReason::ChallengeMismatch));
            let rejected = validator.rejected();
            ensure!(
                rejected.keys().copied().eq(expected),
                "validator {at} has rejected {rejected:?}"
            );
        }
        let counts: Vec<_> = self.validators.iter().map(Validator::counts).collect();
        for count in &counts {
            ensure!(
                (count.equivocations, count.errors) == (0, 0),
                "an honest validator counts as equivocator, or the core rejected an input: {count:?}"
            );
        }
        ensure!(
            counts[0].synced >= offline && counts[0].rejected >= offline,
            "missed heights were not verified: {:?}",
            counts[0]
        );
        let rejected = self.validators.iter().flat_map(|v| v.rejected().values());
        let decided = self.validators[0].decided().iter();
        Ok(Run {
            verified: self.validators.iter().map(Validator::verified).sum(),
            rejected: rejected.sum(),
            counts,
            failed_rounds: decided.map(|c| c.round.as_i64()).sum(),
            quorums: self.quorums()?,
        })
    }
}

/// The message with a wrong signature.
fn corrupted<P: ParameterSet>(message: Message<P>) -> Message<P> {
    fn flip<P: ParameterSet, M>(signed: SignedMessage<Chain<P>, M>) -> SignedMessage<Chain<P>, M> {
        let signature = Signature::from(flip_bit(signed.signature.as_ref()));
        SignedMessage::new(signed.message, signature)
    }
    match message {
        Message::Consensus(SignedConsensusMsg::Vote(vote)) => {
            Message::Consensus(SignedConsensusMsg::Vote(flip(vote)))
        }
        Message::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
            Message::Consensus(SignedConsensusMsg::Proposal(flip(proposal)))
        }
        Message::Liveness(LivenessMsg::Vote(vote)) => {
            Message::Liveness(LivenessMsg::Vote(flip(vote)))
        }
        certificate => certificate,
    }
}
