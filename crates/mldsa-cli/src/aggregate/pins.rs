//! Pinned lists of roots in a store.

use std::io;
use std::path::{Path, PathBuf};

use mladsa_aggregate::errors::StorageError;
use mladsa_aggregate::{FileWriteOnceStore, WriteOnceStore};

use super::dirs::{TempPaths, named};
use crate::paths::is_inside;

/// The pinned lists of a store. A new list is kept in memory until [`keep`](Self::keep): a failed
/// step pins nothing.
pub(crate) struct Pins {
    directory: PathBuf,
    new: Option<(String, Vec<u8>)>,
}

impl Pins {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.into(),
            new: None,
        }
    }

    /// Whether a list is not stored yet.
    pub(crate) fn is_new(&self) -> bool {
        self.new.is_some()
    }

    /// Rejects a result whose path is the new list's, or a directory of it.
    pub(crate) fn check_result(&self, result: &Path) -> io::Result<()> {
        match &self.new {
            Some((name, _)) if is_inside(&self.directory.join(name), result) => {
                let why = "is where the list of roots is kept, write elsewhere";
                Err(named(result, why))
            }
            _ => Ok(()),
        }
    }

    /// Writes the new list, if there is one.
    pub(crate) fn keep(&self) -> io::Result<()> {
        let Some((name, list)) = &self.new else {
            return Ok(());
        };
        let mut made = TempPaths::default();
        let kept = made.private_directory(&self.directory).and_then(|()| {
            let pinned = FileWriteOnceStore::new(&self.directory).write(name, list);
            pinned.map_err(|error| named(&self.directory.join(name), error))
        });
        made.unless(kept)
    }
}

impl WriteOnceStore for Pins {
    fn write(&mut self, name: &str, list: &[u8]) -> Result<(), StorageError> {
        match self.read(name)? {
            Some(known) if known == list => {}
            Some(_) => return Err(StorageError::OtherValue),
            None => self.new = Some((name.into(), list.into())),
        }
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        FileWriteOnceStore::new(&self.directory).read(name)
    }
}
