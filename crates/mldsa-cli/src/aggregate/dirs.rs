//! Files and directories of a committee and its members: private directories, atomic files, bounded
//! reads, clean-up after a failed step.

use core::time::Duration;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use base16ct::lower::encode_string;
use mladsa_aggregate::{Error, MemberId, TaskId};

use crate::commit::{Access, StagedFile, flush_directory};
use crate::input;
use crate::paths::is_inside;
use crate::terminal::complain;

/// Greatest length of a file that one member writes for the others.
pub(crate) const MAX_SHARED: u64 = 1 << 14;

/// Paths that a step has created, in this order. A failed step removes them.
#[derive(Default)]
pub(crate) struct TempPaths(Vec<PathBuf>);

impl TempPaths {
    pub(crate) fn push(&mut self, path: &Path) {
        self.0.push(path.into());
    }

    /// Creates a shared directory with the mode of the umask.
    pub(crate) fn directory(&mut self, path: &Path) -> io::Result<()> {
        self.build(path, &DirBuilder::new())
    }

    /// Creates the directory of one member or verifier with mode 0700. An empty directory gets that
    /// mode; one with files is rejected if other users can write into it.
    pub(crate) fn private_directory(&mut self, path: &Path) -> io::Result<()> {
        #[cfg_attr(not(unix), allow(unused_mut, reason = "modes are Unix's"))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
            builder.mode(0o700);
            if path.is_dir() {
                let failed = |error| named(path, error);
                if fs::read_dir(path).map_err(failed)?.next().is_some() {
                    return expect_private(path);
                }
                let mode = fs::Permissions::from_mode(0o700);
                return fs::set_permissions(path, mode).map_err(failed);
            }
        }
        self.build(path, &builder)
    }

    fn build(&mut self, path: &Path, builder: &DirBuilder) -> io::Result<()> {
        let missing: Vec<_> = path
            .ancestors()
            .take_while(|place| !place.exists() && !place.as_os_str().is_empty())
            .collect();
        for place in missing.into_iter().rev() {
            match builder.create(place) {
                Ok(()) => self.push(place),
                // Another process has created it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(named(path, error)),
            }
        }
        if path.is_dir() {
            Ok(())
        } else {
            Err(named(path, io::Error::from(io::ErrorKind::NotADirectory)))
        }
    }

    /// Removes the paths if `result` is an error. Directories with files of others stay.
    pub(crate) fn unless<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|_| {
            for path in self.0.iter().rev() {
                let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
            }
        })
    }
}

/// Polls until there is a value or the time is over. Each text in place of a value tells what is awaited;
/// a new one is shown on standard error.
pub(crate) fn wait<T>(
    seconds: u64,
    mut poll: impl FnMut() -> io::Result<Result<T, String>>,
) -> io::Result<T> {
    let began = Instant::now();
    let mut shown = String::new();
    loop {
        let awaited = match poll()? {
            Ok(value) => return Ok(value),
            Err(awaited) => awaited,
        };
        if began.elapsed().as_secs() >= seconds {
            let why = format!("still awaited after {seconds} s: {awaited}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        if awaited != shown {
            complain(format_args!("awaited: {awaited}"));
            shown = awaited;
        }
        thread::sleep(POLL);
    }
}

/// Time between two looks at files of other members.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// Rejects a directory that other users can write into.
pub(crate) fn expect_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::metadata(path).map_err(|error| named(path, error))?;
        if metadata.is_dir() && metadata.permissions().mode() & 0o022 != 0 {
            return Err(named(
                path,
                "others may write into this directory: a store is its owner's alone, \
                 name a new one or `chmod 700` this one",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Rejects a store with files that other users can write into: they could put pins there.
pub(crate) fn expect_own(store: &Path) -> io::Result<()> {
    let first = fs::read_dir(store).ok().and_then(|mut files| files.next());
    first.map_or(Ok(()), |_| expect_private(store))
}

/// Rejects a store inside the shared directory of `option`, or around it.
pub(crate) fn expect_apart(option: &str, shared: &Path, store: &Path) -> io::Result<()> {
    if !is_inside(store, shared) && !is_inside(shared, store) {
        return Ok(());
    }
    let why = format!(
        "{option} is shared by all members, --store is for one alone: name two directories, \
         neither in the other"
    );
    Err(named(store, why))
}

pub(crate) fn named(path: &Path, error: impl core::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

pub(crate) fn refused(error: impl Into<Error>) -> io::Error {
    io::Error::other(error.into())
}

pub(crate) fn member_id(id: &[u8]) -> io::Result<MemberId> {
    let why = || format!("a member's name has 1 to 64 bytes, not {}", id.len());
    MemberId::new(id).map_err(|_| io::Error::other(why()))
}

pub(crate) fn content_label(content: &str) -> io::Result<TaskId> {
    let why = || format!("a content label has 1 to 1024 bytes, not {}", content.len());
    TaskId::new(content.as_bytes()).map_err(|_| io::Error::other(why()))
}

/// The file name of a member: hex, which every file system accepts.
pub(crate) fn file_name(id: &MemberId) -> String {
    encode_string(id.as_bytes())
}

/// Reads an input of the command line: a file, a pipe or standard input.
pub(crate) fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = input::open(path)?;
    read_from(file, limit).map_err(|error| input::named(path, &error))
}

/// Reads a file of another member: regular, and bounded.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MAX_SHARED)
}

pub(crate) fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let failed = |error: io::Error| input::named(path, &error);
    let file = open_at_once(path).map_err(failed)?;
    // Of the open file: the path may lead to another one by now.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(named(path, "is not a regular file"));
    }
    read_from(file, limit).map_err(failed)
}

/// Opens a file; the open of a pipe does not wait for its other end.
fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.read(true).open(path)
}

fn read_from(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let why = format!("is too long: {limit} bytes at most");
        return Err(io::Error::other(why));
    }
    Ok(bytes)
}

/// All files of a directory that are not temporary, sorted by name.
pub(crate) fn files_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path).map_err(|error| named(path, error))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_none() && path.is_file())
        .collect();
    files.sort();
    Ok(files)
}

/// Writes or replaces a file atomically.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    StagedFile::write(path, bytes, Access::Umask)
        .and_then(StagedFile::replace)
        .map_err(|error| named(path, error))
}

/// Prefix of the temporary files of a member in shared directories.
fn prefix(owner: &MemberId) -> String {
    format!("mldsa-{}-", file_name(owner))
}

/// Writes or replaces a shared file of a member atomically. The caller holds the journal or the lock
/// of its store, and has swept the directory.
pub(crate) fn publish_by(owner: &MemberId, path: &Path, bytes: &[u8]) -> io::Result<()> {
    StagedFile::write_as(&prefix(owner), path, bytes, Access::Umask)
        .and_then(StagedFile::replace)
        .map_err(|error| named(path, error))
}

/// Removes the temporary files that interrupted commands of a member have left in a shared directory.
/// The caller holds the journal or the lock of its store, so that no other command writes any.
pub(crate) fn sweep_of(owner: &MemberId, directory: &Path) {
    let prefix = prefix(owner);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(prefix.as_bytes()) && name.ends_with(b".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Creates a file atomically; `false` if there is one already.
pub(crate) fn publish_first(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    create(StagedFile::write(path, bytes, Access::Umask), path)
}

/// [`publish_first`] for a shared file of a member: see [`publish_by`].
pub(crate) fn publish_first_by(owner: &MemberId, path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let staged = StagedFile::write_as(&prefix(owner), path, bytes, Access::Umask);
    create(staged, path)
}

fn create(staged: io::Result<StagedFile>, path: &Path) -> io::Result<bool> {
    match staged.and_then(|file| file.create()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        created => created.map(|()| true).map_err(|error| named(path, error)),
    }
}

/// Creates a file atomically and durably; an existing file is an error.
pub(crate) fn publish_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if !publish_first(path, bytes)? {
        return Err(named(path, io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    flush_directory(path).map_err(|error| {
        let _ = fs::remove_file(path);
        named(path, error)
    })
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// A file that is replaced by a pipe after a look at its type blocked the open.
    #[test]
    fn pipe_without_a_writer_is_opened_and_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let mkfifo = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(mkfifo.unwrap().success());
        assert!(open_at_once(&path).is_ok());
        let error = read_up_to(&path, 9).unwrap_err().to_string();
        assert!(error.ends_with("is not a regular file"), "{error}");
    }
}
