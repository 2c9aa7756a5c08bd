//! Messages to members on other hosts over TCP: `BE32(length) || message`. Messages are signed, so that
//! connections are not; a message that is lost is sent again by the session.

use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use mladsa_aggregate::Certificate;

use super::dirs::{POLL, named};

/// Messages that wait for a peer, or to be read. More are dropped.
const QUEUE: usize = 256;

/// Greatest number of open connections from other hosts.
const CONNECTIONS: usize = 256;

/// Greatest number of invalid certificates from one network in an attempt: further ones are not verified.
const INVALID_CERTIFICATES: usize = 16;

/// Time for a connection, and for each read and write of one.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Network {
    peers: Vec<SyncSender<Arc<[u8]>>>,
    received: Receiver<Arrived>,
    // number of invalid certificates in this attempt
    invalid: BTreeMap<u64, usize>,
}

/// A message with the connection that it came over.
pub(crate) struct Arrived {
    pub(crate) message: Vec<u8>,
    network: u64,
    // as long as its thread runs
    stream: Weak<TcpStream>,
    is_cut: Arc<AtomicBool>,
}

impl Network {
    /// Accepts messages of at most `limit` bytes, and sends to `peers`.
    pub(crate) fn new(listen: SocketAddr, peers: &[String], limit: u64) -> io::Result<Self> {
        let failed = |error| named(Path::new(&listen.to_string()), error);
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let (sender, received) = sync_channel(QUEUE);
        thread::spawn(move || accept(&listener, &sender, limit));
        let peers = peers.iter().map(|peer| {
            let (sender, messages) = sync_channel(QUEUE);
            let peer = peer.clone();
            thread::spawn(move || deliver(&peer, &messages, PATIENCE));
            sender
        });
        Ok(Self {
            peers: peers.collect(),
            received,
            invalid: BTreeMap::new(),
        })
    }

    pub(crate) fn send(&self, message: &[u8]) {
        let message: Arc<[u8]> = message.into();
        for peer in &self.peers {
            let _ = peer.try_send(Arc::clone(&message));
        }
    }

    pub(crate) fn receive(&self) -> Vec<Arrived> {
        self.received.try_iter().take(QUEUE).collect()
    }

    /// Whether a message is to be read: not if its connection has sent an invalid certificate, nor if it
    /// is a certificate from a network that has sent too many of them.
    pub(crate) fn admits(&self, arrived: &Arrived) -> bool {
        let invalid = self.invalid.get(&arrived.network);
        !arrived.is_cut.load(Ordering::Relaxed)
            && (invalid.is_none_or(|count| *count < INVALID_CERTIFICATES)
                || Certificate::from_bytes(&arrived.message).is_err())
    }

    /// Closes the connection of an invalid certificate, and counts it for its network.
    pub(crate) fn reject(&mut self, arrived: &Arrived) {
        arrived.is_cut.store(true, Ordering::Relaxed);
        if let Some(stream) = arrived.stream.upgrade() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        *self.invalid.entry(arrived.network).or_default() += 1;
    }

    /// Forgets the invalid certificates of the attempt before: that of a member can be valid later, when
    /// more acknowledgements are known.
    pub(crate) fn begin_attempt(&mut self) {
        self.invalid.clear();
    }
}

/// A connection from another host.
struct Connection {
    network: u64,
    /// As long as its thread runs.
    stream: Weak<TcpStream>,
    is_closed: bool,
}

/// Reads messages of each connection in a thread of its own. Nothing authenticates a connection: one too
/// many closes the oldest one of the network that has most of them, so that a host which opens many, and
/// sends nothing or garbage, does not exclude the others.
fn accept(listener: &TcpListener, received: &SyncSender<Arrived>, limit: u64) {
    let mut all: Vec<Connection> = Vec::new();
    loop {
        let Ok((stream, from)) = listener.accept() else {
            // Too many open files.
            thread::sleep(POLL);
            continue;
        };
        all.retain(|connection| connection.stream.strong_count() > 0);
        if all.iter().filter(|known| !known.is_closed).count() >= CONNECTIONS {
            close_one(&mut all);
        }
        // Closed ones whose message waits to be read.
        if all.len() >= 2 * CONNECTIONS {
            continue;
        }
        let stream = Arc::new(stream);
        let network = network(from.ip());
        all.push(Connection {
            network,
            stream: Arc::downgrade(&stream),
            is_closed: false,
        });
        let received = received.clone();
        let is_cut = Arc::new(AtomicBool::new(false));
        let read = move || {
            while let Ok(message) = read_message(&stream, limit) {
                let arrived = Arrived {
                    message,
                    network,
                    stream: Arc::downgrade(&stream),
                    is_cut: Arc::clone(&is_cut),
                };
                if received.send(arrived).is_err() {
                    return;
                }
            }
        };
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().spawn(read);
    }
}

/// The address, or the network of an IPv6 host, which has any number of addresses.
fn network(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

fn close_one(all: &mut [Connection]) {
    let mut counts = BTreeMap::new();
    for open in all.iter().filter(|known| !known.is_closed) {
        *counts.entry(open.network).or_insert(0) += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let mut open = all.iter_mut().filter(|known| !known.is_closed);
    if let Some(oldest) = open.find(|open| Some(open.network) == most.map(|(network, _)| network)) {
        oldest.is_closed = true;
        if let Some(stream) = oldest.stream.upgrade() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn read_message(mut stream: &TcpStream, limit: u64) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u64::from(u32::from_be_bytes(length));
    if length > limit {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = Vec::new();
    let read = stream.take(length).read_to_end(&mut message)?;
    if read as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}

/// Sends messages to a peer, over one connection until it fails or `lifetime` is over. If the
/// peer's host has lost the connection, the system reports that only after many minutes.
fn deliver(peer: &str, messages: &Receiver<Arc<[u8]>>, lifetime: Duration) {
    let mut connection = None;
    let mut since = Instant::now();
    for message in messages {
        if connection.is_none() || since.elapsed() >= lifetime {
            connection = connect(peer).ok();
            since = Instant::now();
        }
        let length = u32::try_from(message.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes();
        let sent = connection
            .as_mut()
            .map(|stream: &mut TcpStream| stream.write_all(&[&length[..], &message].concat()));
        if !matches!(sent, Some(Ok(()))) {
            connection = None;
        }
    }
}

fn connect(peer: &str) -> io::Result<TcpStream> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in peer.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// Connections of other hosts stay when one host opens many.
    #[test]
    fn the_oldest_connection_of_the_largest_network_is_closed() {
        let address = |text: &str| network(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::2:1"));
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        let mut all =
            ["10.0.0.1", "2001:db8::1", "10.0.0.2", "2001:db8::2"].map(|from| Connection {
                network: address(from),
                stream: Weak::new(),
                is_closed: false,
            });
        let mut closed = || {
            close_one(&mut all);
            all.each_ref().map(|connection| connection.is_closed)
        };
        assert_eq!(closed(), [false, true, false, false]);
        for _ in 0..3 {
            closed();
        }
        assert_eq!(closed(), [true; 4]);
    }

    /// A half-open connection took all messages until the system gave it up.
    #[test]
    fn connections_are_renewed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap().to_string();
        let (sender, messages) = sync_channel::<Arc<[u8]>>(QUEUE);
        let sending = thread::spawn(move || deliver(&peer, &messages, Duration::ZERO));
        for message in [b"first", b"other"] {
            sender.send(Arc::from(&message[..])).unwrap();
            let (stream, _) = listener.accept().unwrap();
            assert_eq!(read_message(&stream, 9).unwrap(), message);
        }
        drop(sender);
        sending.join().unwrap();
    }

    /// Each one took as long as the verification of all openings, without a limit.
    #[test]
    fn invalid_certificates_of_a_network_are_bounded() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = sync_channel(QUEUE);
        thread::spawn(move || accept(&listener, &sender, 1 << 16));
        let mut network = Network {
            peers: Vec::new(),
            received,
            invalid: BTreeMap::new(),
        };
        let lp = |part: &[u8]| [&(part.len() as u32).to_be_bytes()[..], part].concat();
        let claims = [lp(b""), lp(b"x"), vec![0; 9], lp(b"payload"), lp(&[7])].concat();
        // z = 0.
        let z = [0, 0, 8, 0, 0x80].repeat(7 * 128);
        let signature = [&[0; 64][..], &z, &[0; 83]].concat();
        let aggregate = [b"MLADSAF2\x01\0", &claims[..], &signature].concat();
        let certificate = lp(&[&b"MLADSAO1"[..], &lp(&aggregate)].concat());
        let connect = |messages: &[u8]| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(messages).unwrap();
            stream
        };
        let other = connect(&lp(b"message"));
        let message = network.received.recv().unwrap();
        // Three certificates over each connection; whether each is to be verified.
        let send = |network: &mut Network| {
            let mut stream = connect(&certificate.repeat(3));
            let arrived = [(); 3].map(|()| network.received.recv().unwrap());
            assert!(
                arrived
                    .iter()
                    .all(|arrived| Certificate::from_bytes(&arrived.message).is_ok())
            );
            let admitted = arrived.each_ref().map(|arrived| {
                let admitted = network.admits(arrived);
                if admitted {
                    network.reject(arrived);
                }
                admitted
            });
            // The connection is closed.
            assert!(!admitted[0] || matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
            admitted
        };
        let count = |network: &mut Network| (0..20).filter(|_| send(network)[0]).count();
        assert_eq!(send(&mut network), [true, false, false]);
        assert_eq!(count(&mut network), INVALID_CERTIFICATES - 1);
        assert!(network.admits(&message));
        network.begin_attempt();
        assert_eq!(count(&mut network), INVALID_CERTIFICATES);
        drop(other);
    }
}
