//! High-water mark on another host: a compare-and-swap service over TCP. It detects a member's store
//! that was restored together with its log, and admits one of two copies of a store.
//!
//! `cargo run -p mladsa-aggregate --example remote_mark`
//!
//! In this example the service is a thread that keeps its mark in memory, and the connection is
//! neither authenticated nor encrypted. A real service stores the mark durably before it answers, and
//! accepts one client over TLS. It does not need to verify marks: a mark contains a keyed digest, and
//! the journal of the client rejects a mark that it did not write.

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
    let dir = TempDir::new("demo")?;
    let service = serve()?;
    let seed = MasterSeed::from_bytes(&[7; 32]);
    let log = dir.0.join("guard.log");

    let mark = RemoteMark { service };
    let mut journal = OneTimeKeyJournal::create(FileLog::create(&log)?, mark, &seed)?;
    let backup = std::fs::read(&log)?;
    journal.close_epoch(1)?;
    journal.close_epoch(2)?;
    drop(journal);
    let closed = open(&log, service, &seed)?.closed_epoch();
    println!("the present log: epoch {closed:?} is closed");

    // An operator restores an old copy of the store.
    std::fs::write(&log, &backup)?;
    match open(&log, service, &seed) {
        Err(error) => println!("restored from a backup: {error}"),
        Ok(_) => return Err("an older log was accepted".into()),
    }
    Ok(())
}

fn open(
    log: &Path,
    service: SocketAddr,
    seed: &MasterSeed,
) -> Result<OneTimeKeyJournal, JournalError> {
    OneTimeKeyJournal::open(FileLog::open(log)?, RemoteMark { service }, seed)
}

/// Client with one connection for each request.
struct RemoteMark {
    service: SocketAddr,
}

impl RemoteMark {
    /// Sends a request: nothing to read the present mark, or the expected mark, if there is one, and
    /// the next one. Returns the present mark.
    fn request(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        // Only a service that never answers reaches this limit.
        let timeout = Duration::from_secs(600);
        let mut stream = TcpStream::connect_timeout(&self.service, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.write_all(request)?;
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

    fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
        let request = [expected.unwrap_or_default(), next].concat();
        let stored = self.request(&request)?;
        (stored == next).then_some(()).ok_or(StorageError::Failed)
    }
}

/// Service on a free port.
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

/// Replaces the present mark only if it is the expected one.
fn answer(mut stream: TcpStream, present: &mut Vec<u8>) -> io::Result<()> {
    let mut request = Vec::new();
    (&stream)
        .take(1 + 2 * MARK_LEN as u64)
        .read_to_end(&mut request)?;
    if !request.is_empty() {
        match request.strip_prefix(present.as_slice()) {
            Some(next) if next.len() == MARK_LEN => *present = next.to_vec(),
            _ => return stream.write_all(&[0]),
        }
    }
    stream.write_all(&[1])?;
    stream.write_all(present)
}

/// Temporary directory, removed on drop.
struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> io::Result<Self> {
        let name = format!("mladsa-mark-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
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

/// Two copies are forced to interleave: both have read the mark before either writes. A service that
/// compares counts accepted the second one, whose flush had more records.
#[test]
fn one_of_two_interleaved_copies_writes() -> Result<(), Box<dyn Error>> {
    struct Interleaved {
        mark: RemoteMark,
        // the other copy, which writes after this one has read and before it publishes
        other: Option<(OneTimeKeyJournal, u64)>,
    }
    impl MarkStorage for Interleaved {
        fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
            self.mark.read()
        }
        fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
            if let Some((mut other, records)) = self.other.take() {
                for epoch in 1..=records {
                    let closed = other.close_epoch(epoch);
                    closed.map_err(|_| StorageError::Failed)?;
                }
            }
            self.mark.publish(expected, next)
        }
    }
    // The other copy writes fewer, as many and more records than this one.
    for records in [1, 2, 5] {
        let dir = TempDir::new(&format!("copies-{records}"))?;
        let service = serve()?;
        let seed = MasterSeed::from_bytes(&[7; 32]);
        let [first, second] = ["first.log", "second.log"].map(|name| dir.0.join(name));
        let mark = RemoteMark { service };
        drop(OneTimeKeyJournal::create(
            FileLog::create(&first)?,
            mark,
            &seed,
        )?);
        std::fs::copy(&first, &second)?;
        let mark = Interleaved {
            mark: RemoteMark { service },
            other: Some((open(&second, service, &seed)?, records)),
        };
        let mut journal = OneTimeKeyJournal::open(FileLog::open(&first)?, mark, &seed)?;
        assert!(journal.close_epoch(9).is_err());
        drop(journal);
        assert!(open(&first, service, &seed).is_err());
        let closed = open(&second, service, &seed)?.closed_epoch();
        assert_eq!(closed, Some(records));
    }
    Ok(())
}
