//! Validators over TCP on localhost: all of a committee in this process, or one of them.

use std::fs::{self, File, TryLockError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

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
use measure::Row;
use mldsa_core::ParameterSet;

use crate::measured::Measured;
use crate::members::Members;
use crate::node::{self, Application};
use crate::observed::{Observer, Reports};
use crate::simulator::written;
use crate::{Hook, Options, RunError};

/// Runs, and when the row is made calls `linger`, during which the validators go on: what they do
/// then is judged too.
pub(crate) fn run<P: ParameterSet>(
    options: &Options,
    members: &Members<P>,
    hook: &Hook,
    linger: impl FnOnce() -> Result<(), RunError>,
) -> Result<Row, RunError> {
    let temporary = tempfile::tempdir()?;
    let storage = options.storage.as_deref().unwrap_or(temporary.path());
    let _lock = lock(storage)?;
    let config = tokio::Config::new()
        .with_worker_threads(2)
        .with_tcp_nodelay(Some(true))
        .with_storage_directory(storage);
    let mine: Vec<usize> = match options.node {
        Some(node) => vec![node],
        None => (0..options.validators).collect(),
    };
    tokio::Runner::new(config).start(|context| async move {
        for &n in &mine {
            // The network would panic.
            let address = address(options, n);
            let port = address.port();
            TcpListener::bind(address).map_err(|source| RunError::Port { port, source })?;
        }
        let (reports, mut observer) = Observer::new(options, members, hook, &context);
        for &n in &mine {
            start(&context, options, members, n, &reports)?;
        }
        let honest: Vec<usize> = mine
            .into_iter()
            .filter(|n| *n >= options.faulty())
            .collect();
        let guilty = (0..options.faulty()).collect();
        observer.until_caught(1, &honest, &guilty).await?;
        let mut row = observer.row(written(&context.encode()));
        linger()?;
        observer.catch_up();
        observer.claim(&guilty)?;
        if !honest.is_empty() {
            observer.claim_refused(&guilty)?;
        }
        row.blocked = observer.blocked();
        Ok(row)
    })
}

/// The journals of a folder for this process alone, until it ends or the file is closed: two that
/// go on from one journal vote twice.
fn lock(storage: &Path) -> Result<File, RunError> {
    fs::create_dir_all(storage)?;
    let file = File::create(storage.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RunError::InUse(storage.into())),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn address(options: &Options, n: usize) -> SocketAddr {
    // Options are checked: all ports exist.
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
) -> Result<(), RunError> {
    let everybody = members.all.iter().enumerate();
    let addresses: Map<Identity, Address> = Map::from_iter_dedup(
        everybody.map(|(n, member)| (member.public(), Address::from(address(options, n)))),
    );
    let count = NonZeroUsize::new(members.all.len()).unwrap_or(NonZeroUsize::MIN);
    let validators = u32::try_from(members.validators()).unwrap_or(u32::MAX);
    let payload = max_payload_size::<Scheme<P, Measured>, Digest>(validators);

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
    // All of them dial from one address.
    config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(1024));
    config.allowed_handshake_rate_per_subnet = Quota::per_second(NZU32!(1024));
    let (mut network, mut oracle) = lookup::Network::new(validator.child("p2p"), config);
    let _ = oracle.track(0, addresses);
    let channels = [0, 1, 2].map(|channel| network.register(channel, node::quota()));
    network.start();

    let workers = NonZeroUsize::new(options.workers).unwrap_or(NonZeroUsize::MIN);
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
