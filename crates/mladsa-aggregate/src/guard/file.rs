//! A guard in two files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::error::Error;
use crate::guard::journal::Guard;
use crate::guard::medium::{LogMedium, MarkMedium, MediumError};
use crate::keys::seed::MasterSeed;

/// A log in a file, locked for this process alone. The file system needs locks
/// that work: one on which a second lock is granted is refused.
#[derive(Debug)]
pub struct FileLog {
    log: File,
    path: PathBuf,
}

impl FileLog {
    fn new(path: &Path, create: bool) -> Result<Self, Error> {
        let log = open(path, create).map_err(|_| Error::GuardFailure)?;
        lock(&log)?;
        let mut log = Self {
            log,
            path: path.into(),
        };
        // A second handle of the same file must not get the lock.
        let second = open(path, false).map_err(|_| Error::GuardFailure)?;
        match second.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            _ => return Err(Error::GuardFailure),
        }
        // The file may have been replaced between opening and locking it.
        log.size().map_err(|_| Error::GuardInUse)?;
        Ok(log)
    }

    /// Opens an existing log and locks it.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::new(path, false)
    }

    /// Opens a log, creating it if there is none, and locks it.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn create(path: &Path) -> Result<Self, Error> {
        let log = Self::new(path, true)?;
        flush_directory(path).map_err(|_| Error::GuardFailure)?;
        Ok(log)
    }
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    owned().read(true).append(true).create(create).open(path)
}

/// What it creates, its owner alone reads and writes: who could write a log or a mark
/// would decide what was signed.
fn owned() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn lock(file: &File) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::GuardInUse),
        Err(TryLockError::Error(_)) => Err(Error::GuardFailure),
    }
}

impl LogMedium for FileLog {
    fn read(&mut self) -> Result<Vec<u8>, MediumError> {
        let mut bytes = Vec::new();
        self.log
            .rewind()
            .and_then(|()| self.log.read_to_end(&mut bytes))
            .map_err(failure)?;
        Ok(bytes)
    }

    fn size(&mut self) -> Result<u64, MediumError> {
        let own = self.log.metadata().map_err(failure)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let named = fs::metadata(&self.path).map_err(failure)?;
            if (own.dev(), own.ino()) != (named.dev(), named.ino()) {
                return Err(MediumError);
            }
        }
        Ok(own.len())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.log.write_all(bytes).map_err(failure)
    }

    fn truncate(&mut self, len: u64) -> Result<(), MediumError> {
        self.log.set_len(len).map_err(failure)
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.log.sync_all().map_err(failure)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        let (next, path) = write_beside(&self.path, bytes).map_err(failure)?;
        // The new file is locked before it gets the name.
        let named = lock(&next)
            .map_err(|_| MediumError)
            .and_then(|()| fs::rename(&path, &self.path).map_err(failure));
        if named.is_err() {
            let _ = fs::remove_file(&path);
        }
        named?;
        flush_directory(&self.path).map_err(failure)?;
        self.log = next;
        Ok(())
    }
}

/// A mark in a file. It belongs on another device than the log where there is one:
/// a restore of both from one backup cannot be noticed.
///
/// The first mark takes a name that is free: of two guards that are made over one path
/// at once, one fails.
#[derive(Debug)]
pub struct FileMark {
    path: PathBuf,
    staged: Option<PathBuf>,
    // Whether there was none: another guard may take the name meanwhile.
    first: bool,
}

impl FileMark {
    /// The mark at `path`, whether it exists or not.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.into(),
            staged: None,
            first: true,
        }
    }

    /// Writes the next mark beside the present one.
    fn write_next(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        if self.first {
            return write_beside(&self.path, bytes).map(|(_, path)| path);
        }
        let mut path = OsString::from(&self.path);
        path.push(".next");
        let path = PathBuf::from(path);
        // Only the holder of the log's lock writes here: one name is enough. What is
        // there was left by a crash, or is somebody's link.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut next = owned().write(true).create_new(true).open(&path)?;
        next.write_all(bytes)?;
        next.sync_all()?;
        Ok(path)
    }

    /// Gives the first mark its name, which must be nobody's.
    fn claim(&self, staged: &Path) -> io::Result<()> {
        let linked = match fs::hard_link(staged, &self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // Memory cards have no links: there an empty file holds the name.
                File::create_new(&self.path).and_then(|_| {
                    let named = fs::rename(staged, &self.path);
                    named.inspect_err(|_| drop(fs::remove_file(&self.path)))
                })
            }
            linked => linked,
        };
        // Gone already if it was renamed.
        let _ = fs::remove_file(staged);
        linked
    }
}

impl MarkMedium for FileMark {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        let mark = match fs::read(&self.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failure(error)),
        };
        self.first = mark.is_none();
        Ok(mark)
    }

    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.staged = Some(self.write_next(bytes).map_err(failure)?);
        Ok(())
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        let staged = self.staged.take().ok_or(MediumError)?;
        let named = if self.first {
            self.claim(&staged)
        } else {
            fs::rename(staged, &self.path)
        };
        named
            .and_then(|()| flush_directory(&self.path))
            .map_err(failure)?;
        self.first = false;
        Ok(())
    }
}

impl Guard {
    /// [`Guard::create`] in two files.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn create_files(log: &Path, mark: &Path, seed: &MasterSeed) -> Result<Self, Error> {
        Self::create(FileLog::create(log)?, FileMark::new(mark), seed)
    }

    /// [`Guard::open`] in two files.
    ///
    /// # Errors
    /// [`Error::GuardInUse`], [`Error::GuardFailure`].
    pub fn open_files(log: &Path, mark: &Path, seed: &MasterSeed) -> Result<Self, Error> {
        Self::open(FileLog::open(log)?, FileMark::new(mark), seed)
    }
}

/// Puts `bytes` on the disk beside `path`, in a file of a name that nobody else has; none
/// is left where that fails.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<(File, PathBuf)> {
    let (mut file, path) = create_beside(path)?;
    match file.write_all(bytes).and_then(|()| file.sync_all()) {
        Ok(()) => Ok((file, path)),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Processes of several containers may all have the same number.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    for number in 0u32.. {
        let mut name = OsString::from(path);
        name.push(std::format!(".{}-{number}.next", std::process::id()));
        let name = PathBuf::from(name);
        let mut options = owned();
        match options.read(true).append(true).create_new(true).open(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
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

fn failure(_: io::Error) -> MediumError {
    MediumError
}
