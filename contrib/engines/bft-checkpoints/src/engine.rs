//! Engine with its settings.

use std::time::Duration;

use commonware_consensus::simplex::{
    Config, Engine, Floor, ForwardPolicy, Plan, SkipBudget, SkipPolicy,
    elector::RoundRobin,
    scheme::Scheme,
    types::{Activity, Context},
};
use commonware_consensus::{
    CertifiableAutomaton, Relay, Reporter,
    types::{Epoch, ViewDelta},
};
use commonware_cryptography::{
    Sha256, certificate, ed25519::PublicKey as Identity, sha256::Digest,
};
use commonware_p2p::{Blocker, Receiver, Sender};
use commonware_parallel::Strategy;
use commonware_runtime::{
    Clock, Handle, Metrics, Quota, Spawner, Storage, buffer::paged::CacheRef,
};
use commonware_utils::{NZDuration, NZU16, NZU32, NZUsize};
use rand_core::CryptoRng;

/// Message quota per peer and channel. The engine reserves memory for one burst of every peer, so
/// memory use grows with the burst and with the square of the number of validators.
pub(crate) fn quota() -> Quota {
    Quota::per_second(NZU32!(4096)).allow_burst(NZU32!(128))
}

/// What a validator gives to its engine.
#[derive(Clone, Debug)]
pub(crate) struct Validator<S, B, A, R> {
    /// Keys of the votes.
    pub(crate) scheme: S,
    /// Blocker of peers that break the protocol.
    pub(crate) blocker: B,
    /// Proposes, verifies and relays blocks.
    pub(crate) application: A,
    /// Receives finalised blocks.
    pub(crate) reporter: R,
    /// Name of the engine's journal.
    pub(crate) partition: String,
    /// Number of the engine's epoch.
    pub(crate) epoch: u64,
    /// Digest on which the first block is built.
    pub(crate) genesis: Digest,
}

/// Starts the engine of one validator on its channels for votes, certificates and requests.
pub(crate) fn start<E, S, B, A, R, T>(
    context: E,
    strategy: T,
    validator: Validator<S, B, A, R>,
    channels: [(
        impl Sender<PublicKey = Identity>,
        impl Receiver<PublicKey = Identity>,
    ); 3],
) -> Handle<()>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
    S: Scheme<Digest> + certificate::Verifier<PublicKey = Identity>,
    B: Blocker<PublicKey = Identity>,
    A: CertifiableAutomaton<Context = Context<Digest, Identity>, Digest = Digest>
        + Relay<Digest = Digest, PublicKey = Identity, Plan = Plan<Identity>>,
    R: Reporter<Activity = Activity<S, Digest>>,
    T: Strategy,
{
    let config = Config {
        scheme: validator.scheme,
        elector: RoundRobin::<Sha256>::default(),
        blocker: validator.blocker,
        automaton: validator.application.clone(),
        relay: validator.application,
        reporter: validator.reporter,
        track_historical_votes: false,
        strategy,
        partition: validator.partition,
        // Reserved in advance as well. The engine keeps messages that do not fit.
        mailbox_size: NZUsize!(128),
        epoch: Epoch::new(validator.epoch),
        floor: Floor::Genesis(validator.genesis),
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
