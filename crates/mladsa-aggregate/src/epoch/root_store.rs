//! Pinned root lists in files, one for each epoch, never replaced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::epoch::pinned::RootStore;
use crate::error::Error;
use crate::guard::flush_directory;
use crate::wire::framing::hash_lp;

/// Pinned root lists in a directory: `epoch-N.roots`, a list and its checksum.
#[derive(Clone, Debug)]
pub struct FileRootStore(PathBuf);

impl FileRootStore {
    /// Uses an existing directory.
    pub fn new(directory: &Path) -> Self {
        Self(directory.into())
    }

    fn pin_file(&self, epoch: u64, bytes: &[u8]) -> io::Result<bool> {
        let path = self.0.join(std::format!("epoch-{epoch}.roots"));
        let next = self
            .0
            .join(std::format!("epoch-{epoch}.{}.next", std::process::id()));
        let mut file = File::create(&next)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // A link never replaces: the first list wins, whole.
        let linked = fs::hard_link(&next, &path);
        fs::remove_file(&next)?;
        flush_directory(&path)?;
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(fs::read(&path)? == bytes)
            }
            Err(error) => Err(error),
        }
    }
}

impl RootStore for FileRootStore {
    fn pin(&mut self, epoch: u64, list: &[u8]) -> Result<(), Error> {
        let checksum: [u8; 32] = hash_lp(b"MLADSA roots file", &[&epoch.to_be_bytes(), list]);
        let bytes = [list, &checksum].concat();
        match self.pin_file(epoch, &bytes) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::RootNotPinned),
            Err(_) => Err(Error::GuardFailure),
        }
    }
}
