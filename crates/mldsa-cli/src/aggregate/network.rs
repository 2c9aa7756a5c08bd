//! Messages to members on other hosts over TCP: `BE32(length) || message`. Messages are signed, so that
//! connections are not; a message that is lost is sent again by the session.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::dirs::named;

/// Messages that wait for a peer, or to be read. More are dropped.
const QUEUE: usize = 256;

/// Greatest number of connections that other hosts have to this one.
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

/// Reads messages of each connection in a thread of its own.
fn accept(listener: &TcpListener, received: &SyncSender<Vec<u8>>, limit: u64) {
    let open = Arc::new(());
    for stream in listener.incoming().flatten() {
        if Arc::strong_count(&open) > CONNECTIONS {
            continue;
        }
        let (received, open) = (received.clone(), Arc::clone(&open));
        thread::spawn(move || {
            let _open = open;
            // The end of a connection.
            while let Ok(message) = read_message(&stream, limit) {
                if received.send(message).is_err() {
                    return;
                }
            }
        });
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
