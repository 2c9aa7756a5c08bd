//! A high-water mark on another host: a counter service that never goes back, asked
//! over TCP. Whoever restores the member's store, log and all, is found out.
//!
//! `cargo run -p mladsa-aggregate --example remote_mark`
//!
//! Here the service is a thread that keeps its mark in memory, and the wire is neither
//! authenticated nor encrypted. A real one keeps it on a disk of its own and answers over
//! TLS, to one client. What a client sends it cannot judge, but needs not to: the mark
//! carries a keyed digest, and a mark that the client did not write is refused by the
//! client's guard.

use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use mladsa_aggregate::{FileLog, Guard, MarkMedium, MasterSeed, MediumError};

/// A mark: magic, fingerprint, BE64 count, digest, keyed digest.
const MARK_LEN: usize = 112;

fn main() -> Result<(), Box<dyn Error>> {
    let place = Place::new()?;
    let service = serve()?;
    let seed = MasterSeed::from_bytes(&[7; 32]);
    let log = place.0.join("guard.log");

    let mut guard = Guard::create(FileLog::create(&log)?, RemoteMark::new(service), &seed)?;
    let backup = std::fs::read(&log)?;
    guard.close_epoch(1)?;
    guard.close_epoch(2)?;
    drop(guard);
    let open = |log: &Path| Guard::open(FileLog::open(log)?, RemoteMark::new(service), &seed);
    println!("as it was left: epoch {:?} is closed", open(&log)?.closed());

    // An administrator restores yesterday's store.
    std::fs::write(&log, &backup)?;
    match open(&log) {
        Err(error) => println!("restored from a backup: {error}"),
        Ok(_) => return Err("an older log was accepted".into()),
    }
    // And asks the service to go back too.
    let old = RemoteMark::new(service).ask(&[0; MARK_LEN]);
    if old.is_ok() {
        return Err("the service went back".into());
    }
    println!("the service, asked to go back: refused");
    Ok(())
}

/// The client: one connection for each question.
struct RemoteMark {
    service: SocketAddr,
    staged: Option<Vec<u8>>,
}

impl RemoteMark {
    fn new(service: SocketAddr) -> Self {
        Self {
            service,
            staged: None,
        }
    }

    /// Sends a mark, or nothing to read the present one.
    fn ask(&self, mark: &[u8]) -> io::Result<Vec<u8>> {
        // Generous: only a service that does not answer at all runs into it.
        let timeout = Duration::from_secs(600);
        let mut wire = TcpStream::connect_timeout(&self.service, timeout)?;
        wire.set_read_timeout(Some(timeout))?;
        wire.write_all(mark)?;
        wire.shutdown(std::net::Shutdown::Write)?;
        let mut answer = Vec::new();
        wire.take(1 + MARK_LEN as u64).read_to_end(&mut answer)?;
        match answer.split_first() {
            Some((1, mark)) => Ok(mark.to_vec()),
            _ => Err(io::Error::other("refused")),
        }
    }
}

impl MarkMedium for RemoteMark {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        let mark = self.ask(&[]).map_err(|_| MediumError)?;
        Ok((!mark.is_empty()).then_some(mark))
    }

    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.staged = Some(bytes.to_vec());
        Ok(())
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        let staged = self.staged.take().ok_or(MediumError)?;
        let kept = self.ask(&staged).map_err(|_| MediumError)?;
        (kept == staged).then_some(()).ok_or(MediumError)
    }
}

/// The service, on a port of its own. It keeps a mark only if its count is higher than
/// that of the present one.
fn serve() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let mut present = Vec::new();
        for wire in listener.incoming() {
            // A client that breaks off is none of the others' trouble.
            let _ = wire.and_then(|wire| answer(wire, &mut present));
        }
    });
    Ok(address)
}

fn answer(mut wire: TcpStream, present: &mut Vec<u8>) -> io::Result<()> {
    let mut asked = Vec::new();
    (&wire).take(1 + MARK_LEN as u64).read_to_end(&mut asked)?;
    let count = |mark: &[u8]| -> Option<u64> {
        let count = mark.get(40..48)?.try_into().ok()?;
        Some(u64::from_be_bytes(count))
    };
    if asked.len() == MARK_LEN && (present.is_empty() || count(&asked) > count(present)) {
        *present = asked;
    } else if !asked.is_empty() && asked != *present {
        return wire.write_all(&[0]);
    }
    wire.write_all(&[1])?;
    wire.write_all(present)
}

/// A directory of its own, removed afterwards.
struct Place(PathBuf);

impl Place {
    fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("mladsa-mark-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_restore_is_found_out() -> Result<(), Box<dyn Error>> {
    main()
}
