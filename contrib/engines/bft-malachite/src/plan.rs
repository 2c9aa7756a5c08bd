//! Parameters, result and assertions of a run.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use batch_verify::RejectReason;
use harness::{Row, Stopwatch, Strategy, check_faulty};
use mldsa_core::ParameterSet;

use crate::admission::Rejections;
use crate::chain::Value;
use crate::forgery::Forgery;
use crate::network::Network;
use crate::validator::Counts;

/// Strategies that this engine supports.
pub const STRATEGIES: [Strategy; 4] = [
    Strategy::Batched,
    Strategy::PerVote,
    Strategy::ColdKeys,
    Strategy::AwsLc,
];

/// Size and faults of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// Number of validators.
    pub validators: usize,
    /// Number of heights that all validators decide.
    pub heights: u64,
    /// The last `byzantine` validators send wrong signatures.
    pub byzantine: usize,
    /// Forged messages that outsiders send for each vote.
    pub forgeries_per_vote: usize,
    /// The first round fails at every `drop_quorum`-th height; 0 for never.
    pub drop_quorum: u64,
    /// Number of heights, from the third on, for which the first validator is disconnected. It
    /// then catches up from commit certificates.
    pub offline: u64,
    /// Number of heights after which members, order and voting power change; 0 for never.
    pub epoch_length: u64,
}

/// Result of a run.
#[derive(Debug)]
pub struct Run {
    /// Cost.
    pub row: Row,
    /// Decisions, equal at all validators.
    pub decided: Vec<Value>,
    /// By validator: messages rejected and admitted.
    pub rejections: Vec<Rejections>,
    /// By validator: certificates, catch-up and engine errors.
    pub counts: Vec<Counts>,
    /// By validator: votes and proposals delivered, by sender.
    pub delivered: Vec<BTreeMap<u64, u64>>,
    /// Number of failed rounds, all decisions.
    pub failed_rounds: i64,
    /// By decision: signers, validators, voting power of the signers, voting power of all.
    pub quorums: Vec<[u64; 4]>,
}

/// Runs one network and asserts its outcome.
///
/// # Errors
/// A plan that the engine does not tolerate, a run without progress, or a failed assertion.
pub fn run<P: ParameterSet>(plan: Plan, strategy: Strategy) -> anyhow::Result<Run> {
    ensure!(plan.validators >= 4, "at least 4 validators are needed");
    ensure!(
        plan.epoch_length == 0 || plan.drop_quorum == 0,
        "the lost messages of --drop-quorum assume a fixed set"
    );
    check_faulty(
        plan.validators,
        plan.byzantine + usize::from(plan.offline > 0),
    )?;
    let mut network = Network::<P>::new(plan, strategy)?;
    let stopwatch = Stopwatch::start();
    network.run()?;
    let description = harness::Run {
        engine: "arc-malachitebft-core-consensus 0.8.2",
        network: "one thread",
        set: P::NAME,
        strategy,
        validators: plan.validators,
        views: plan.heights,
    };
    let row = Row::new(&description, stopwatch, &network.meter);
    let result = network.finish(row, strategy)?;
    result
        .check(&plan, strategy)
        .with_context(|| strategy.name())?;
    Ok(result)
}

impl Run {
    fn check(&self, plan: &Plan, strategy: Strategy) -> anyhow::Result<()> {
        let sum = |of: fn(&Counts) -> u64| self.counts.iter().map(of).sum::<u64>();
        let rejected = |r: &Rejections| r.on_request + r.by_peer.values().sum::<u64>();
        let rejected: u64 = self.rejections.iter().map(rejected).sum();
        ensure!(
            self.decided.len() as u64 == plan.heights,
            "not every height was decided"
        );
        ensure!(
            sum(|c| c.equivocations) == 0,
            "an honest validator counts as equivocator"
        );
        ensure!(sum(|c| c.errors) == 0, "the core rejected an input");
        ensure!(
            (rejected > 0) == (plan.byzantine + plan.forgeries_per_vote > 0),
            "{rejected} signatures rejected"
        );
        if strategy == Strategy::Batched {
            self.check_peers(plan)?;
        }
        let late_invalid: u64 = self.rejections.iter().map(|r| r.late_invalid).sum();
        ensure!(
            late_invalid == 0 || plan.byzantine + plan.forgeries_per_vote > 0,
            "{late_invalid} late votes of honest validators rejected"
        );
        for [_, _, power, total] in &self.quorums {
            ensure!(3 * power > 2 * total, "a decision without a quorum");
        }
        // With wrong signatures another round than the planned one may fail.
        if (1..=plan.heights).contains(&plan.drop_quorum) && plan.byzantine == 0 {
            ensure!(self.failed_rounds > 0, "no round has failed");
            ensure!(
                sum(|c| c.certificates[1]) > 0 && sum(|c| c.certificates[2]) > 0,
                "no polka or round certificate was verified"
            );
        }
        let first = &self.counts[0];
        ensure!(
            plan.offline == 0 || (first.synced >= plan.offline && first.rejected >= plan.offline),
            "missed heights were not verified: {first:?}"
        );
        Ok(())
    }

    /// Asserts that each validator rejected the messages of each faulty sender, for the right
    /// reason, and admitted all messages of the honest ones.
    fn check_peers(&self, plan: &Plan) -> anyhow::Result<()> {
        let honest = plan.validators - plan.byzantine;
        let expected = |peer: u64| match usize::try_from(peer) {
            Ok(peer) if peer < honest => None,
            Ok(peer) if peer < plan.validators => Some(RejectReason::ChallengeMismatch),
            _ => Forgery::ALL
                .iter()
                .find(|forgery| forgery.peer(plan.validators) == peer)
                .and_then(|forgery| forgery.reason()),
        };
        for (delivered, rejections) in self.delivered.iter().zip(&self.rejections) {
            let (mut admitted, mut by_peer) = (BTreeMap::new(), BTreeMap::new());
            for (&peer, &delivered) in delivered {
                let unverified = rejections.unverified.get(&peer).unwrap_or(&0);
                match (delivered - unverified, expected(peer)) {
                    (0, _) => None,
                    (count, None) => admitted.insert(peer, count),
                    (count, Some(reason)) => by_peer.insert((peer, reason), count),
                };
            }
            ensure!(
                admitted == rejections.admitted && by_peer == rejections.by_peer,
                "expected {admitted:?} and {by_peer:?}, counted {rejections:?}"
            );
        }
        Ok(())
    }
}
