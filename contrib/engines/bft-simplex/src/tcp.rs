//! Validators over TCP on localhost, with real sockets and timers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use commonware_consensus::simplex::max_payload_size;
use commonware_cryptography::{ChaCha20Poly1305, ed25519::PublicKey as Identity, sha256::Digest};
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

/// Starts the network and the engine of a validator.
fn start<P: ParameterSet>(
    context: &Context,
    options: &Options,
    members: &Members<P>,
    n: usize,
    reports: &Reports,
) -> anyhow::Result<()> {
    let all = members.all.iter().enumerate();
    let addresses: Map<Identity, Address> = Map::from_iter_dedup(
        all.map(|(n, member)| (member.public(), Address::from(address(options, n)))),
    );
    let count = NonZeroUsize::new(members.all.len()).unwrap_or(NonZeroUsize::MIN);
    let validators = u32::try_from(options.validators()).unwrap_or(u32::MAX);
    let payload = max_payload_size::<Scheme<P, Metered>, Digest>(validators);

    let validator = context.child("validator").with_attribute("n", n);
    let handshake = Cups::<_, ChaCha20Poly1305>::new(
        Sake {
            signer: members.all[n].identity.clone(),
            synchrony_bound: Duration::from_secs(5),
            max_handshake_age: Duration::from_secs(10),
            version: sake::Version::V1,
        },
        cups::Version::V1,
    );
    let mut config = lookup::Config::local(
        handshake,
        b"example/bft-simplex/p2p/v1",
        address(options, n),
        count,
        max_message_size(&[payload]),
        NZUsize!(4096),
    );
    // All validators connect from one address.
    config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(1024));
    config.allowed_handshake_rate_per_subnet = Quota::per_second(NZU32!(1024));
    let (mut network, mut oracle) = lookup::Network::new(validator.child("p2p"), config);
    let _ = oracle.track(0, addresses);
    let channels = [0, 1, 2].map(|channel| network.register(channel, node::quota()));
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
    let engine = validator.child("engine");
    node::start(engine, scheme, oracle, strategy, application, channels);
    Ok(())
}
