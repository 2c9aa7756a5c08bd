//! Network over TCP on localhost.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use commonware_cryptography::{
    ChaCha20Poly1305, Signer as _,
    ed25519::{PrivateKey, PublicKey as Identity},
};
use commonware_p2p::{Address, AddressableManager as _, authenticated::lookup};
use commonware_runtime::{Quota, tokio::Context};
use commonware_stream::{
    cups::{self, Cups},
    sake::{self, Sake},
};
use commonware_utils::{NZU32, NZUsize, ordered::Map};

/// A network over TCP, and the oracle that controls it.
pub(crate) type Network = (
    lookup::Network<Context, Cups<Sake<PrivateKey>, ChaCha20Poly1305>>,
    lookup::Oracle<Identity>,
);

/// Returns a network over TCP on localhost, before its channels are registered: peer `n` has the address
/// `addresses[n]`. Messages have at most `max_message` bytes.
pub(crate) fn network(
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
