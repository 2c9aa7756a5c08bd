//! Bounded reads and atomic writes of files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use tempfile::Builder;

/// Reads a regular file of at most `limit` bytes. A pipe or a device is an error and does not block.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_regular(path, limit, true)
}

/// Reads as [`read`] does, in a directory where others can write: a link is an error, because it
/// can lead to any file of this user.
pub(crate) fn read_foreign(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_regular(path, limit, false)
}

fn read_regular(path: &Path, limit: u64, follow: bool) -> io::Result<Vec<u8>> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // The open of a pipe does not wait for its other end.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, !follow);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    if !follow && std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(named(io::Error::other("a link")));
    }
    let file = options.open(path).map_err(named)?;
    // The open file is examined: the path may lead to another one by then.
    let metadata = file.metadata().map_err(named)?;
    if !metadata.is_file() {
        return Err(named(io::Error::other("not a regular file")));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= limit {
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(named)?;
    }
    if metadata.len().max(bytes.len() as u64) > limit {
        return Err(named(io::Error::other("file is too long")));
    }
    Ok(bytes)
}

/// Writes a file durably under a temporary name and then gives it its own. A file with that name is
/// replaced only if `replace` says so. The mode is 0600, or 0644 if `public` says so.
pub(crate) fn write(path: &Path, bytes: &[u8], replace: bool, public: bool) -> io::Result<()> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let mut file = Builder::new()
        .prefix(".mladsa-")
        .suffix(".tmp")
        .tempfile_in(parent)
        .map_err(named)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    if public {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
    }
    #[cfg(not(unix))]
    let _ = public;
    file.as_file().sync_all()?;
    let stored = if replace {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    stored.map_err(|error| named(error.error))?;
    if cfg!(unix) {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}
