//! One validator: engine, application, reporter.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

use commonware_actor::Feedback;
use commonware_codec::{Encode as _, EncodeSize as _};
use commonware_consensus::simplex::{
    Plan,
    scheme::Scheme,
    types::{Activity, Context},
};
use commonware_consensus::{Automaton, CertifiableAutomaton, Relay, Reporter, Viewable as _};
use commonware_cryptography::{
    Hasher as _, Sha256, certificate, ed25519::PublicKey as Identity, sha256::Digest,
};
use commonware_p2p::{BlockedSubscription, Blocker, Receiver, Sender};
use commonware_parallel::Strategy;
use commonware_runtime::{Clock, Handle, Metrics, Spawner, Storage};
use commonware_utils::channel::{fallible::OneshotExt as _, oneshot};
use rand_core::CryptoRng;

use crate::engine::{self, Validator};
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
    let validator = Validator {
        scheme,
        blocker: ReportingBlocker {
            blocker,
            application: application.clone(),
        },
        reporter: EngineReporter {
            application: application.clone(),
            scheme: PhantomData,
        },
        partition: format!("epoch-{}-validator-{}", application.epoch, application.node),
        epoch: application.epoch,
        genesis: Sha256::hash(&[&application.epoch.to_be_bytes()]),
        application,
    };
    engine::start(context, strategy, validator, channels)
}
