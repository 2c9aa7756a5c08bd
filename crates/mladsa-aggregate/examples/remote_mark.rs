//! High-water mark on another host: a counter service that never decreases, over TCP. It detects a
//! member's store that was restored together with its log.
//!
//! `cargo run -p mladsa-aggregate --example remote_mark`
//!
//! In this example the service is a thread that keeps its mark in memory, and the connection is
//! neither authenticated nor encrypted. A real service stores the mark durably and accepts one client
//! over TLS. It does not need to verify marks: a mark contains a keyed digest, and the journal of the
//! client rejects a mark that it did not write.

use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use mladsa_aggregate::errors::{JournalError, StorageError};
use mladsa_aggregate::storage::{FileLog, MarkStorage};
use mladsa_aggregate::{MasterSeed, OneTimeKeyJournal};

/// Bytes of a mark: magic, fingerprint, BE64 count, digest, keyed digest.
const MARK_LEN: usize = 112;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = TempDir::new()?;
    let service = serve()?;
    let seed = MasterSeed::from_bytes(&[7; 32]);
    let log = dir.0.join("guard.log");

    let mark = RemoteMark { service };
    let mut journal = OneTimeKeyJournal::create(FileLog::create(&log)?, mark, &seed)?;
    let backup = std::fs::read(&log)?;
    journal.close_epoch(1)?;
    journal.close_epoch(2)?;
    drop(journal);
    let open = |log: &Path| -> Result<OneTimeKeyJournal, JournalError> {
        OneTimeKeyJournal::open(FileLog::open(log)?, RemoteMark { service }, &seed)
    };
    let closed = open(&log)?.closed_epoch();
    println!("the present log: epoch {closed:?} is closed");

    // An operator restores an old copy of the store.
    std::fs::write(&log, &backup)?;
    match open(&log) {
        Err(error) => println!("restored from a backup: {error}"),
        Ok(_) => return Err("an older log was accepted".into()),
    }
    // A client asks the service for an older mark.
    if (RemoteMark { service }).request(&[0; MARK_LEN]).is_ok() {
        return Err("the service accepted an older mark".into());
    }
    println!("an older mark: rejected by the service");
    Ok(())
}

/// Client with one connection for each request.
struct RemoteMark {
    service: SocketAddr,
}

impl RemoteMark {
    /// Sends a mark, or nothing to read the present one. Returns the present mark.
    fn request(&self, mark: &[u8]) -> io::Result<Vec<u8>> {
        // Only a service that never answers reaches this limit.
        let timeout = Duration::from_secs(600);
        let mut stream = TcpStream::connect_timeout(&self.service, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.write_all(mark)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = Vec::new();
        stream.take(1 + MARK_LEN as u64).read_to_end(&mut answer)?;
        match answer.split_first() {
            Some((1, mark)) => Ok(mark.to_vec()),
            _ => Err(io::Error::other("rejected")),
        }
    }
}

impl MarkStorage for RemoteMark {
    fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        let mark = self.request(&[])?;
        Ok((!mark.is_empty()).then_some(mark))
    }

    /// The service compares counts. Of two marks with the same count it accepts the first, so two
    /// copies of a journal cannot both succeed.
    fn publish(&mut self, _expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
        let stored = self.request(next)?;
        (stored == next).then_some(()).ok_or(StorageError::Failed)
    }
}

/// Service on a free port. It accepts a mark only if its count is higher than that of the present
/// one.
fn serve() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let mut present = Vec::new();
        for stream in listener.incoming() {
            // A broken connection does not affect other requests.
            let _ = stream.and_then(|stream| answer(stream, &mut present));
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream, present: &mut Vec<u8>) -> io::Result<()> {
    let mut request = Vec::new();
    (&stream)
        .take(1 + MARK_LEN as u64)
        .read_to_end(&mut request)?;
    let count = |mark: &[u8]| -> Option<u64> {
        let count = mark.get(40..48)?.try_into().ok()?;
        Some(u64::from_be_bytes(count))
    };
    if request.len() == MARK_LEN && (present.is_empty() || count(&request) > count(present)) {
        *present = request;
    } else if !request.is_empty() {
        return stream.write_all(&[0]);
    }
    stream.write_all(&[1])?;
    stream.write_all(present)
}

/// Temporary directory, removed on drop.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("mladsa-mark-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn restored_log_is_detected() -> Result<(), Box<dyn Error>> {
    main()
}
