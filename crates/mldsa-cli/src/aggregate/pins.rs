//! Pinned lists of roots in a store.

use std::io;
use std::path::{Path, PathBuf};

use mladsa_aggregate::{Error, FilePins, PinStore};

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
            let pinned = FilePins::new(&self.directory).pin(name, list);
            pinned.map_err(|error| named(&self.directory.join(name), error))
        });
        made.unless(kept)
    }
}

impl PinStore for Pins {
    fn pin(&mut self, name: &str, list: &[u8]) -> Result<(), Error> {
        match self.pinned(name)? {
            Some(known) if known == list => {}
            Some(_) => return Err(Error::RootNotPinned),
            None => self.new = Some((name.into(), list.into())),
        }
        Ok(())
    }

    fn pinned(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        FilePins::new(&self.directory).pinned(name)
    }
}
