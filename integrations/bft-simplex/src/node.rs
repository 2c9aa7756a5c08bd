//! One validator: the engine, an application that accepts everything, a reporter.

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

use crate::Block;
use crate::observed::{Event, Reports};

/// The clock of the runtime: virtual in the simulator.
pub(crate) type Now = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The application of one validator: proposes the hash of the round and agrees to everything.
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

    /// Blocks are as long as their hash: nothing more to send.
    fn broadcast(&mut self, _: Digest, _: Plan<Identity>) -> Feedback {
        Feedback::Ok
    }
}

/// Tells what was finalised, and what proves misbehaviour.
struct Reporting<S> {
    application: Application,
    scheme: PhantomData<fn() -> S>,
}

impl<S> Clone for Reporting<S> {
    fn clone(&self) -> Self {
        Self {
            application: self.application.clone(),
            scheme: PhantomData,
        }
    }
}

impl<S: certificate::Scheme> Reporter for Reporting<S> {
    type Activity = Activity<S, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        let Application {
            node,
            epoch,
            now,
            reports,
        } = &self.application;
        let fault = |what| reports.tell(Event::Fault { node: *node, what });
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

/// Tells whom the engine blocks.
#[derive(Clone)]
struct Watched<B> {
    blocker: B,
    application: Application,
}

impl<B: Blocker<PublicKey = Identity>> Blocker for Watched<B> {
    type PublicKey = Identity;

    fn block(&mut self, peer: Identity) -> Feedback {
        self.application.reports.tell(Event::Blocked {
            node: self.application.node,
            peer: peer.clone(),
        });
        self.blocker.block(peer)
    }

    fn blocked(&mut self) -> BlockedSubscription<Identity> {
        self.blocker.blocked()
    }
}

/// What a validator takes of each peer on each channel. The engine makes room in advance for one
/// burst of every peer, so memory grows with it and the square of the validators.
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
        blocker: Watched {
            blocker,
            application: application.clone(),
        },
        automaton: application.clone(),
        relay: application.clone(),
        reporter: Reporting {
            application: application.clone(),
            scheme: PhantomData,
        },
        track_historical_votes: false,
        strategy,
        partition: format!("epoch-{}-validator-{}", application.epoch, application.node),
        // Room in advance, too. The engine keeps what does not fit.
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
