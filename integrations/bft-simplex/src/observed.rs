//! What validators tell, and what a run may claim of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use commonware_cryptography::ed25519::PublicKey as Identity;
use commonware_runtime::Clock;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{BoxFuture, Either, FutureExt as _, select};
use futures::stream::StreamExt as _;
use measure::{Finality, ProcessTime, Row};
use mldsa_core::ParameterSet;
use parking_lot::Mutex;

use crate::members::Members;
use crate::{Block, Hook, Options, RunError};

/// The engine of every row.
const ENGINE: &str = "commonware-consensus 2026.10.0 simplex";

/// What a validator tells.
pub(crate) enum Event {
    Finalized {
        block: Block,
        /// Since the proposal, if it was made in this process.
        latency: Option<Duration>,
        certificate_bytes: usize,
    },
    /// Proof that a member voted for two things.
    Fault { node: usize, what: &'static str },
    /// A validator wants nothing more of a peer.
    Blocked { node: usize, peer: Identity },
}

/// Where validators tell it.
#[derive(Clone)]
pub(crate) struct Reports {
    events: UnboundedSender<Event>,
    hook: Hook,
    /// When the blocks of (epoch, view) were proposed.
    proposed: Arc<Mutex<HashMap<(u64, u64), SystemTime>>>,
}

impl Reports {
    pub(crate) fn proposed(&self, epoch: u64, view: u64, now: SystemTime) {
        self.proposed.lock().entry((epoch, view)).or_insert(now);
    }

    pub(crate) fn finalized(&self, block: Block, certificate_bytes: usize, now: SystemTime) {
        (self.hook)(&block);
        let proposed = self
            .proposed
            .lock()
            .get(&(block.epoch, block.view))
            .copied();
        let since = |proposed| now.duration_since(proposed).unwrap_or_default();
        self.tell(Event::Finalized {
            block,
            latency: proposed.map(since),
            certificate_bytes,
        });
    }

    pub(crate) fn tell(&self, event: Event) {
        // The run is over when nobody listens.
        let _ = self.events.unbounded_send(event);
    }
}

/// What is known so far.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The blocks by (epoch, view): validators must agree on them.
    blocks: BTreeMap<(u64, u64), Block>,
    disagreement: Option<(Block, Block)>,
    /// The latest (epoch, view) and the number of finalised blocks, by validator.
    finalized: BTreeMap<usize, ((u64, u64), u64)>,
    faults: Vec<(usize, &'static str)>,
    /// Who is blocked, by whom.
    pub(crate) blocked: BTreeMap<usize, BTreeSet<usize>>,
    finality: Finality,
    certificate_bytes: usize,
}

impl Outcome {
    /// Whether a validator has come to a view of an epoch.
    pub(crate) fn reached(&self, node: usize, epoch: u64, view: u64) -> bool {
        let latest = self.finalized.get(&node);
        latest.is_some_and(|(latest, _)| *latest >= (epoch, view))
    }

    /// Whether a validator blocks all of `guilty`.
    pub(crate) fn blocks(&self, node: usize, guilty: &BTreeSet<usize>) -> bool {
        let by_node = |guilty| {
            let by = self.blocked.get(guilty);
            by.is_some_and(|by: &BTreeSet<usize>| by.contains(&node))
        };
        guilty.iter().all(by_node)
    }

    /// Blocks that a validator has finalised.
    pub(crate) fn count(&self, node: usize) -> u64 {
        self.finalized.get(&node).map_or(0, |(_, count)| *count)
    }

    fn add(&mut self, block: Block) {
        let place = (block.epoch, block.view);
        let other = *self.blocks.entry(place).or_insert(block);
        if other.payload != block.payload {
            self.disagreement = Some((other, block));
        }
        let (latest, count) = self.finalized.entry(block.node).or_default();
        *latest = place.max(*latest);
        *count += 1;
    }
}

/// Listens to the validators of a process.
pub(crate) struct Observer<'a, P: ParameterSet> {
    options: &'a Options,
    members: &'a Members<P>,
    events: UnboundedReceiver<Event>,
    limit: BoxFuture<'static, ()>,
    pub(crate) outcome: Outcome,
    wall: Instant,
    cpu: ProcessTime,
}

impl<'a, P: ParameterSet> Observer<'a, P> {
    pub(crate) fn new(
        options: &'a Options,
        members: &'a Members<P>,
        hook: &Hook,
        clock: &impl Clock,
    ) -> (Reports, Self) {
        let (sender, events) = unbounded();
        let reports = Reports {
            events: sender,
            hook: hook.clone(),
            proposed: Arc::default(),
        };
        let observer = Self {
            options,
            members,
            events,
            limit: clock.sleep(Duration::from_secs(options.seconds)).boxed(),
            outcome: Outcome::default(),
            wall: Instant::now(),
            cpu: ProcessTime::now(),
        };
        (reports, observer)
    }

    /// Listens until `done`, or until the run's time is over.
    pub(crate) async fn until(
        &mut self,
        waiting_for: &str,
        done: impl Fn(&Outcome) -> bool,
    ) -> Result<(), RunError> {
        while !done(&self.outcome) {
            match select(self.events.next(), &mut self.limit).await {
                Either::Left((Some(event), _)) => self.hear(event),
                Either::Left((None, _)) | Either::Right(_) => {
                    return Err(RunError::OutOfTime {
                        seconds: self.options.seconds,
                        waiting_for: waiting_for.into(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Listens to what has been told already.
    pub(crate) fn catch_up(&mut self) {
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.hear(event);
        }
    }

    fn hear(&mut self, event: Event) {
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
                // What a faulty member thinks of others proves nothing.
                if let Some(peer) = self.members.position(&peer)
                    && node >= self.options.faulty()
                {
                    self.outcome.blocked.entry(peer).or_default().insert(node);
                }
            }
        }
    }

    /// Listens until each of `honest` has come to the last view of an epoch and blocks all of
    /// `guilty`. A wrong vote is judged by those who have it when they have a quorum's votes, so
    /// in each view everybody may get to judge it, or not.
    pub(crate) async fn until_caught(
        &mut self,
        epoch: u64,
        honest: &[usize],
        guilty: &BTreeSet<usize>,
    ) -> Result<(), RunError> {
        let views = self.options.views;
        let waiting_for = format!(
            "view {views} of epoch {epoch} at all of {honest:?}, who block all of {guilty:?}"
        );
        let done = |outcome: &Outcome| {
            let done = |&n: &usize| outcome.reached(n, epoch, views) && outcome.blocks(n, guilty);
            honest.iter().all(done)
        };
        self.until(&waiting_for, done).await
    }

    /// Asserts what every run claims: validators agree, nobody is proven to have voted twice, and
    /// nobody but `guilty` is blocked by anybody else.
    pub(crate) fn claim(&self, guilty: &BTreeSet<usize>) -> Result<(), RunError> {
        let outcome = &self.outcome;
        RunError::unless(outcome.disagreement.is_none(), || {
            format!("validators agree: {:?}", outcome.disagreement)
        })?;
        RunError::unless(outcome.faults.is_empty(), || {
            format!("nobody votes twice: {:?}", outcome.faults)
        })?;
        let blocked: BTreeSet<usize> = outcome.blocked.keys().copied().collect();
        RunError::unless(blocked.is_subset(guilty), || {
            format!("nobody but {guilty:?} is blocked; {blocked:?} are")
        })
    }

    /// Asserts that signatures were refused if and only if members are faulty.
    pub(crate) fn claim_refused(&self, guilty: &BTreeSet<usize>) -> Result<(), RunError> {
        let refused = self.members.meter.refused();
        RunError::unless((refused > 0) != guilty.is_empty(), || {
            format!("votes are refused if members are faulty; {refused} were")
        })
    }

    /// The row of the run. Journals are of all validators of this process.
    pub(crate) fn row(&self, journal_bytes: Option<u64>) -> Row {
        let (options, outcome) = (self.options, &self.outcome);
        let mut row = Row::new(
            ENGINE,
            &network(options),
            P::NAME,
            self.members.how,
            options.validators,
            outcome.blocks.len() as u64,
            self.wall.elapsed(),
            self.cpu.elapsed(),
            &self.members.meter,
            &outcome.finality,
        );
        row.certificate_bytes = Some(outcome.certificate_bytes);
        row.journal_bytes = journal_bytes;
        row.blocked = self.blocked();
        row
    }

    /// Whom the honest members block, as rows name them.
    pub(crate) fn blocked(&self) -> Vec<String> {
        let name = |n: &usize| format!("member {n}");
        self.outcome.blocked.keys().map(name).collect()
    }
}

/// The network of a row, with what limits it.
fn network(options: &Options) -> String {
    match options.mbit {
        Some(mbit) => format!("{}, {mbit} Mbit/s", options.net),
        None => options.net.to_string(),
    }
}
