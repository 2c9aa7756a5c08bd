//! Log and high-water mark in files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::error::{JournalError, StorageError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::journal::storage::{LogStorage, MarkStorage};
use crate::keys::seed::MasterSeed;

/// Log in a file with an exclusive lock. A file system that grants a second lock is rejected, and
/// so is a file of another user or one that others can write.
///
/// The file system must be coherent: what one process has written and flushed, every other one
/// reads, and locks hold across hosts. Network file systems that cache attributes or lock locally
/// are not; two hosts on one of them are two copies of a journal, which only a mark elsewhere tells
/// apart.
#[derive(Debug)]
pub struct FileLog {
    log: File,
    path: PathBuf,
}

impl FileLog {
    /// Opens and locks an existing log.
    ///
    /// # Errors
    /// [`StorageError::InUse`], [`StorageError::Failed`].
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let mut log = Self {
            log: open_locked(path, false)?,
            path: path.into(),
        };
        // The file may have been replaced between opening and locking it.
        log.size().map_err(|_| StorageError::InUse)?;
        Ok(log)
    }

    /// Opens and locks a log, and creates it if there is none.
    ///
    /// # Errors
    /// [`StorageError::InUse`], [`StorageError::Failed`].
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        drop(open_locked(path, true)?);
        flush_directory(path)?;
        Self::open(path)
    }
}

impl LogStorage for FileLog {
    fn read(&mut self) -> Result<Vec<u8>, StorageError> {
        let mut bytes = Vec::new();
        self.log.rewind()?;
        self.log.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn size(&mut self) -> Result<u64, StorageError> {
        check_name(&self.log, &self.path)?;
        Ok(self.log.metadata()?.len())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.log.write_all(bytes)?;
        Ok(self.log.sync_all()?)
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        self.log.set_len(len)?;
        Ok(self.log.sync_all()?)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let (next, staged) = stage(&self.path, bytes)?;
        // Locked before it gets the name.
        lock(&next)?;
        take_name(&staged, &self.path)?;
        self.log = next;
        Ok(())
    }
}

/// High-water mark in a file, on another device than the log if there is one: a restore of
/// both from one backup cannot be detected.
///
/// The file system must be coherent, as for [`FileLog`]. A lock on `FILE.lock` is held for the
/// lifetime of the value, so that of several journals with one mark, also of copies of one journal,
/// only one is open at a time.
#[derive(Debug)]
pub struct FileMark {
    path: PathBuf,
    lock: File,
}

impl FileMark {
    /// Locks the mark at `path`, which may not exist yet. A link is followed, so that mark and lock
    /// are where it leads to: a rename would replace the link and leave the old mark there.
    ///
    /// # Errors
    /// [`StorageError::InUse`]; [`StorageError::Failed`], also for a link that leads to no file.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let path = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path)?,
            _ => path.into(),
        };
        let lock = open_locked(&Self::lock_path(&path), true)?;
        Ok(Self { path, lock })
    }

    /// Returns the lock file of the mark at `path`.
    pub fn lock_path(path: &Path) -> PathBuf {
        with_suffix(path, ".lock")
    }
}

impl MarkStorage for FileMark {
    fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(read_regular(&self.path)?)
    }

    fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
        // Under the lock: no other journal changes the mark between comparison and rename.
        check_name(&self.lock, &Self::lock_path(&self.path))?;
        if self.read()?.as_deref() != expected {
            return Err(StorageError::Failed);
        }
        let (_, staged) = stage(&self.path, next)?;
        Ok(take_name(&staged, &self.path)?)
    }
}

impl OneTimeKeyJournal {
    /// Creates a journal in two files, as [`OneTimeKeyJournal::create`] does.
    ///
    /// # Errors
    /// [`JournalError::Damaged`], [`JournalError::Storage`].
    pub fn create_files(log: &Path, mark: &Path, seed: &MasterSeed) -> Result<Self, JournalError> {
        Self::create(FileLog::create(log)?, FileMark::open(mark)?, seed)
    }

    /// Opens a journal in two files, as [`OneTimeKeyJournal::open`] does.
    ///
    /// # Errors
    /// [`JournalError::Damaged`], [`JournalError::Storage`].
    pub fn open_files(log: &Path, mark: &Path, seed: &MasterSeed) -> Result<Self, JournalError> {
        Self::open(FileLog::open(log)?, FileMark::open(mark)?, seed)
    }
}

/// Greatest length of a file that is read as a whole.
const MAX_LEN: u64 = 1 << 24;

/// Reads a file, if there is one. A pipe, a device or a file that is too long is an error; it would
/// block, or fill the memory. The open file is examined: the path may lead to another one by then.
fn read_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        // The open of a pipe does not wait for its other end.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let file = match options.read(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= MAX_LEN {
            return Ok(Some(bytes));
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Returns options that create files readable and writable by the owner only: write access to log
/// or mark would decide what was signed.
fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).append(true);
    options
}

fn open_locked(path: &Path, create: bool) -> Result<File, StorageError> {
    let file = owner_only().create(create).open(path)?;
    check_owner(&file)?;
    lock(&file)?;
    match owner_only().open(path)?.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(file),
        _ => Err(StorageError::Failed),
    }
}

fn lock(file: &File) -> Result<(), StorageError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StorageError::InUse),
        Err(TryLockError::Error(_)) => Err(StorageError::Failed),
    }
}

/// Rejects a file of another user, and one that others can write: it would decide what was signed.
fn check_owner(file: &File) -> Result<(), StorageError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        let own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !own || metadata.mode() & 0o022 != 0 {
            return Err(StorageError::OtherOwner);
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Checks that `path` still refers to the open file.
fn check_name(file: &File, path: &Path) -> Result<(), StorageError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (own, named) = (file.metadata()?, fs::metadata(path)?);
        if (own.dev(), own.ino()) != (named.dev(), named.ino()) {
            return Err(StorageError::Failed);
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Writes `bytes` durably to `PATH.next`. The caller holds the lock of `path`, so a file of
/// that name is the remainder of a crash, or a link that must not be followed.
fn stage(path: &Path, bytes: &[u8]) -> io::Result<(File, PathBuf)> {
    let staged = with_suffix(path, ".next");
    match fs::remove_file(&staged) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = owner_only().create_new(true).open(&staged)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.inspect_err(|_| drop(fs::remove_file(&staged)))?;
    Ok((file, staged))
}

/// Gives the name `path` to a staged file, which is removed if that fails.
fn take_name(staged: &Path, path: &Path) -> io::Result<()> {
    fs::rename(staged, path).inspect_err(|_| drop(fs::remove_file(staged)))?;
    flush_directory(path)
}

/// Flushes the directory that contains `path`, so that a new name is durable.
fn flush_directory(path: &Path) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    // Other systems cannot open directories.
    if cfg!(unix) {
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

impl From<io::Error> for StorageError {
    fn from(_: io::Error) -> Self {
        Self::Failed
    }
}
