//! All validators in the deterministic simulator.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use commonware_consensus::simplex::max_payload_size;
use commonware_cryptography::{ed25519::PublicKey as Identity, sha256::Digest};
use commonware_mldsa::{Scheme, Validators};
use commonware_p2p::{
    Message, Receiver, max_message_size,
    simulated::{self, Link, Oracle},
};
use commonware_parallel::Sequential;
use commonware_runtime::{
    Clock as _, Handle, IoBuf, Metrics as _, Runner as _, Spawner as _, Supervisor as _,
    deterministic::{self, Context},
};
use commonware_utils::{NZUsize, probability};
use harness::Row;
use mldsa_core::ParameterSet;

use crate::Options;
use crate::attack::Attack;
use crate::engine;
use crate::members::Members;
use crate::metered::Metered;
use crate::node::{self, Application};
use crate::observer::{Observer, Outcome, Reports};

type Network = Oracle<Identity, Context>;

/// Senders and receivers of one validator.
type Ends = [(simulated::Sender<Identity, Context>, Unshared); 3];

/// Receiver that copies votes out of the receive buffer. The engine keeps votes for several views;
/// without the copy each would keep a buffer that also contains certificates.
#[derive(Debug)]
struct Unshared(simulated::Receiver<Identity>);

impl Unshared {
    /// Upper bound on the length of a vote.
    const VOTE: usize = 8192;
}

impl Receiver for Unshared {
    type Error = <simulated::Receiver<Identity> as Receiver>::Error;
    type PublicKey = Identity;

    async fn recv(&mut self) -> Result<Message<Identity>, Self::Error> {
        let (peer, message) = self.0.recv().await?;
        let bytes = message.as_ref();
        let copied = (bytes.len() <= Self::VOTE).then(|| IoBuf::copy_from_slice(bytes));
        Ok((peer, copied.unwrap_or(message)))
    }

    fn capacity(&self) -> NonZeroUsize {
        self.0.capacity()
    }
}

pub(crate) fn run<P: ParameterSet>(options: &Options, members: &Members<P>) -> anyhow::Result<Row> {
    let run = |hedged| {
        // No limit here: the runtime would panic instead of returning an error.
        let runner = deterministic::Runner::new(deterministic::Config::new());
        runner.start(|context| async move {
            let simulation = Simulation::new(context, options, members, hedged).await?;
            if options.hedged {
                simulation.retry().await
            } else {
                simulation.run().await
            }
        })
    };
    if options.hedged {
        run(false)?;
    }
    run(options.hedged)
}

struct Simulation<'a, P: ParameterSet> {
    context: Context,
    options: &'a Options,
    members: &'a Members<P>,
    peers: Vec<Identity>,
    network: Network,
    /// Sign with fresh randomness.
    hedged: bool,
}

impl<'a, P: ParameterSet> Simulation<'a, P> {
    async fn new(
        context: Context,
        options: &'a Options,
        members: &'a Members<P>,
        hedged: bool,
    ) -> anyhow::Result<Self> {
        let peers: Vec<Identity> = members.all.iter().map(|member| member.public()).collect();
        let count = NonZeroUsize::new(peers.len()).unwrap_or(NonZeroUsize::MIN);
        let validators = u32::try_from(options.validators()).unwrap_or(u32::MAX);
        let payload = max_payload_size::<Scheme<P, Metered>, Digest>(validators);
        let config = simulated::Config {
            max_size: max_message_size(&[payload]),
            max_peers_per_set: count,
            disconnect_on_block: false,
            tracked_peer_sets: NZUsize!(1),
        };
        let (started, network) =
            simulated::Network::new_with_peers(context.child("network"), config, peers.clone())
                .await;
        started.start();
        let latency = Duration::from_millis(options.latency_ms);
        let link = Link {
            latency,
            jitter: latency / 10,
            success_rate: probability!(1.0),
        };
        for from in &peers {
            for to in peers.iter().filter(|to| *to != from) {
                network
                    .add_link(from.clone(), to.clone(), link.clone())
                    .await?;
            }
        }
        if let Some(mbit) = options.mbit {
            let bytes = Some(mbit as usize * 125_000);
            for peer in &peers {
                network.limit_bandwidth(peer.clone(), bytes, bytes).await?;
            }
        }
        Ok(Self {
            context,
            options,
            members,
            peers,
            network,
            hedged,
        })
    }

    async fn run(&self) -> anyhow::Result<Row> {
        let validators = self.options.validators();
        let (reports, mut observer) = Observer::new(self.options, self.members, &self.context);
        let mut running = Vec::new();
        for n in 0..validators {
            running.push(self.start(n, 1, &self.members.first, &reports).await?);
        }
        if self.options.crash
            && let Some(last) = running.last_mut()
        {
            self.crash(last, &mut observer, &reports).await?;
        }
        let honest: Vec<usize> = (self.options.faulty()..validators).collect();
        let guilty = (0..self.options.faulty()).collect();
        observer.until_blocked(1, &honest, &guilty).await?;
        observer.assert_safety(&guilty)?;
        observer.assert_rejections(&guilty)?;
        if self.options.epoch {
            self.second_epoch(running, &mut observer, &reports, guilty)
                .await?;
        }
        Ok(observer.row(journal_bytes(&self.context.encode())))
    }

    /// Starts too few members for a quorum, so that they nullify a view repeatedly. Repeated
    /// nullify votes with equal bytes must not block any member; hedged ones block honest members.
    async fn retry(&self) -> anyhow::Result<Row> {
        let (reports, mut observer) = Observer::new(self.options, self.members, &self.context);
        for n in 0..self.options.validators() / 2 {
            self.start(n, 1, &self.members.first, &reports).await?;
        }
        let blocked = observer
            .reaches(|outcome| !outcome.blocked.is_empty())
            .await;
        ensure!(
            blocked == self.hedged,
            "hedged: {}, honest member blocked: {blocked}",
            self.hedged
        );
        Ok(observer.row(journal_bytes(&self.context.encode())))
    }

    /// Stops the last member after a third of the views and restarts it after another third.
    async fn crash(
        &self,
        engine: &mut Handle<()>,
        observer: &mut Observer<'_, P>,
        reports: &Reports,
    ) -> anyhow::Result<()> {
        let last = self.options.validators() - 1;
        let third = (self.options.views / 3).max(1);
        let done = |outcome: &Outcome| outcome.reached(last, 1, third);
        observer.until("third of the views", done).await?;
        stop(engine).await;
        observer.drain();
        let before = observer.outcome.count(last);

        let others = self.options.faulty()..last;
        let done = |outcome: &Outcome| others.clone().all(|n| outcome.reached(n, 1, 2 * third));
        observer
            .until("two thirds of the views at the others", done)
            .await?;
        ensure!(
            observer.outcome.count(last) == before,
            "a stopped member finalised a block"
        );
        *engine = self.start(last, 1, &self.members.first, reports).await?;
        let done = |outcome: &Outcome| outcome.count(last) > before;
        observer.until("block of the restarted member", done).await
    }

    /// Second epoch: the first honest member leaves, another one joins. The former member keeps
    /// sending votes of the first epoch and must be blocked by all.
    async fn second_epoch(
        &self,
        first: Vec<Handle<()>>,
        observer: &mut Observer<'_, P>,
        reports: &Reports,
        mut guilty: BTreeSet<usize>,
    ) -> anyhow::Result<()> {
        for mut engine in first {
            stop(&mut engine).await;
        }
        let leaving = self.options.faulty();
        let all = 0..self.members.all.len();
        let second = self.members.second(leaving)?;
        for n in all.clone().filter(|n| *n != leaving) {
            self.start(n, 2, &second, reports).await?;
        }
        let scheme = self.members.scheme(leaving, &self.members.first, false)?;
        self.attack(leaving, 2, Attack::Stale, scheme).await?;

        let honest: Vec<usize> = all.skip(leaving + 1).collect();
        guilty.insert(leaving);
        observer.until_blocked(2, &honest, &guilty).await?;
        observer.assert_safety(&guilty)
    }

    /// Starts the engine of a member in an epoch, or its attack.
    async fn start(
        &self,
        n: usize,
        epoch: u64,
        validators: &Arc<Validators<P>>,
        reports: &Reports,
    ) -> anyhow::Result<Handle<()>> {
        let scheme = self.members.scheme(n, validators, self.hedged)?;
        if n < self.options.attackers {
            return self.attack(n, epoch, Attack::nth(n), scheme).await;
        }
        let clock = self.context.child("clock");
        let application = Application {
            node: n,
            epoch,
            now: Arc::new(move || clock.current()),
            reports: reports.clone(),
        };
        let context = self.context.child("validator").with_attribute("n", n);
        let context = context.with_attribute("epoch", epoch);
        let blocker = self.network.control(self.peers[n].clone());
        let ends = self.ends(n, epoch).await?;
        Ok(node::start(
            context,
            scheme,
            blocker,
            Sequential,
            application,
            ends,
        ))
    }

    async fn attack(
        &self,
        n: usize,
        epoch: u64,
        attack: Attack,
        scheme: Scheme<P, Metered>,
    ) -> anyhow::Result<Handle<()>> {
        let victims = self.peers.iter().enumerate().filter(|(peer, _)| *peer != n);
        let victims = victims.map(|(_, peer)| peer.clone()).collect();
        let [(sender, receiver), ..] = self.ends(n, epoch).await?;
        let context = self.context.child("attack").with_attribute("n", n);
        let context = context.with_attribute("epoch", epoch);
        Ok(context.spawn(move |_| attack.run(scheme, victims, sender, receiver)))
    }

    /// Registers new channels of a member for an epoch. Epochs do not share channels, because
    /// votes in flight at the end of an epoch would block their honest senders in the next.
    async fn ends(&self, n: usize, epoch: u64) -> anyhow::Result<Ends> {
        let control = self.network.control(self.peers[n].clone());
        let register = async |channel| {
            let ends = control.register(channel, engine::quota()).await;
            ends.map(|(sender, receiver)| (sender, Unshared(receiver)))
        };
        Ok([
            register(3 * epoch).await?,
            register(3 * epoch + 1).await?,
            register(3 * epoch + 2).await?,
        ])
    }
}

/// Stops an engine without flushing, as a crash does.
async fn stop(engine: &mut Handle<()>) {
    engine.abort();
    let _ = engine.await;
}

/// Bytes written to journals, from the metrics of the runtime.
pub(crate) fn journal_bytes(metrics: &str) -> Option<u64> {
    let line = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        let counted = name.contains("storage_write_bytes") && !name.starts_with('#');
        counted.then(|| value.parse::<u64>().ok())?
    };
    let counted: Vec<u64> = metrics.lines().filter_map(line).collect();
    (!counted.is_empty()).then(|| counted.iter().sum())
}
