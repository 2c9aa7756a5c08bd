//! All validators in one thread, what is lost between them, and what one run shows.

#[cfg(test)]
mod fuzz;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_malachitebft_core_consensus::{LivenessMsg, SignedConsensusMsg};
use arc_malachitebft_core_types::{
    ExtendedCommitCertificate, Round, SignedMessage, ValidatorSet as _, VoteExtensions, VoteType,
};
use batch_verify::{KeySet, Reason, Weights};
use harness::{Meter, Row, Stopwatch};
use mldsa_core::{ParameterSet, SigningKey};

use crate::admission::{Rejections, VoteAdmission};
use crate::attack::{Attack, Attacker, corrupted};
use crate::chain::{Address, Chain, ValidatorSet, Value, proposer};
use crate::message::Message;
use crate::mode::Mode;
use crate::scheme::Signer;
use crate::validator::{Counts, Validator};
use crate::verifier::Committee;

/// What is run, and what goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Validators.
    pub validators: usize,
    /// Heights that everybody is to decide.
    pub heights: u64,
    /// The last so many send wrong signatures.
    pub byzantine: usize,
    /// Messages of an attacker for each vote.
    pub forgeries_per_vote: usize,
    /// At every so manyth height the first round fails; 0 for never.
    pub drop_quorum: u64,
    /// The first validator hears nothing for so many heights from the third on, and takes them
    /// from the others afterwards.
    pub offline: u64,
}

/// What a run has shown.
#[derive(Debug)]
pub struct Run {
    /// What it cost.
    pub row: Row,
    /// The decisions, the same at every validator.
    pub decided: Vec<Value>,
    /// What each validator refused.
    pub refused: Vec<Rejections>,
    /// What each validator saw.
    pub counts: Vec<Counts>,
    /// Votes and proposals that each validator took in, by the peer who sent them.
    pub sent: Vec<BTreeMap<u64, u64>>,
    /// Rounds that failed, over all decisions.
    pub rounds: i64,
}

/// Turns without anything to do before the run is given up.
const PATIENCE: usize = 100;

/// Runs one network.
///
/// # Errors
/// If the plan is not one that the engine survives, or the validators decide different things, or
/// nothing any more.
pub fn run<P: ParameterSet>(plan: Plan, way: Mode) -> Result<Run, String> {
    if plan.validators < 4
        || 3 * (plan.byzantine + usize::from(plan.offline > 0)) >= plan.validators
    {
        return Err("a third of the validators, or more, do not take part".into());
    }
    let mut network = Network::<P>::new(plan, way);
    let stopwatch = Stopwatch::start();
    network.run()?;
    let decided = network.agreed()?;
    (0..plan.validators).for_each(|at| network.forget(at));
    let validators = &network.validators;
    let certificates = validators[0].decided().iter();
    let signatures = certificates.clone().map(|c| c.commit_signatures.len());
    let description = harness::Run {
        engine: "arc-malachitebft-core-consensus 0.8.2",
        network: "one thread",
        set: P::NAME,
        strategy: way.how(),
        validators: plan.validators,
        views: plan.heights,
    };
    let mut row = Row::new(&description, stopwatch, &network.meter);
    row.strategy = way.name().into();
    row.certificate_bytes = signatures.max().map(|most| most * P::SIG_LEN);
    Ok(Run {
        row,
        decided,
        refused: validators
            .iter()
            .map(|v| v.door().refused().clone())
            .collect(),
        counts: validators.iter().map(Validator::counts).collect(),
        sent: network.sent,
        rounds: certificates.map(|c| c.round.as_i64()).sum(),
    })
}

impl Run {
    /// Whether everything happened that was planned, and nothing else.
    ///
    /// # Errors
    /// What did not.
    pub fn check(&self, plan: &Plan, way: Mode) -> Result<(), String> {
        let sum = |of: fn(&Counts) -> u64| self.counts.iter().map(of).sum::<u64>();
        let refusals = |refused: &Rejections| refused.asked + refused.by_peer.values().sum::<u64>();
        let refusals: u64 = self.refused.iter().map(refusals).sum();
        // With wrong signatures as well, what goes wrong is another round than the planned one.
        let loses = (1..=plan.heights).contains(&plan.drop_quorum) && plan.byzantine == 0;
        for (kept, what) in [
            (
                self.decided.len() as u64 == plan.heights,
                "not every height was decided",
            ),
            (
                sum(|c| c.equivocations) == 0,
                "an honest validator passes for an equivocator",
            ),
            (
                sum(|c| c.errors) == 0,
                "the core was shown what it does not take",
            ),
            (
                (refusals > 0) == (plan.byzantine + plan.forgeries_per_vote > 0),
                "there are wrong signatures if and only if they are refused",
            ),
            (
                !way.verifies_on_arrival() || self.rejections_match(plan),
                "what was sent is not what was refused for its reason, or taken in if it is valid",
            ),
            (!loses || self.rounds > 0, "no round has failed"),
            (
                !loses || sum(|c| c.certificates[1]).min(sum(|c| c.certificates[2])) > 0,
                "nobody has verified a polka certificate and one of a round",
            ),
            (
                plan.offline == 0
                    || (self.counts[0].synced >= plan.offline
                        && self.counts[0].refused >= plan.offline),
                "what was missed was not verified",
            ),
        ] {
            if !kept {
                return Err(format!("{}: {what}", way.name()));
            }
        }
        Ok(())
    }
}

impl Run {
    /// Whether each door has refused exactly what was wrong, for what is wrong with it and as
    /// often as its peer sent it, and has taken in exactly what was right.
    fn rejections_match(&self, plan: &Plan) -> bool {
        let honest = plan.validators - plan.byzantine;
        let wrong = |peer: u64| match usize::try_from(peer) {
            Ok(peer) if peer < honest => None,
            Ok(peer) if peer < plan.validators => Some(Reason::ChallengeMismatch),
            _ => {
                let sender = |attack: &&Attack| attack.peer(plan.validators) == peer;
                Attack::ALL
                    .iter()
                    .find(sender)
                    .and_then(|attack| attack.reason())
            }
        };
        self.sent.iter().zip(&self.refused).all(|(sent, refused)| {
            let mut admitted = BTreeMap::new();
            let mut by_peer = BTreeMap::new();
            for (&peer, &sent) in sent {
                let late = refused.late.get(&peer).unwrap_or(&0);
                match (sent - late, wrong(peer)) {
                    (0, _) => None,
                    (count, None) => admitted.insert(peer, count),
                    (count, Some(reason)) => by_peer.insert((peer, reason), count),
                };
            }
            admitted == refused.admitted && by_peer == refused.by_peer
        })
    }
}

struct Network<P: ParameterSet> {
    plan: Plan,
    /// Votes and proposals that were delivered to each validator, by peer.
    sent: Vec<BTreeMap<u64, u64>>,
    validators: Vec<Validator<P>>,
    /// The validators' keys again, as the attacker's other chain has them.
    elsewhere: Vec<Signer<P>>,
    attacker: Attacker<P>,
    meter: Arc<Meter>,
}

impl<P: ParameterSet> Network<P> {
    fn new(plan: Plan, way: Mode) -> Self {
        let meter = Arc::new(Meter::default());
        let key = |n: usize| {
            let mut seed = [0; 32];
            seed[..8].copy_from_slice(&(n as u64 + 1).to_le_bytes());
            SigningKey::<P>::from_seed(&seed)
        };
        let keys: Vec<_> = (0..plan.validators).map(key).collect();
        let set = ValidatorSet::new(keys.iter().map(SigningKey::verifying_key));
        // Expanded once and shared: in one process, not what the nodes of a network can do. All
        // ways to verify with prepared keys profit alike.
        let prepared = KeySet::<P>::from_public_keys(set.keys()).expect("seeds differ");
        let signer = |key, meter: &Arc<Meter>| Signer::new(key, way.how(), Arc::clone(meter));
        let committee = Committee {
            keys: prepared,
            weights: Arc::new(Weights::equal(set.count())),
        };
        let validator = |(address, key)| {
            let door = VoteAdmission::new(way, committee.clone(), Arc::clone(&meter));
            let signer = signer(key, &meter);
            Validator::new(Address(address), set.clone(), signer, door)
        };
        Self {
            plan,
            sent: vec![BTreeMap::new(); plan.validators],
            validators: (0..).zip(&keys).map(validator).collect(),
            elsewhere: keys
                .iter()
                .map(|key| signer(key, &Arc::default()))
                .collect(),
            attacker: Attacker::new(plan.forgeries_per_vote),
            meter,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut idle = 0;
        while self.least() < self.plan.heights {
            if self.everybody() {
                idle = 0;
                continue;
            }
            idle += 1;
            if idle > PATIENCE {
                return Err(format!("nobody decides after height {}", self.least()));
            }
            // What was said is said again only when no step has an end.
            let steps = self.validators.iter().any(Validator::waits);
            let validators = self.validators.iter_mut();
            validators.for_each(|validator| validator.elapse(steps));
        }
        Ok(())
    }

    /// Everybody's turn. False if nobody had anything to do.
    fn everybody(&mut self) -> bool {
        let mut moved = false;
        for at in 0..self.validators.len() {
            if at == 0 && self.sleeps() {
                self.forget(0);
                continue;
            }
            moved |= self.catch_up(at);
            moved |= self.turn(at);
        }
        moved
    }

    fn turn(&mut self, at: usize) -> bool {
        let sent = self.validators[at].turn();
        let moved = sent.is_some();
        for message in sent.into_iter().flatten() {
            self.broadcast(at, &message);
        }
        moved
    }

    fn broadcast(&mut self, from: usize, message: &Message<P>) {
        let made = self.attacker.hear(message, &self.elsewhere[from]);
        let wire = if from >= self.validators.len() - self.plan.byzantine {
            byzantine(message.clone())
        } else {
            message.clone()
        };
        let n = self.validators.len();
        for to in (0..n).filter(|to| *to != from) {
            if !self.loses(from, to, message) {
                self.deliver(from as u64, to, wire.clone());
            }
            for (attack, message) in &made {
                self.deliver(attack.peer(n), to, message.clone());
            }
        }
    }

    fn deliver(&mut self, peer: u64, to: usize, message: Message<P>) {
        if message.kind().is_some() {
            *self.sent[to].entry(peer).or_default() += 1;
        }
        self.validators[to].deliver(peer, message);
    }

    /// What has arrived at a validator has not been sent: it was offline, or the run is over.
    fn forget(&mut self, at: usize) {
        for (peer, message) in self.validators[at].sleep() {
            if message.kind().is_some() {
                *self.sent[at].entry(peer).or_default() -= 1;
            }
        }
    }

    /// Whether the first validator is offline.
    fn sleeps(&self) -> bool {
        let [own, others] = [0, 1].map(|at| self.validators[at].decided().len());
        self.plan.offline > 0 && own >= 2 && others < 2 + self.plan.offline as usize
    }

    /// A validator that is more than a height behind takes what it has missed from another one,
    /// who shows a certificate with a wrong signature first. False if it is not.
    fn catch_up(&mut self, at: usize) -> bool {
        let heights = |validator: &Validator<P>| validator.decided().len();
        let furthest = self.validators.iter().max_by_key(|v| heights(v));
        let own = heights(&self.validators[at]);
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
            *signature = corrupted(signature.as_ref());
            self.validators[at].sync(forged);
            self.validators[at].sync(certificate);
            self.turn(at);
        }
        !missed.is_empty()
    }

    /// At some heights the first round is one in which a value has a quorum of prevotes and not
    /// of precommits, and one validator sees neither: f validators miss the proposal, and a deaf
    /// one misses prevotes of f and precommits of f + 1 others.
    fn loses(&self, from: usize, to: usize, message: &Message<P>) -> bool {
        let height = message.height();
        if self.plan.drop_quorum == 0 || !height.0.is_multiple_of(self.plan.drop_quorum) {
            return false;
        }
        let n = self.validators.len();
        let faulty = (n - 1) / 3;
        // By turn, so that the proposer of the next round has seen the quorum.
        let turn = |at: usize| (at + n - proposer(n, height, Round::ZERO)) % n;
        let (from, to) = (turn(from), turn(to));
        let deaf = n - 1;
        match message {
            Message::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
                proposal.message.round == Round::ZERO && (deaf - faulty..deaf).contains(&to)
            }
            Message::Consensus(SignedConsensusMsg::Vote(vote)) => {
                let missed = match vote.message.kind {
                    VoteType::Prevote => faulty,
                    VoteType::Precommit => faulty + 1,
                };
                vote.message.round == Round::ZERO && to == deaf && from < missed
            }
            Message::Liveness(_) => false,
        }
    }

    /// Heights that everybody has decided.
    fn least(&self) -> u64 {
        let decided = self.validators.iter().map(|v| v.decided().len());
        decided.min().unwrap_or(0) as u64
    }

    /// The decisions that everybody has made.
    fn agreed(&self) -> Result<Vec<Value>, String> {
        let heights = self.plan.heights as usize;
        let values = |validator: &Validator<P>| -> Vec<Value> {
            let decided = validator.decided().iter().take(heights);
            decided.map(|certificate| certificate.value_id).collect()
        };
        let first = values(&self.validators[0]);
        if self.validators.iter().any(|v| values(v) != first) {
            return Err("decisions differ".into());
        }
        Ok(first)
    }
}

/// The message with a wrong signature.
fn byzantine<P: ParameterSet>(message: Message<P>) -> Message<P> {
    fn wrong<P: ParameterSet, M>(signed: SignedMessage<Chain<P>, M>) -> SignedMessage<Chain<P>, M> {
        let signature = corrupted(signed.signature.as_ref());
        SignedMessage::new(signed.message, signature)
    }
    match message {
        Message::Consensus(SignedConsensusMsg::Vote(vote)) => {
            Message::Consensus(SignedConsensusMsg::Vote(wrong(vote)))
        }
        Message::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
            Message::Consensus(SignedConsensusMsg::Proposal(wrong(proposal)))
        }
        Message::Liveness(LivenessMsg::Vote(vote)) => {
            Message::Liveness(LivenessMsg::Vote(wrong(vote)))
        }
        certificate => certificate,
    }
}
