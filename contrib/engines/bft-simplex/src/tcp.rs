//! Validators over TCP on localhost, with real sockets and timers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use commonware_consensus::simplex::max_payload_size;
use commonware_cryptography::{
    ChaCha20Poly1305, Signer as _,
    ed25519::{PrivateKey, PublicKey as Identity},
    sha256::Digest,
};
use commonware_mldsa::Scheme;
use commonware_p2p::{Address, AddressableManager as _, authenticated::lookup, max_message_size};
use commonware_runtime::{
    Metrics as _, Quota, Runner as _, Strategizer as _, Supervisor as _,
    tokio::{self, Context},
};
use commonware_stream::{
    cups::{self, Cups},
    sake::{self, Sake},
};
use commonware_utils::{NZU32, NZUsize, ordered::Map};
use harness::Row;
use mldsa_core::ParameterSet;

use crate::Options;
use crate::engine;
use crate::members::Members;
use crate::metered::Metered;
use crate::node::{self, Application};
use crate::observer::{Observer, Reports};
use crate::simulator::journal_bytes;

pub(crate) fn run<P: ParameterSet>(options: &Options, members: &Members<P>) -> anyhow::Result<Row> {
    let storage = tempfile::tempdir()?;
    let config = tokio::Config::new()
        .with_worker_threads(2)
        .with_tcp_nodelay(Some(true))
        .with_storage_directory(storage.path());
    tokio::Runner::new(config).start(|context| async move {
        for n in 0..options.validators() {
            // Checked here because the network panics if a port is in use.
            let address = address(options, n);
            TcpListener::bind(address).with_context(|| format!("{address}, see --port"))?;
        }
        let (reports, mut observer) = Observer::new(options, members, &context);
        for n in 0..options.validators() {
            start(&context, options, members, n, &reports)?;
        }
        let honest: Vec<usize> = (options.faulty()..options.validators()).collect();
        let guilty = (0..options.faulty()).collect();
        observer.until_blocked(1, &honest, &guilty).await?;
        observer.assert_safety(&guilty)?;
        observer.assert_rejections(&guilty)?;
        Ok(observer.row(journal_bytes(&context.encode())))
    })
}

fn address(options: &Options, n: usize) -> SocketAddr {
    // `Options::check` makes sure that all ports exist.
    let port = u16::try_from(n).unwrap_or(u16::MAX);
    let port = options.port.saturating_add(port);
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// A network over TCP, and the oracle that controls it.
type Network = (
    lookup::Network<Context, Cups<Sake<PrivateKey>, ChaCha20Poly1305>>,
    lookup::Oracle<Identity>,
);

/// A network over TCP on localhost, before its channels are registered: peer `n` has the address
/// `addresses[n]`. Messages have at most `max_message` bytes.
pub fn network(
    context: Context,
    namespace: &[u8],
    own: PrivateKey,
    addresses: &[(Identity, SocketAddr)],
    max_message: u32,
) -> Network {
    let identity = own.public_key();
    let listen = addresses.iter().find(|(peer, _)| *peer == identity);
    let listen = listen.map_or(
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        |(_, address)| *address,
    );
    let count = NonZeroUsize::new(addresses.len()).unwrap_or(NonZeroUsize::MIN);
    let handshake = Cups::<_, ChaCha20Poly1305>::new(
        Sake {
            signer: own,
            synchrony_bound: Duration::from_secs(5),
            max_handshake_age: Duration::from_secs(10),
            version: sake::Version::V1,
        },
        cups::Version::V1,
    );
    let mailbox = NZUsize!(4096);
    let mut config =
        lookup::Config::local(handshake, namespace, listen, count, max_message, mailbox);
    // All validators connect from one address.
    config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(1024));
    config.allowed_handshake_rate_per_subnet = Quota::per_second(NZU32!(1024));
    let (network, mut oracle) = lookup::Network::new(context, config);
    let peers = addresses.iter().cloned();
    let peers: Map<Identity, Address> =
        Map::from_iter_dedup(peers.map(|(peer, address)| (peer, Address::from(address))));
    let _ = oracle.track(0, peers);
    (network, oracle)
}

/// Starts the network and the engine of a validator.
fn start<P: ParameterSet>(
    context: &Context,
    options: &Options,
    members: &Members<P>,
    n: usize,
    reports: &Reports,
) -> anyhow::Result<()> {
    let all = members.all.iter().enumerate();
    let addresses: Vec<_> = all
        .map(|(n, member)| (member.public(), address(options, n)))
        .collect();
    let validators = u32::try_from(options.validators()).unwrap_or(u32::MAX);
    let payload = max_payload_size::<Scheme<P, Metered>, Digest>(validators);

    let validator = context.child("validator").with_attribute("n", n);
    let (mut network, oracle) = network(
        validator.child("p2p"),
        b"example/bft-simplex/p2p/v1",
        members.all[n].identity.clone(),
        &addresses,
        max_message_size(&[payload]),
    );
    let channels = [0, 1, 2].map(|channel| network.register(channel, engine::quota()));
    network.start();

    let workers = NonZeroUsize::new(options.workers as usize).unwrap_or(NonZeroUsize::MIN);
    let application = Application {
        node: n,
        epoch: 1,
        now: Arc::new(SystemTime::now),
        reports: reports.clone(),
    };
    let scheme = members.scheme(n, &members.first, false)?;
    let strategy = context.strategy(workers);
    let child = validator.child("engine");
    node::start(child, scheme, oracle, strategy, application, channels);
    Ok(())
}
