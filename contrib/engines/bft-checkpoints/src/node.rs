//! One validator in a process of its own: network, engine, ledger and sessions.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use commonware_actor::Feedback;
use commonware_consensus::simplex::{
    Plan, max_payload_size,
    types::{Activity, Context},
};
use commonware_consensus::{Automaton, CertifiableAutomaton, Relay, Reporter, Viewable as _};
use commonware_cryptography::{
    Signer as _,
    ed25519::{PrivateKey, PublicKey as Identity},
    sha256::Digest,
};
use commonware_mldsa::{PublicKey, Scheme, Validators};
use commonware_p2p::{Receiver, Recipients, Sender, max_message_size};
use commonware_runtime::{Clock as _, Runner as _, Strategizer as _, Supervisor as _, tokio};
use commonware_utils::{channel::oneshot, ordered::Map};
use futures::try_join;
use harness::signing_key;
use mladsa_aggregate::{Epoch, Registration, SigningCommittee};
use mldsa_core::{MlDsa44, Randomness};
use parking_lot::Mutex;

use crate::block::{Block, EPOCH_BLOCKS, SLOTS, genesis, name, payload};
use crate::ledger::Ledger;
use crate::options::{Network, Validator};
use crate::run::{GENESIS, VALIDATORS};
use crate::signing::{Outgoing, Signing, member, seed};
use crate::{engine, tcp};

/// Greatest number of bytes of a message of a session or a block.
const MAX_MESSAGE: usize = 1 << 18;
/// Interval of the clock of the sessions: a timeout has more than 64.
const TICK: Duration = Duration::from_millis(20);

/// Block, or the digest of one that the sender lacks.
const BLOCK: u8 = 0;
const LACKING: u8 = 1;

type Votes = Scheme<MlDsa44>;
type Shared = Arc<Mutex<Ledger>>;

/// Identities of all validators in the network.
fn identities() -> Vec<Identity> {
    let key = |n| PrivateKey::from_seed(n as u64).public_key();
    (0..VALIDATORS).map(key).collect()
}

/// The application of the engine.
#[derive(Clone)]
struct Application<S> {
    ledger: Shared,
    identities: Arc<Vec<Identity>>,
    blocks: S,
}

impl<S: Sender<PublicKey = Identity>> Automaton for Application<S> {
    type Context = Context<Digest, Identity>;
    type Digest = Digest;

    async fn propose(&mut self, context: Self::Context) -> oneshot::Receiver<Digest> {
        let (answer, receiver) = oneshot::channel();
        self.ledger.lock().propose(context.parent.1, answer);
        receiver
    }

    async fn verify(&mut self, context: Self::Context, block: Digest) -> oneshot::Receiver<bool> {
        let (answer, receiver) = oneshot::channel();
        let mut identities = self.identities.iter();
        let proposer = identities.position(|identity| *identity == context.leader);
        if let Some(Ok(proposer)) = proposer.map(name) {
            let mut ledger = self.ledger.lock();
            ledger.verify(context.parent.1, block, proposer, answer);
        }
        receiver
    }
}

impl<S: Sender<PublicKey = Identity>> CertifiableAutomaton for Application<S> {}

impl<S: Sender<PublicKey = Identity>> Relay for Application<S> {
    type Digest = Digest;
    type PublicKey = Identity;
    type Plan = Plan<Identity>;

    fn broadcast(&mut self, digest: Digest, plan: Plan<Identity>) -> Feedback {
        let to = match plan {
            Plan::Forward { recipients, .. } => recipients,
            _ => Recipients::All,
        };
        if let Some(block) = self.ledger.lock().block(&digest) {
            let bytes = [&[BLOCK][..], &block.to_bytes()].concat();
            self.blocks.send(to, bytes, true);
        }
        Feedback::Ok
    }
}

/// Reporter of finalised blocks.
#[derive(Clone)]
struct Finality(Shared);

impl Reporter for Finality {
    type Activity = Activity<Votes, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        if let Activity::Finalization(found) = activity {
            let (view, digest) = (found.view().get(), found.proposal.payload);
            self.0.lock().finalise(view, digest);
        }
        Feedback::Ok
    }
}

/// Runs until an error or the end of the process.
pub(crate) fn run(network: &Network, validator: &Validator) -> anyhow::Result<()> {
    let (n, directory) = (validator.n, &validator.directory);
    let shared = directory.parent().context("a directory of its own")?;
    let first = SigningCommittee::from_bytes(&fs::read(shared.join(GENESIS))?)?;
    let genesis = genesis(first.identity());
    let register = move |epoch: &Arc<Epoch>| -> Option<Registration> {
        let member = member(n, &seed(n), epoch).ok()?;
        member.register(Randomness::Deterministic).ok()
    };
    let ledger = Ledger::new(VALIDATORS, genesis, first, Box::new(register));
    let ledger: Shared = Arc::new(Mutex::new(ledger));
    let timeout = network.timeout_ms;
    let (role, first) = (validator.role, validator.first);
    let signing = Signing::open(n, VALIDATORS, role, directory, timeout, first)?;

    let config = tokio::Config::new()
        .with_worker_threads(1)
        .with_tcp_nodelay(Some(true))
        .with_storage_directory(directory.join("engine"));
    let port = network.port;
    tokio::Runner::new(config).start(|context| async move {
        let identities = Arc::new(identities());
        let addresses = identities.iter().zip(port..).map(|(identity, port)| {
            let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
            (identity.clone(), address)
        });
        let addresses: Vec<_> = addresses.collect();
        let votes = max_payload_size::<Votes, Digest>(VALIDATORS as u32);
        let (mut network, oracle) = tcp::network(
            context.child("p2p"),
            b"example/bft-checkpoints/p2p/v1",
            PrivateKey::from_seed(n as u64),
            &addresses,
            max_message_size(&[votes, MAX_MESSAGE]),
        );
        let channels = [0, 1, 2].map(|channel| network.register(channel, engine::quota()));
        let sessions = network.register(3, engine::quota());
        let (blocks, received) = network.register(4, engine::quota());
        network.start();

        let keys = (0..).map(signing_key::<MlDsa44>);
        let public = keys.map(|key| PublicKey::from(key.verifying_key().clone()));
        let members = Map::from_iter_dedup(identities.iter().cloned().zip(public));
        let validators = Validators::new(b"example/bft-checkpoints/v1", &members)?;
        let validator = engine::Validator {
            scheme: Scheme::signer(Arc::new(validators), &signing_key(n))?,
            blocker: oracle,
            application: Application {
                ledger: Arc::clone(&ledger),
                identities: Arc::clone(&identities),
                blocks: blocks.clone(),
            },
            reporter: Finality(Arc::clone(&ledger)),
            partition: "votes".into(),
            epoch: 1,
            genesis,
        };
        let strategy = context.strategy(NonZeroUsize::MIN);
        engine::start(context.child("engine"), strategy, validator, channels);

        let signing = Arc::new(Mutex::new(signing));
        let (outgoing, incoming) = sessions;
        try_join!(
            exchange_blocks(&ledger, blocks.clone(), received),
            receive(&signing, &identities, outgoing.clone(), incoming),
            clock(&context, &ledger, &signing, &identities, outgoing, blocks),
        )?;
        Ok(())
    })
}

/// Keeps blocks of others, and sends those that they lack with the blocks of an epoch below.
async fn exchange_blocks(
    ledger: &Shared,
    mut sender: impl Sender<PublicKey = Identity>,
    mut receiver: impl Receiver<PublicKey = Identity>,
) -> anyhow::Result<()> {
    loop {
        let (peer, message) = receiver.recv().await.map_err(|error| anyhow!("{error}"))?;
        let Some((tag, bytes)) = message.as_ref().split_first() else {
            continue;
        };
        if *tag == BLOCK {
            if let Some(block) = Block::from_bytes(bytes) {
                ledger.lock().insert(block);
            }
        } else if *tag == LACKING
            && let Ok(digest) = <[u8; 32]>::try_from(bytes)
        {
            let mut digest = Digest::from(digest);
            for _ in 0..EPOCH_BLOCKS {
                let Some(block) = ledger.lock().block(&digest).cloned() else {
                    break;
                };
                digest = block.parent;
                let bytes = [&[BLOCK][..], &block.to_bytes()].concat();
                sender.send(Recipients::One(peer.clone()), bytes, false);
            }
        }
    }
}

/// Passes messages of sessions from the network.
async fn receive(
    signing: &Mutex<Signing>,
    identities: &[Identity],
    mut sender: impl Sender<PublicKey = Identity>,
    mut receiver: impl Receiver<PublicKey = Identity>,
) -> anyhow::Result<()> {
    loop {
        let (peer, message) = receiver.recv().await.map_err(|error| anyhow!("{error}"))?;
        if let Some(from) = identities.iter().position(|identity| *identity == peer) {
            let outgoing = signing.lock().receive(from, message.as_ref())?;
            send(&mut sender, identities, outgoing);
        }
    }
}

/// Begins the sessions of final checkpoints, drives their clocks, and asks for blocks.
async fn clock(
    context: &tokio::Context,
    ledger: &Shared,
    signing: &Mutex<Signing>,
    identities: &[Identity],
    mut sender: impl Sender<PublicKey = Identity>,
    mut blocks: impl Sender<PublicKey = Identity>,
) -> anyhow::Result<()> {
    let mut peers = identities.iter().cycle();
    for tick in 0u64.. {
        context.sleep(TICK).await;
        let (begun, lacking) = {
            let mut ledger = ledger.lock();
            ledger.answer_waiting();
            let mut begun = Vec::new();
            for block in ledger.process()? {
                let Some(slot) = block.slot(VALIDATORS) else {
                    continue;
                };
                let committee = ledger.committee(block.epoch).cloned();
                let committee = committee.context("the committee of a final block")?;
                let next = ledger.committee(block.epoch + 1);
                let next = next
                    .filter(|_| slot == SLOTS - 1)
                    .map(|next| next.identity());
                begun.push((committee, slot, payload(&block, next)));
            }
            (begun, ledger.lacking())
        };
        let outgoing = {
            let mut signing = signing.lock();
            for (committee, slot, payload) in begun {
                signing.begin(&committee, slot, &payload)?;
            }
            signing.tick()?
        };
        send(&mut sender, identities, outgoing);
        if tick.is_multiple_of(5)
            && let Some(peer) = peers.next()
        {
            for digest in lacking {
                let bytes = [&[LACKING][..], digest.as_ref()].concat();
                blocks.send(Recipients::One(peer.clone()), bytes, false);
            }
        }
    }
    Ok(())
}

fn send(
    sender: &mut impl Sender<PublicKey = Identity>,
    identities: &[Identity],
    outgoing: Vec<Outgoing>,
) {
    for Outgoing { to, bytes } in outgoing {
        let to = to.iter().filter_map(|n| identities.get(*n).cloned());
        sender.send(Recipients::Some(to.collect()), bytes, false);
    }
}
