//! Events reported by validators, and the assertions of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{bail, ensure};
use commonware_cryptography::{ed25519::PublicKey as Identity, sha256::Digest};
use commonware_runtime::Clock;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{BoxFuture, Either, FutureExt as _, select};
use futures::stream::StreamExt as _;
use harness::{Finality, Row, Run, Stopwatch};
use mldsa_core::ParameterSet;
use parking_lot::Mutex;

use crate::Options;
use crate::members::Members;

const ENGINE: &str = "commonware-consensus 2026.10.0 simplex";

/// Block finalised by a validator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Validator, numbered in the order in which the members were created.
    pub(crate) node: usize,
    /// Epoch, from 1.
    pub(crate) epoch: u64,
    /// View, from 1. Views without a finalised block are absent.
    pub(crate) view: u64,
    /// Block digest, equal at all validators.
    pub(crate) payload: Digest,
}

/// Event at a validator.
pub(crate) enum Event {
    Finalized {
        block: Block,
        /// Time since the proposal, if it was made in this process.
        latency: Option<Duration>,
        certificate_bytes: usize,
    },
    /// The engine has evidence that a member voted for two different things.
    Fault { node: usize, what: &'static str },
    /// The engine blocked a peer.
    Blocked { node: usize, peer: Identity },
}

/// Sender of events.
#[derive(Clone)]
pub(crate) struct Reports {
    events: UnboundedSender<Event>,
    /// Proposal times by (epoch, view).
    proposed: Arc<Mutex<HashMap<(u64, u64), SystemTime>>>,
}

impl Reports {
    pub(crate) fn proposed(&self, epoch: u64, view: u64, now: SystemTime) {
        self.proposed.lock().entry((epoch, view)).or_insert(now);
    }

    pub(crate) fn finalized(&self, block: Block, certificate_bytes: usize, now: SystemTime) {
        let proposed = self.proposed.lock();
        let proposed = proposed.get(&(block.epoch, block.view)).copied();
        let latency = proposed.map(|proposed| now.duration_since(proposed).unwrap_or_default());
        self.send(Event::Finalized {
            block,
            latency,
            certificate_bytes,
        });
    }

    pub(crate) fn send(&self, event: Event) {
        // Fails after the end of the run only, when the receiver was dropped.
        let _ = self.events.unbounded_send(event);
    }
}

/// Events received so far.
#[derive(Default)]
pub(crate) struct Outcome {
    /// First block reported for each (epoch, view).
    blocks: BTreeMap<(u64, u64), Block>,
    disagreement: Option<(Block, Block)>,
    /// By validator: latest (epoch, view) and number of finalised blocks.
    finalized: BTreeMap<usize, ((u64, u64), u64)>,
    faults: Vec<(usize, &'static str)>,
    /// By blocked member: honest members that block it.
    pub(crate) blocked: BTreeMap<usize, BTreeSet<usize>>,
    finality: Finality,
    certificate_bytes: usize,
}

impl Outcome {
    /// Whether a validator has finalised a view of an epoch, or a later one.
    pub(crate) fn reached(&self, node: usize, epoch: u64, view: u64) -> bool {
        let latest = self.finalized.get(&node);
        latest.is_some_and(|(latest, _)| *latest >= (epoch, view))
    }

    fn blocks_all(&self, node: usize, guilty: &BTreeSet<usize>) -> bool {
        let blocked_by = |guilty| {
            self.blocked
                .get(guilty)
                .is_some_and(|by| by.contains(&node))
        };
        guilty.iter().all(blocked_by)
    }

    /// Number of blocks that a validator has finalised.
    pub(crate) fn count(&self, node: usize) -> u64 {
        self.finalized.get(&node).map_or(0, |(_, count)| *count)
    }

    fn add(&mut self, block: Block) {
        let at = (block.epoch, block.view);
        let first = *self.blocks.entry(at).or_insert(block);
        if first.payload != block.payload {
            self.disagreement = Some((first, block));
        }
        let (latest, count) = self.finalized.entry(block.node).or_default();
        *latest = at.max(*latest);
        *count += 1;
    }
}

/// Receiver of the events of a process.
pub(crate) struct Observer<'a, P: ParameterSet> {
    options: &'a Options,
    members: &'a Members<P>,
    events: UnboundedReceiver<Event>,
    limit: BoxFuture<'static, ()>,
    pub(crate) outcome: Outcome,
    stopwatch: Stopwatch,
}

impl<'a, P: ParameterSet> Observer<'a, P> {
    pub(crate) fn new(
        options: &'a Options,
        members: &'a Members<P>,
        clock: &impl Clock,
    ) -> (Reports, Self) {
        let (sender, events) = unbounded();
        let reports = Reports {
            events: sender,
            proposed: Arc::default(),
        };
        let observer = Self {
            options,
            members,
            events,
            limit: clock.sleep(Duration::from_secs(options.seconds)).boxed(),
            outcome: Outcome::default(),
            stopwatch: Stopwatch::start(),
        };
        (reports, observer)
    }

    /// Receives events until `done`. Returns false if `--seconds` have passed before.
    pub(crate) async fn reaches(&mut self, done: impl Fn(&Outcome) -> bool) -> bool {
        while !done(&self.outcome) {
            match select(self.events.next(), &mut self.limit).await {
                Either::Left((Some(event), _)) => self.record(event),
                Either::Left((None, _)) | Either::Right(_) => return false,
            }
        }
        true
    }

    /// Receives events until `done`, or fails after `--seconds`.
    pub(crate) async fn until(
        &mut self,
        waiting_for: &str,
        done: impl Fn(&Outcome) -> bool,
    ) -> anyhow::Result<()> {
        if !self.reaches(done).await {
            bail!("no {waiting_for} after {} s", self.options.seconds);
        }
        Ok(())
    }

    /// Receives the events that are already in the channel.
    pub(crate) fn drain(&mut self) {
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.record(event);
        }
    }

    fn record(&mut self, event: Event) {
        match event {
            Event::Finalized {
                block,
                latency,
                certificate_bytes,
            } => {
                let largest = &mut self.outcome.certificate_bytes;
                *largest = certificate_bytes.max(*largest);
                if let Some(latency) = latency {
                    self.outcome.finality.record(latency);
                }
                self.outcome.add(block);
            }
            Event::Fault { node, what } => self.outcome.faults.push((node, what)),
            Event::Blocked { node, peer } => {
                // Blocks by faulty members prove nothing and are ignored.
                if let Some(peer) = self.members.position(&peer)
                    && node >= self.options.faulty()
                {
                    self.outcome.blocked.entry(peer).or_default().insert(node);
                }
            }
        }
    }

    /// Receives events until each of `honest` has finalised the last view of an epoch and blocks
    /// all of `guilty`. An engine verifies the votes it has when they reach a quorum, so in a
    /// given view an honest member may or may not verify a wrong vote.
    pub(crate) async fn until_blocked(
        &mut self,
        epoch: u64,
        honest: &[usize],
        guilty: &BTreeSet<usize>,
    ) -> anyhow::Result<()> {
        let views = self.options.views;
        let waiting_for = format!(
            "view {views} of epoch {epoch} at all of {honest:?} with all of {guilty:?} blocked"
        );
        let done = |outcome: &Outcome| {
            let done =
                |&n: &usize| outcome.reached(n, epoch, views) && outcome.blocks_all(n, guilty);
            honest.iter().all(done)
        };
        self.until(&waiting_for, done).await
    }

    /// Asserts safety: validators agree, no member has voted twice, and only `guilty` are blocked.
    pub(crate) fn assert_safety(&self, guilty: &BTreeSet<usize>) -> anyhow::Result<()> {
        let outcome = &self.outcome;
        let (disagreement, faults) = (&outcome.disagreement, &outcome.faults);
        ensure!(
            disagreement.is_none(),
            "validators disagree: {disagreement:?}"
        );
        ensure!(faults.is_empty(), "double votes: {faults:?}");
        let blocked: BTreeSet<usize> = outcome.blocked.keys().copied().collect();
        ensure!(
            blocked.is_subset(guilty),
            "blocked: {blocked:?}, expected: {guilty:?}"
        );
        Ok(())
    }

    /// Asserts that signatures were rejected if and only if members are faulty.
    pub(crate) fn assert_rejections(&self, guilty: &BTreeSet<usize>) -> anyhow::Result<()> {
        let rejected = self.members.meter.counters().invalid();
        ensure!(
            (rejected > 0) != guilty.is_empty(),
            "{rejected} signatures rejected with faulty members {guilty:?}"
        );
        Ok(())
    }

    /// Row of the run. `journal_bytes` covers all validators of this process.
    pub(crate) fn row(&self, journal_bytes: Option<u64>) -> Row {
        let (options, outcome) = (self.options, &self.outcome);
        let network = match options.mbit {
            Some(mbit) => format!("{}, {mbit} Mbit/s", options.net),
            None => options.net.to_string(),
        };
        let run = Run {
            engine: ENGINE,
            network: &network,
            set: P::NAME,
            strategy: self.members.strategy,
            validators: options.validators(),
            views: outcome.blocks.len() as u64,
        };
        Row {
            finality_ms: outcome.finality.quantiles(),
            certificate_bytes: Some(outcome.certificate_bytes),
            journal_bytes,
            blocked: outcome
                .blocked
                .keys()
                .map(|n| format!("member {n}"))
                .collect(),
            ..Row::new(&run, self.stopwatch, &self.members.meter)
        }
    }
}
