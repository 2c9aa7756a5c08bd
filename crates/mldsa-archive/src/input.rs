//! The bytes of an input, whatever happens to its name.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Failure, named};

/// One open file, or bytes in memory.
#[derive(Clone)]
pub(crate) enum Input {
    File(Arc<File>, u64),
    Memory(Bytes),
}

impl Input {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(_, len) => *len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads from a position, which threads that share a file do not change for each other.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::File(file, _) => std::os::unix::fs::FileExt::read_at(&**file, buffer, at),
            #[cfg(windows)]
            Self::File(file, _) => std::os::windows::fs::FileExt::seek_read(&**file, buffer, at),
            #[cfg(not(any(unix, windows)))]
            Self::File(..) => Err(io::ErrorKind::Unsupported.into()),
            Self::Memory(bytes) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[at..]).read(buffer)
            }
        }
    }

    /// Returns bytes that are all there.
    pub(crate) fn bytes(&self, at: u64, len: usize) -> io::Result<Bytes> {
        let end = at.checked_add(len as u64).filter(|end| *end <= self.len());
        end.ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Self::Memory(bytes) = self {
            let at = at as usize;
            return Ok(bytes.slice(at..at + len));
        }
        let mut bytes = Vec::with_capacity(len);
        self.from(at).take(len as u64).read_to_end(&mut bytes)?;
        match bytes.len() == len {
            true => Ok(bytes.into()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn from(&self, at: u64) -> From {
        From {
            input: self.clone(),
            at,
        }
    }

    /// Reads everything.
    pub(crate) fn reader(&self) -> BufReader<From> {
        BufReader::with_capacity(1 << 16, self.from(0))
    }
}

/// What follows a position.
pub(crate) struct From {
    input: Input,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read_at(self.at, buffer)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// A file, whatever its names and the links to it, and what changes when it is written. Windows has no number of a
/// file for programs in Rust: there it is the length and the times alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Identity {
    node: (u64, u64),
    len: u64,
    times: [i128; 2],
}

impl Identity {
    /// Returns the identity of a file.
    ///
    /// # Errors
    /// It is no regular file.
    pub(crate) fn of(found: &Metadata) -> Result<Self, Failure> {
        if !found.is_file() {
            return Err("it is no regular file".into());
        }
        #[cfg(unix)]
        let node = {
            use std::os::unix::fs::MetadataExt;
            (found.dev(), found.ino())
        };
        #[cfg(not(unix))]
        let node = (0, 0);
        Ok(Self {
            node,
            len: found.len(),
            times: times(found)?,
        })
    }
}

/// Returns the time of the last write, and that of the last change, which nobody can set back. A new name, link or
/// mode changes it, so that a run may end for nothing. Where there is none, it is the time of creation.
pub(crate) fn times(found: &Metadata) -> io::Result<[i128; 2]> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let time = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Ok([
            time(found.mtime(), found.mtime_nsec()),
            time(found.ctime(), found.ctime_nsec()),
        ])
    }
    #[cfg(not(unix))]
    {
        let time = |time: std::time::SystemTime| {
            let since = time.duration_since(std::time::UNIX_EPOCH);
            since.map_or(0, |since| since.as_nanos() as i128)
        };
        Ok([found.modified()?, found.created()?].map(time))
    }
}

/// An open file that has not changed since its identity was taken.
pub(crate) struct Opened<'a> {
    path: &'a Path,
    file: Arc<File>,
    expected: Identity,
}

impl<'a> Opened<'a> {
    /// Opens a file. A pipe is not opened: that may wait forever.
    ///
    /// # Errors
    /// It has another identity than expected.
    pub(crate) fn new(path: &'a Path, expected: &Identity) -> Result<Self, Failure> {
        Identity::of(&fs::metadata(path)?)?;
        let opened = Self {
            path,
            file: Arc::new(File::open(path)?),
            expected: expected.clone(),
        };
        opened.check()?;
        Ok(opened)
    }

    pub(crate) fn input(&self) -> Input {
        Input::File(Arc::clone(&self.file), self.expected.len)
    }

    /// Checks that the file is what it was, and still has its name.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let of = |found: io::Result<Metadata>| Identity::of(&found?);
        let is_same = |found: Result<_, _>| found.is_ok_and(|found| found == self.expected);
        match is_same(of(self.file.metadata())) && is_same(of(fs::metadata(self.path))) {
            true => Ok(()),
            false => Err("it has changed since the run began".into()),
        }
    }
}

/// Reads a whole file to memory.
pub(crate) fn memory(path: &Path) -> Result<Bytes, Failure> {
    let error = |error| named(path.display(), error);
    let expected = fs::metadata(path).map_err(Failure::from);
    let expected = expected
        .and_then(|found| Identity::of(&found))
        .map_err(error)?;
    let opened = Opened::new(path, &expected).map_err(error)?;
    let input = opened.input();
    let len = usize::try_from(input.len())
        .map_err(Failure::from)
        .map_err(error)?;
    let bytes = input.bytes(0, len).map_err(Failure::from).map_err(error)?;
    opened.check().map_err(error)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// What is read is the file that was opened, and whatever happens to it or its name is noticed.
    #[test]
    fn a_file_is_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["data", "other"].map(|name| folder.path().join(name));
        let identity = || Identity::of(&fs::metadata(&path).unwrap()).unwrap();
        for (n, change) in [
            |path: &Path, other: &Path| fs::rename(other, path).unwrap(),
            |path: &Path, _: &Path| fs::remove_file(path).unwrap(),
            |path: &Path, _: &Path| fs::write(path, "after!").unwrap(),
            |path: &Path, _: &Path| {
                File::options()
                    .write(true)
                    .open(path)
                    .unwrap()
                    .set_len(3)
                    .unwrap()
            },
        ]
        .iter()
        .enumerate()
        {
            fs::write(&path, "before").unwrap();
            fs::write(&other, "other!").unwrap();
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            let expected = identity();
            let opened = Opened::new(&path, &expected).unwrap();
            opened.check().unwrap();
            // The clock of files is coarse.
            while fs::metadata(&other).unwrap().modified().unwrap() == modified {
                fs::write(&other, "other!").unwrap();
            }
            change(&path, &other);
            // The time of the last change can be set back.
            if let Ok(file) = File::options().write(true).open(&path) {
                file.set_modified(modified).unwrap();
            }
            assert!(opened.check().is_err(), "{n}");
            assert!(Opened::new(&path, &expected).is_err(), "{n}");
            if n < 2 {
                assert_eq!(opened.input().bytes(0, 6).unwrap(), "before");
            }
        }
    }
}
