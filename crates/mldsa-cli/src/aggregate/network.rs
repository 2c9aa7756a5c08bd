//! Messages to members on other hosts over TCP: `BE32(length) || message`. Messages are signed, so that
//! connections are not; a message that is lost is sent again by the session.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;

use super::dirs::{POLL, named};

/// Messages that wait for a peer, or to be read. More are dropped.
const QUEUE: usize = 256;

/// Greatest number of open connections from other hosts.
const CONNECTIONS: usize = 256;

/// Time for a connection, and for each read and write of one.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Network {
    peers: Vec<SyncSender<Arc<[u8]>>>,
    received: Receiver<Vec<u8>>,
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
            thread::spawn(move || deliver(&peer, &messages));
            sender
        });
        Ok(Self {
            peers: peers.collect(),
            received,
        })
    }

    pub(crate) fn send(&self, message: &[u8]) {
        let message: Arc<[u8]> = message.into();
        for peer in &self.peers {
            let _ = peer.try_send(Arc::clone(&message));
        }
    }

    pub(crate) fn receive(&self) -> Vec<Vec<u8>> {
        self.received.try_iter().take(QUEUE).collect()
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
fn accept(listener: &TcpListener, received: &SyncSender<Vec<u8>>, limit: u64) {
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
        all.push(Connection {
            network: network(from.ip()),
            stream: Arc::downgrade(&stream),
            is_closed: false,
        });
        let received = received.clone();
        let read = move || {
            while let Ok(message) = read_message(&stream, limit) {
                if received.send(message).is_err() {
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

/// Sends messages to a peer, over one connection until it fails.
fn deliver(peer: &str, messages: &Receiver<Arc<[u8]>>) {
    let mut connection = None;
    for message in messages {
        if connection.is_none() {
            connection = connect(peer).ok();
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
}
