//! Write-once storage: lists of roots, consumed tasks.

use alloc::vec::Vec;

use crate::error::StorageError;

/// Durable storage of one value for each name, never replaced.
pub trait WriteOnceStore {
    /// Stores `value` under `name` durably, or compares it with the stored value.
    ///
    /// # Errors
    /// [`StorageError::OtherValue`] if another value is stored, [`StorageError::Failed`].
    fn write(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError>;

    /// Reads the value stored under `name`.
    ///
    /// # Errors
    /// [`StorageError::Failed`].
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError>;
}

/// Store that a restart erases, for tests and measurements.
#[cfg(any(test, feature = "test-util"))]
#[derive(Clone, Debug, Default)]
pub struct MemoryWriteOnceStore(alloc::collections::BTreeMap<alloc::string::String, Vec<u8>>);

#[cfg(any(test, feature = "test-util"))]
impl WriteOnceStore for MemoryWriteOnceStore {
    fn write(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError> {
        let known = self.0.entry(name.into()).or_insert_with(|| value.to_vec());
        (known == value)
            .then_some(())
            .ok_or(StorageError::OtherValue)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.0.get(name).cloned())
    }
}

#[cfg(feature = "std")]
mod file {
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::vec::Vec;

    use super::WriteOnceStore;
    use crate::error::StorageError;
    use crate::journal::file::{MAX_LEN, flush_directory, read_regular, write_next_to};
    use crate::wire::framing::hash_lp;

    /// Store with one file for each name in a directory, each with a checksum.
    #[derive(Clone, Debug)]
    pub struct FileWriteOnceStore(PathBuf);

    impl FileWriteOnceStore {
        /// Store in an existing directory.
        #[must_use]
        pub fn new(directory: &Path) -> Self {
            Self(directory.into())
        }
    }

    impl WriteOnceStore for FileWriteOnceStore {
        fn write(&mut self, name: &str, value: &[u8]) -> Result<(), StorageError> {
            let bytes = [value, &checksum(name, value)].concat();
            if bytes.len() as u64 > MAX_LEN {
                return Err(StorageError::Failed);
            }
            let path = self.0.join(name);
            let next = write_next_to(&path, &bytes)?;
            // A link never replaces a file, so the first value is kept, and complete.
            let linked = fs::hard_link(&next, &path);
            fs::remove_file(&next)?;
            flush_directory(&path)?;
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
                _ if read_regular(&path)?.as_ref() == Some(&bytes) => Ok(()),
                _ => Err(StorageError::OtherValue),
            }
        }

        fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
            let Some(bytes) = read_regular(&self.0.join(name))? else {
                return Ok(None);
            };
            let (value, found) = bytes.split_last_chunk().ok_or(StorageError::Failed)?;
            let valid = *found == checksum(name, value);
            valid
                .then(|| Some(value.into()))
                .ok_or(StorageError::Failed)
        }
    }

    fn checksum(name: &str, value: &[u8]) -> [u8; 32] {
        hash_lp(b"MLADSA pin", &[name.as_bytes(), value])
    }
}

#[cfg(feature = "std")]
pub use file::FileWriteOnceStore;
