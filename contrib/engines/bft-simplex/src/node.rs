//! One validator: engine, application, reporter.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use commonware_actor::Feedback;
use commonware_codec::{Encode as _, EncodeSize as _};
use commonware_consensus::simplex::{
    Config, Engine, Floor, ForwardPolicy, Plan, SkipBudget, SkipPolicy,
    elector::RoundRobin,
    scheme::Scheme,
    types::{Activity, Context},
};
use commonware_consensus::{
    Automaton, CertifiableAutomaton, Relay, Reporter, Viewable as _,
    types::{Epoch, ViewDelta},
};
use commonware_cryptography::{
    Hasher as _, Sha256, certificate, ed25519::PublicKey as Identity, sha256::Digest,
};
use commonware_p2p::{BlockedSubscription, Blocker, Receiver, Sender};
use commonware_parallel::Strategy;
use commonware_runtime::{
    Clock, Handle, Metrics, Quota, Spawner, Storage, buffer::paged::CacheRef,
};
use commonware_utils::{
    NZDuration, NZU16, NZU32, NZUsize,
    channel::{fallible::OneshotExt as _, oneshot},
};
use rand_core::CryptoRng;

use crate::observer::{Block, Event, Reports};

/// Clock of the runtime; virtual in the simulator.
pub(crate) type Now = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Application of one validator: proposes the hash of the round and accepts every proposal.
#[derive(Clone)]
pub(crate) struct Application {
    pub(crate) node: usize,
    pub(crate) epoch: u64,
    pub(crate) now: Now,
    pub(crate) reports: Reports,
}

impl Automaton for Application {
    type Context = Context<Digest, Identity>;
    type Digest = Digest;

    async fn propose(&mut self, context: Self::Context) -> oneshot::Receiver<Digest> {
        let (sender, receiver) = oneshot::channel();
        let view = context.round.view().get();
        self.reports.proposed(self.epoch, view, (self.now)());
        sender.send_lossy(Sha256::hash(&[&context.round.encode()]));
        receiver
    }

    async fn verify(&mut self, _: Self::Context, _: Digest) -> oneshot::Receiver<bool> {
        let (sender, receiver) = oneshot::channel();
        sender.send_lossy(true);
        receiver
    }
}

impl CertifiableAutomaton for Application {}

impl Relay for Application {
    type Digest = Digest;
    type PublicKey = Identity;
    type Plan = Plan<Identity>;

    /// No-op: a block consists of its digest, which is part of the proposal.
    fn broadcast(&mut self, _: Digest, _: Plan<Identity>) -> Feedback {
        Feedback::Ok
    }
}

/// Reporter of finalised blocks and evidence of misbehaviour.
struct EngineReporter<S> {
    application: Application,
    scheme: PhantomData<fn() -> S>,
}

impl<S> Clone for EngineReporter<S> {
    fn clone(&self) -> Self {
        Self {
            application: self.application.clone(),
            scheme: PhantomData,
        }
    }
}

impl<S: certificate::Scheme> Reporter for EngineReporter<S> {
    type Activity = Activity<S, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        let Application {
            node,
            epoch,
            now,
            reports,
        } = &self.application;
        let fault = |what| reports.send(Event::Fault { node: *node, what });
        match activity {
            Activity::Finalization(finalization) => {
                let block = Block {
                    node: *node,
                    epoch: *epoch,
                    view: finalization.view().get(),
                    payload: finalization.proposal.payload,
                };
                reports.finalized(block, finalization.certificate.encode_size(), now());
            }
            Activity::ConflictingNotarize(_) => fault("notarised two blocks"),
            Activity::ConflictingFinalize(_) => fault("finalised two blocks"),
            Activity::NullifyFinalize(_) => fault("nullified and finalised"),
            _ => {}
        }
        Feedback::Ok
    }
}

/// Blocker that reports each blocked peer.
#[derive(Clone)]
struct ReportingBlocker<B> {
    blocker: B,
    application: Application,
}

impl<B: Blocker<PublicKey = Identity>> Blocker for ReportingBlocker<B> {
    type PublicKey = Identity;

    fn block(&mut self, peer: Identity) -> Feedback {
        self.application.reports.send(Event::Blocked {
            node: self.application.node,
            peer: peer.clone(),
        });
        self.blocker.block(peer)
    }

    fn blocked(&mut self) -> BlockedSubscription<Identity> {
        self.blocker.blocked()
    }
}

/// Message quota per peer and channel. The engine reserves memory for one burst of every peer, so
/// memory use grows with the burst and with the square of the number of validators.
pub(crate) fn quota() -> Quota {
    Quota::per_second(NZU32!(4096)).allow_burst(NZU32!(128))
}

/// Starts the engine of one validator on its channels for votes, certificates and requests.
pub(crate) fn start<E, S, B, T>(
    context: E,
    scheme: S,
    blocker: B,
    strategy: T,
    application: Application,
    channels: [(
        impl Sender<PublicKey = Identity>,
        impl Receiver<PublicKey = Identity>,
    ); 3],
) -> Handle<()>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
    S: Scheme<Digest> + certificate::Verifier<PublicKey = Identity>,
    B: Blocker<PublicKey = Identity>,
    T: Strategy,
{
    let config = Config {
        scheme,
        elector: RoundRobin::<Sha256>::default(),
        blocker: ReportingBlocker {
            blocker,
            application: application.clone(),
        },
        automaton: application.clone(),
        relay: application.clone(),
        reporter: EngineReporter {
            application: application.clone(),
            scheme: PhantomData,
        },
        track_historical_votes: false,
        strategy,
        partition: format!("epoch-{}-validator-{}", application.epoch, application.node),
        // Reserved in advance as well. The engine keeps messages that do not fit.
        mailbox_size: NZUsize!(128),
        epoch: Epoch::new(application.epoch),
        floor: Floor::Genesis(Sha256::hash(&[&application.epoch.to_be_bytes()])),
        replay_buffer: NZUsize!(1 << 20),
        write_buffer: NZUsize!(1 << 20),
        page_cache: CacheRef::new(NZU16!(16_384), NZUsize!(64)),
        leader_timeout: Duration::from_secs(2),
        certification_timeout: Duration::from_secs(4),
        timeout_retry: Duration::from_secs(5),
        fetch_timeout: NZDuration!(Duration::from_secs(2)),
        fetch_retry_delay: Duration::from_millis(100),
        view_retention: ViewDelta::new(10),
        skip: SkipPolicy::Enabled {
            timeout: Duration::from_secs(12),
            budget: SkipBudget::Participants,
        },
        forward: ForwardPolicy::Disabled,
    };
    let [votes, certificates, requests] = channels;
    Engine::new(context, config).start(votes, certificates, requests)
}
