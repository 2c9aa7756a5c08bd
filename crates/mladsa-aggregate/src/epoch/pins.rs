//! What is written once and never replaced: lists of roots, decided labels.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;

/// Where pinned things are kept: one value for each name, for ever.
pub trait PinStore {
    /// Stores `value` under `name` durably, or compares it with what is stored.
    /// Implementations flush before they return and never replace a value.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if another value is stored,
    /// [`Error::GuardFailure`] if the store cannot be used.
    fn pin(&mut self, name: &str, value: &[u8]) -> Result<(), Error>;

    /// What is stored under `name`.
    ///
    /// # Errors
    /// [`Error::GuardFailure`] if the store cannot be used.
    fn pinned(&self, name: &str) -> Result<Option<Vec<u8>>, Error>;
}

/// A store that a restart erases: for tests, simulations and measurements only.
#[derive(Clone, Debug, Default)]
pub struct InMemoryPinsForTests(BTreeMap<String, Vec<u8>>);

impl PinStore for InMemoryPinsForTests {
    fn pin(&mut self, name: &str, value: &[u8]) -> Result<(), Error> {
        let known = self.0.entry(name.into()).or_insert_with(|| value.to_vec());
        (known == value).then_some(()).ok_or(Error::RootNotPinned)
    }

    fn pinned(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.get(name).cloned())
    }
}

#[cfg(feature = "std")]
mod file {
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::vec::Vec;

    use super::PinStore;
    use crate::error::Error;
    use crate::guard::file::{flush_directory, write_beside};
    use crate::wire::framing::hash_lp;

    /// Pinned values in the files of a directory, each with its checksum.
    #[derive(Clone, Debug)]
    pub struct FilePins(PathBuf);

    impl FilePins {
        /// Uses an existing directory.
        pub fn new(directory: &Path) -> Self {
            Self(directory.into())
        }

        /// Whether `name` has these bytes now.
        fn pin_file(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
            let path = self.0.join(name);
            let (_, next) = write_beside(&path, bytes)?;
            // A link never replaces: the first value wins, whole.
            let linked = fs::hard_link(&next, &path);
            fs::remove_file(&next)?;
            flush_directory(&path)?;
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                // Whoever won: what is there is what counts.
                _ => Ok(fs::read(&path)? == bytes),
            }
        }
    }

    impl PinStore for FilePins {
        fn pin(&mut self, name: &str, value: &[u8]) -> Result<(), Error> {
            let bytes = [value, &checksum(name, value)].concat();
            match self.pin_file(name, &bytes) {
                Ok(true) => Ok(()),
                Ok(false) => Err(Error::RootNotPinned),
                Err(_) => Err(Error::GuardFailure),
            }
        }

        fn pinned(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
            let bytes = match fs::read(self.0.join(name)) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(_) => return Err(Error::GuardFailure),
            };
            let (value, found) = bytes.split_last_chunk().ok_or(Error::GuardFailure)?;
            if *found != checksum(name, value) {
                return Err(Error::GuardFailure);
            }
            Ok(Some(value.into()))
        }
    }

    fn checksum(name: &str, value: &[u8]) -> [u8; 32] {
        hash_lp(b"MLADSA pin", &[name.as_bytes(), value])
    }
}

#[cfg(feature = "std")]
pub use file::FilePins;
