//! All validators in one thread, with lost and forged messages.

#[cfg(test)]
mod fuzz;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use arc_malachitebft_core_consensus::{LivenessMsg, SignedConsensusMsg};
use arc_malachitebft_core_types::{
    ExtendedCommitCertificate, NilOrVal, Round, SignedMessage, ValidatorSet as _, VoteExtensions,
    VoteType,
};
use batch_verify::QuorumRule;
use harness::{Meter, Row, Signer, Strategy, flip_bit, signing_key};
use mldsa_core::{ParameterSet, SigningKey};

use crate::admission::VoteAdmission;
use crate::chain::{Address, Chain, Value, proposer};
use crate::epochs::Epochs;
use crate::forgery::Forger;
use crate::message::{Message, vote_bytes};
use crate::plan::{Plan, Run};
use crate::scheme::Signature;
use crate::validator::Validator;

/// Turns without any message or input after which the run has failed.
const MAX_IDLE_TURNS: usize = 100;

pub(crate) struct Network<P: ParameterSet> {
    plan: Plan,
    /// By validator: votes and proposals delivered, by sender.
    delivered: Vec<BTreeMap<u64, u64>>,
    validators: Vec<Validator<P>>,
    /// The validators' keys with a meter of their own, for the other chain of the forger.
    signers: Vec<Signer<P>>,
    forger: Forger<P>,
    epochs: Epochs<P>,
    pub(crate) meter: Arc<Meter>,
}

impl<P: ParameterSet> Network<P> {
    pub(crate) fn new(plan: Plan, strategy: Strategy) -> anyhow::Result<Self> {
        let meter = Arc::new(Meter::default());
        let keys: Vec<SigningKey<P>> = (0..plan.validators).map(signing_key).collect();
        let public: Vec<_> = keys.iter().map(|key| key.verifying_key().clone()).collect();
        // All validators share the expanded keys; the nodes of a real network cannot.
        let epochs = Epochs::new(&plan, &public)?;
        let mut validators = Vec::new();
        for (address, key) in (0..).map(Address).zip(&keys) {
            let signer = Signer::new(key, strategy, Arc::clone(&meter));
            let admission = VoteAdmission::new(strategy, epochs.clone(), Arc::clone(&meter))?;
            validators.push(Validator::new(address, signer, admission));
        }
        let signer = |key| Signer::new(key, strategy, Arc::default());
        Ok(Self {
            plan,
            delivered: vec![BTreeMap::new(); plan.validators],
            validators,
            signers: keys.iter().map(signer).collect(),
            forger: Forger::new(plan.forgeries_per_vote),
            epochs,
            meter,
        })
    }

    /// Runs until all validators have decided the heights of the plan.
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
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
                self.discard_inbox(0);
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
            self.broadcast(at, &message);
        }
        progress
    }

    fn broadcast(&mut self, from: usize, message: &Message<P>) {
        let forged = self.forger.forge(message, &self.signers[from]);
        let n = self.validators.len();
        let sent = match from >= n - self.plan.byzantine {
            true => corrupted(message.clone()),
            false => message.clone(),
        };
        for to in (0..n).filter(|to| *to != from) {
            if !self.is_lost(from, to, message) {
                self.deliver(from as u64, to, sent.clone());
            }
            for (forgery, message) in &forged {
                self.deliver(forgery.peer(n), to, message.clone());
            }
        }
    }

    fn deliver(&mut self, peer: u64, to: usize, message: Message<P>) {
        if message.kind().is_some() {
            *self.delivered[to].entry(peer).or_default() += 1;
        }
        self.validators[to].deliver(peer, message);
    }

    /// Discards the messages that a validator has not processed.
    fn discard_inbox(&mut self, at: usize) {
        for (peer, message) in self.validators[at].take_inbox() {
            if message.kind().is_some() {
                *self.delivered[at].entry(peer).or_default() -= 1;
            }
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

    /// Lost messages of a planned round failure: in the first round of some heights a value gets a
    /// quorum of prevotes and none of precommits, and one validator receives neither. f validators
    /// miss the proposal; the last one misses prevotes of f and precommits of f + 1 others.
    fn is_lost(&self, from: usize, to: usize, message: &Message<P>) -> bool {
        let height = message.height();
        if self.plan.drop_quorum == 0 || !height.0.is_multiple_of(self.plan.drop_quorum) {
            return false;
        }
        let n = self.validators.len();
        let faulty = (n - 1) / 3;
        // Positions relative to the proposer, so that the next proposer has seen the quorum.
        let relative = |at: usize| (at + n - proposer(n, height, Round::ZERO)) % n;
        let (from, to) = (relative(from), relative(to));
        let last = n - 1;
        match message {
            Message::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
                proposal.message.round == Round::ZERO && (last - faulty..last).contains(&to)
            }
            Message::Consensus(SignedConsensusMsg::Vote(vote)) => {
                let missed = match vote.message.kind {
                    VoteType::Prevote => faulty,
                    VoteType::Precommit => faulty + 1,
                };
                vote.message.round == Round::ZERO && to == last && from < missed
            }
            Message::Liveness(_) => false,
        }
    }

    /// Number of heights that all validators have decided.
    fn decided_by_all(&self) -> u64 {
        let decided = self.validators.iter().map(|v| v.decided().len());
        decided.min().unwrap_or(0) as u64
    }

    /// Decisions of all validators.
    fn agreed(&self) -> anyhow::Result<Vec<Value>> {
        let heights = self.plan.heights as usize;
        let values = |validator: &Validator<P>| -> Vec<Value> {
            let decided = validator.decided().iter().take(heights);
            decided.map(|certificate| certificate.value_id).collect()
        };
        let first = values(&self.validators[0]);
        let agree = self.validators.iter().all(|v| values(v) == first);
        ensure!(agree, "decisions differ");
        Ok(first)
    }

    /// Signers, validators, voting power of the signers and of all, for each decision. Asserts
    /// that the commit certificate is a quorum of the committee of its height, also if the
    /// committee has been replaced since.
    fn quorums(&self, strategy: Strategy) -> anyhow::Result<Vec<[u64; 4]>> {
        let mut quorums = Vec::new();
        for certificate in self.validators[0].decided() {
            let (height, round) = (certificate.height, certificate.round);
            let epoch = self.epochs.at(height);
            let signatures = &certificate.commit_signatures;
            let powers = signatures.iter().map(|s| epoch.set.power(s.address));
            let power = powers.sum::<Option<u64>>().context("an unknown signer")?;
            let (validators, total) = (epoch.set.count() as u64, epoch.set.total_voting_power());
            quorums.push([signatures.len() as u64, validators, power, total]);
            if strategy == Strategy::AwsLc {
                // Signed with the context as part of the message.
                continue;
            }
            let value = NilOrVal::Val(certificate.value_id);
            let message = vote_bytes(VoteType::Precommit, height, round, value);
            let attestations = signatures.iter().filter_map(|s| {
                let member = epoch.member(s.address)?;
                Some((member, s.signature.as_ref()))
            });
            let attestations: Vec<_> = attestations.collect();
            let verifier = epoch.committee.verifier();
            let report =
                verifier.verify_quorum(&message[..], &attestations, QuorumRule::Certificate)?;
            ensure!(
                report.weight() == u128::from(power),
                "height {height}: weight {} of {power}",
                report.weight()
            );
        }
        Ok(quorums)
    }

    /// Result of the run, before its assertions.
    pub(crate) fn finish(mut self, mut row: Row, strategy: Strategy) -> anyhow::Result<Run> {
        let decided = self.agreed()?;
        (0..self.plan.validators).for_each(|at| self.discard_inbox(at));
        let certificates = self.validators[0].decided().iter();
        let largest = certificates
            .clone()
            .map(|c| c.commit_signatures.len())
            .max();
        row.certificate_bytes = largest.map(|signatures| signatures * P::SIG_LEN);
        let failed_rounds = certificates.map(|c| c.round.as_i64()).sum();
        let rejections = self.validators.iter_mut().map(Validator::rejections);
        let rejections = rejections.collect();
        Ok(Run {
            row,
            decided,
            rejections,
            counts: self.validators.iter().map(Validator::counts).collect(),
            quorums: self.quorums(strategy)?,
            delivered: self.delivered,
            failed_rounds,
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
