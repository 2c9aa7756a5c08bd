//! The durable guard: an append-only log of chained records, and beside it a
//! high-water mark that tells a log from an older copy of itself.
//!
//! Log: `"MLADSAG1" || fingerprint`, then records of 144 bytes: kind, seven zeros,
//! BE64 number, key, value (64 bytes, zero-filled), and 32 bytes of
//! `SHAKE256(digest before || record)`, which is both checksum and rolling digest.
//! Mark: `"MLADSAH1" || fingerprint || BE64 count || digest || checksum`.
//!
//! The log is flushed before the mark is replaced, and both before anything is
//! released. So a log that is ahead of its mark is the trace of a crash, and its
//! last record may be torn; a log behind its mark was rolled back.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::vec::Vec;

use super::{GuardKey, GuardState, OneTimeGuard};
use crate::error::Error;
use crate::keys::seed::{MasterSeed, SeedFingerprint};
use crate::wire::framing::{Reader, hash_lp};

const LOG: &[u8; 8] = b"MLADSAG1";
const MARK: &[u8; 8] = b"MLADSAH1";
const HEADER_LEN: usize = 40;
const RECORD_LEN: usize = 144;
const BODY_LEN: usize = 112;

type Digest = [u8; 32];

/// The files of a guard, one durable step per call: the place where tests cut the
/// power. [`FileMedium`] is the one to use.
pub trait GuardMedium {
    /// The whole log.
    ///
    /// # Errors
    /// As the file system reports.
    fn read_log(&mut self) -> io::Result<Vec<u8>>;
    /// Writes behind the end of the log.
    ///
    /// # Errors
    /// As the file system reports.
    fn append_log(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the log off.
    ///
    /// # Errors
    /// As the file system reports.
    fn truncate_log(&mut self, len: u64) -> io::Result<()>;
    /// Returns when the log, and its entry in the directory, are on the disk.
    ///
    /// # Errors
    /// As the file system reports.
    fn flush_log(&mut self) -> io::Result<()>;
    /// The mark, if there is one.
    ///
    /// # Errors
    /// As the file system reports.
    fn read_mark(&mut self) -> io::Result<Option<Vec<u8>>>;
    /// Writes and flushes the next mark beside the present one.
    ///
    /// # Errors
    /// As the file system reports.
    fn write_mark(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Replaces the mark by the one written last, in one step, and flushes the
    /// directory.
    ///
    /// # Errors
    /// As the file system reports.
    fn publish_mark(&mut self) -> io::Result<()>;
}

/// Two files, the log locked for this process alone. The mark belongs on another
/// device than the log where there is one: restoring both from one backup cannot
/// be noticed.
#[derive(Debug)]
pub struct FileMedium {
    log: File,
    log_path: PathBuf,
    mark_path: PathBuf,
}

impl FileMedium {
    fn new(log_path: &Path, mark_path: &Path, create: bool) -> Result<Self, Error> {
        let log = OpenOptions::new()
            .read(true)
            .append(true)
            .create(create)
            .open(log_path)
            .map_err(|_| Error::GuardFailure)?;
        match log.try_lock() {
            Ok(()) => Ok(Self {
                log,
                log_path: log_path.into(),
                mark_path: mark_path.into(),
            }),
            Err(TryLockError::WouldBlock) => Err(Error::GuardInUse),
            Err(TryLockError::Error(_)) => Err(Error::GuardFailure),
        }
    }

    /// Opens an existing log and locks it.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn open(log: &Path, mark: &Path) -> Result<Self, Error> {
        Self::new(log, mark, false)
    }

    /// Opens a log, creating it if there is none, and locks it.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn create(log: &Path, mark: &Path) -> Result<Self, Error> {
        Self::new(log, mark, true)
    }

    fn next_mark(&self) -> PathBuf {
        let mut name = self.mark_path.clone().into_os_string();
        name.push(".next");
        name.into()
    }
}

impl GuardMedium for FileMedium {
    fn read_log(&mut self) -> io::Result<Vec<u8>> {
        self.log.rewind()?;
        let mut bytes = Vec::new();
        self.log.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append_log(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.log.write_all(bytes)
    }

    fn truncate_log(&mut self, len: u64) -> io::Result<()> {
        self.log.set_len(len)
    }

    fn flush_log(&mut self) -> io::Result<()> {
        self.log.sync_all()?;
        flush_directory(&self.log_path)
    }

    fn read_mark(&mut self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.mark_path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write_mark(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut next = File::create(self.next_mark())?;
        next.write_all(bytes)?;
        next.sync_all()
    }

    fn publish_mark(&mut self) -> io::Result<()> {
        fs::rename(self.next_mark(), &self.mark_path)?;
        flush_directory(&self.mark_path)
    }
}

/// Flushes the directory that holds `path`: without it a new name may be lost.
pub(crate) fn flush_directory(path: &Path) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    // Only Unix opens directories; elsewhere the rename itself has to do.
    if cfg!(unix) {
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// The durable one-time guard of one master seed.
pub struct FileGuard<M: GuardMedium = FileMedium> {
    medium: M,
    fingerprint: SeedFingerprint,
    states: BTreeMap<[u8; 32], GuardState>,
    count: u64,
    digest: Digest,
    // false from before a write until it is complete
    usable: bool,
}

impl FileGuard {
    /// Creates the store for a seed that has never signed. Completes a creation
    /// that was interrupted; refuses a store that exists.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn create(log: &Path, mark: &Path, seed: &MasterSeed) -> Result<Self, Error> {
        Self::create_on(FileMedium::create(log, mark)?, seed)
    }

    /// Opens the store of `seed`. Whatever is missing or damaged, but for a last
    /// record that a crash tore, is a failure: then the seed is to be retired.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn open(log: &Path, mark: &Path, seed: &MasterSeed) -> Result<Self, Error> {
        Self::open_on(FileMedium::open(log, mark)?, seed)
    }
}

impl<M: GuardMedium> FileGuard<M> {
    /// [`FileGuard::create`] on any medium.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    pub fn create_on(mut medium: M, seed: &MasterSeed) -> Result<Self, Error> {
        let header = header(&seed.fingerprint());
        let log = medium.read_log().map_err(failure)?;
        let mark = medium.read_mark().map_err(failure)?;
        // No record has ever been written, so nothing has ever been released.
        if mark.is_some() || !header.starts_with(&log) {
            return Err(Error::GuardFailure);
        }
        let mut guard = Self::empty(medium, seed);
        if log.len() < HEADER_LEN {
            guard.medium.truncate_log(0).map_err(failure)?;
            guard.medium.append_log(&header).map_err(failure)?;
        }
        guard.medium.flush_log().map_err(failure)?;
        guard.raise_mark()?;
        guard.usable = true;
        Ok(guard)
    }

    /// [`FileGuard::open`] on any medium.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    pub fn open_on(medium: M, seed: &MasterSeed) -> Result<Self, Error> {
        let mut guard = Self::empty(medium, seed);
        let log = guard.medium.read_log().map_err(failure)?;
        let mark = guard.medium.read_mark().map_err(failure)?;
        let mark = Mark::parse(&mark.ok_or(Error::GuardFailure)?, &guard.fingerprint)?;
        let records = log
            .strip_prefix(&header(&guard.fingerprint))
            .ok_or(Error::GuardFailure)?;
        let mut known = guard.count == mark.count && guard.digest == mark.digest;
        let mut rest = records;
        while let Some((record, later)) = rest.split_first_chunk() {
            if guard.replay(record).is_err() {
                break;
            }
            known |= guard.count == mark.count && guard.digest == mark.digest;
            rest = later;
        }
        // Behind the mark, or another history: rolled back. Anything but one torn
        // record at the end: damaged.
        if !known || rest.len() > RECORD_LEN {
            return Err(Error::GuardFailure);
        }
        if !rest.is_empty() {
            let len = (log.len() - rest.len()) as u64;
            guard.medium.truncate_log(len).map_err(failure)?;
        }
        if !rest.is_empty() || guard.count != mark.count {
            guard.medium.flush_log().map_err(failure)?;
            guard.raise_mark()?;
        }
        guard.usable = true;
        Ok(guard)
    }

    fn empty(medium: M, seed: &MasterSeed) -> Self {
        let fingerprint = seed.fingerprint();
        Self {
            medium,
            fingerprint,
            states: BTreeMap::new(),
            count: 0,
            digest: hash_lp(b"MLADSA guard", &[&header(&fingerprint)]),
            usable: false,
        }
    }

    /// Takes up one record from the log.
    fn replay(&mut self, record: &[u8; RECORD_LEN]) -> Result<(), Error> {
        let (body, digest) = record.split_at(BODY_LEN);
        let chained = chain(&self.digest, body);
        let mut reader = Reader::new(body, &[body[0], 0, 0, 0, 0, 0, 0, 0])?;
        let number = u64::from_be_bytes(reader.array()?);
        let key = reader.array()?;
        let value: [u8; 64] = reader.array()?;
        let state = match (body[0], value.split_first_chunk()) {
            (1, Some((digest, _))) => GuardState::Committed(*digest),
            (2, _) => GuardState::Responded(value),
            (3, _) => GuardState::Retired,
            _ => return Err(Error::GuardFailure),
        };
        if chained != digest || number != self.count {
            return Err(Error::GuardFailure);
        }
        self.apply(key, state, chained);
        Ok(())
    }

    fn apply(&mut self, key: [u8; 32], state: GuardState, digest: Digest) {
        self.states.insert(key, state);
        self.count += 1;
        self.digest = digest;
    }

    fn raise_mark(&mut self) -> Result<(), Error> {
        let mark = Mark {
            count: self.count,
            digest: self.digest,
        };
        self.medium
            .write_mark(&mark.to_bytes(&self.fingerprint))
            .map_err(failure)?;
        self.medium.publish_mark().map_err(failure)
    }
}

impl<M: GuardMedium> OneTimeGuard for FileGuard<M> {
    fn fingerprint(&self) -> SeedFingerprint {
        self.fingerprint
    }

    fn state(&self, key: &GuardKey) -> Result<Option<GuardState>, Error> {
        if !self.usable {
            return Err(Error::GuardFailure);
        }
        Ok(self.states.get(key.as_bytes()).copied())
    }

    fn record(&mut self, key: &GuardKey, state: GuardState) -> Result<(), Error> {
        if !self.usable {
            return Err(Error::GuardFailure);
        }
        let mut record = [0; RECORD_LEN];
        let (body, digest) = record.split_at_mut(BODY_LEN);
        body[8..16].copy_from_slice(&self.count.to_be_bytes());
        body[16..48].copy_from_slice(key.as_bytes());
        body[0] = match state {
            GuardState::Committed(digest) => {
                body[48..80].copy_from_slice(&digest);
                1
            }
            GuardState::Responded(c_tilde) => {
                body[48..].copy_from_slice(&c_tilde);
                2
            }
            GuardState::Retired => 3,
        };
        let chained = chain(&self.digest, body);
        digest.copy_from_slice(&chained);
        // Whatever fails from here on leaves a store that only a restart can
        // judge.
        self.usable = false;
        self.medium.append_log(&record).map_err(failure)?;
        self.medium.flush_log().map_err(failure)?;
        self.apply(*key.as_bytes(), state, chained);
        self.raise_mark()?;
        self.usable = true;
        Ok(())
    }
}

impl<M: GuardMedium> fmt::Debug for FileGuard<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileGuard({} records)", self.count)
    }
}

struct Mark {
    count: u64,
    digest: Digest,
}

impl Mark {
    fn to_bytes(&self, fingerprint: &SeedFingerprint) -> Vec<u8> {
        let mut out = MARK.to_vec();
        out.extend_from_slice(fingerprint.as_bytes());
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(&self.digest);
        let checksum: Digest = hash_lp(b"MLADSA mark", &[&out]);
        out.extend_from_slice(&checksum);
        out
    }

    fn parse(bytes: &[u8], fingerprint: &SeedFingerprint) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, MARK).map_err(|_| Error::GuardFailure)?;
        let mut parse = || -> Result<Self, Error> {
            let _fingerprint: [u8; 32] = reader.array()?;
            Ok(Self {
                count: u64::from_be_bytes(reader.array()?),
                digest: reader.array()?,
            })
        };
        let mark = parse().map_err(|_| Error::GuardFailure)?;
        // One encoding only: fingerprint and checksum are compared with it.
        (mark.to_bytes(fingerprint) == bytes)
            .then_some(mark)
            .ok_or(Error::GuardFailure)
    }
}

fn header(fingerprint: &SeedFingerprint) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(LOG);
    header[8..].copy_from_slice(fingerprint.as_bytes());
    header
}

fn chain(before: &Digest, body: &[u8]) -> Digest {
    hash_lp(b"MLADSA guard", &[before, body])
}

fn failure(_: io::Error) -> Error {
    Error::GuardFailure
}
