//! Atomic file output: a file is complete and on the disk under a temporary name before it takes
//! its own. Several files take their names together or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

#[cfg(unix)]
use crate::file::interrupt;
use crate::file::paths::is_still;

/// Access to a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Mode 0600. On Windows a file inherits the access of its folder.
    Owner,
    /// The mode that the umask gives.
    Umask,
}

/// A complete file under a temporary name in the directory of its target. Dropping it removes the
/// temporary name.
pub(crate) struct StagedFile {
    file: File,
    /// The new content until the file is published; after an exchange the previous content.
    temporary: TempPath,
    target: PathBuf,
    replaced: bool,
}

impl StagedFile {
    /// Writes and flushes `bytes` next to `target`.
    pub(crate) fn write(target: &Path, bytes: &[u8], access: Access) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix("mldsa-").suffix(".tmp");
        #[cfg(not(unix))]
        let _ = access;
        #[cfg(unix)]
        if access == Access::Umask {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let (mut file, temporary) = {
            #[cfg(unix)]
            let mut names = interrupt::temporaries();
            let file = builder.tempfile_in(directory_of(target))?;
            #[cfg(unix)]
            names.push(file.path().to_owned());
            file.into_parts()
        };
        // Tells a file in use from one that a killed run left. Not every file system has locks, and
        // those of Windows keep others from reading the file.
        #[cfg(unix)]
        let _ = file.try_lock();
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Self {
            file,
            temporary,
            target: target.into(),
            replaced: false,
        })
    }

    #[cfg(unix)]
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the temporary name. After an exchange the previous content has it.
    #[cfg(unix)]
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Flushes the directory, so that the new name of the file is on the disk.
    pub(crate) fn flush_name(&self) -> io::Result<()> {
        // Only Unix opens directories.
        if cfg!(unix) {
            File::open(directory_of(&self.target))?.sync_all()?;
        }
        Ok(())
    }

    /// Takes the name of the target unless a file has it ([`io::ErrorKind::AlreadyExists`]).
    pub(crate) fn create(&self) -> io::Result<()> {
        match fs::hard_link(&self.temporary, &self.target) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // For file systems without links: an empty file reserves the name.
                File::create_new(&self.target)?;
                fs::rename(&self.temporary, &self.target)
                    .inspect_err(|_| drop(fs::remove_file(&self.target)))
            }
            linked => linked,
        }
    }

    /// Takes the name of the target; a previous file keeps the temporary name.
    pub(crate) fn exchange(&mut self) -> io::Result<()> {
        match exchange_files(&self.temporary, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.create(),
            exchanged => {
                self.replaced = exchanged.is_ok();
                exchanged
            }
        }
    }

    /// Undoes [`create`](Self::create) or [`exchange`](Self::exchange), unless another process has
    /// taken the name since. The error names the file that is left.
    pub(crate) fn revert(self) -> Result<(), String> {
        if !is_still(&self.file, &self.target) {
            return Ok(());
        }
        let target = self.target.display();
        if !self.replaced {
            return fs::remove_file(&self.target)
                .map_err(|error| format!("{target} was written and is not removed: {error}"));
        }
        exchange_files(&self.temporary, &self.target).map_err(|error| {
            // The caller holds the lock: no signal removes the name.
            let kept = match self.temporary.keep() {
                Ok(path) => path.display().to_string(),
                Err(kept) => kept.path.display().to_string(),
            };
            format!("{target} is replaced, its previous content is in {kept}: {error}")
        })
    }
}

/// Returns the directory that contains a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Exchanges the names of two files. What is no regular file keeps its name.
fn exchange_files(temporary: &Path, target: &Path) -> io::Result<()> {
    exchange_names(temporary, target)?;
    if fs::symlink_metadata(temporary)?.is_file() {
        return Ok(());
    }
    exchange_names(temporary, target)?;
    Err(io::Error::other("is no regular file any more"))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange_names(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        // The kernel or the file system has no exchange.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_by_links(a, b),
        exchanged => Ok(exchanged?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange_names(a: &Path, b: &Path) -> io::Result<()> {
    exchange_by_links(a, b)
}

/// Exchanges names as [`exchange_names`] does, but in steps, for file systems without an exchange; `b` has no file for a moment
/// where there are no links either.
fn exchange_by_links(a: &Path, b: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(b)?.is_file() {
        return Err(io::Error::other("is no regular file any more"));
    }
    let aside = a.with_extension("old");
    let linked = fs::hard_link(b, &aside).is_ok();
    if !linked {
        fs::rename(b, &aside)?;
    }
    fs::rename(a, b).map_err(|error| {
        let restored = if linked {
            fs::remove_file(&aside)
        } else {
            fs::rename(&aside, b)
        };
        match restored {
            Err(_) if !linked => {
                io::Error::other(format!("{error}; the file is now {}", aside.display()))
            }
            _ => error,
        }
    })?;
    fs::rename(&aside, a)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn files_are_exchanged_in_steps_too() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, directory] = ["a.tmp", "b", "c"].map(|name| folder.path().join(name));
        fs::write(&a, b"new").unwrap();
        fs::write(&b, b"old").unwrap();
        fs::create_dir(&directory).unwrap();
        exchange_by_links(&a, &directory).unwrap_err();
        exchange_by_links(&directory, &b).unwrap_err();
        assert_eq!(fs::read(&b).unwrap(), b"old");
        exchange_by_links(&a, &b).unwrap();
        let found = [&a, &b].map(|path| fs::read(path).unwrap());
        assert_eq!(found, [b"old", b"new"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
