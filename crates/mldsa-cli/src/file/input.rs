//! Files that commands read; `-` is standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

/// Greatest length of a key, signature, seed, password or `mu`: far above any of them in any
/// format.
const MAX_SMALL: usize = 1 << 16;

pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Makes an error about an input.
pub(crate) fn named(path: &Path, error: &io::Error) -> io::Error {
    let name = if is_standard(path) {
        "standard input".into()
    } else {
        path.display().to_string()
    };
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Makes an error about the content of an input.
pub(crate) fn unusable(path: &Path, why: impl core::fmt::Display) -> io::Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, why.to_string());
    named(path, &error)
}

/// Opens an input without the buffer of the standard library, which is never wiped.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if is_standard(path) {
        standard_input()
    } else {
        File::open(path)
    }
    .map_err(|error| named(path, &error))
}

#[cfg(unix)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

pub(crate) fn read_small(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    read_at_most(path, MAX_SMALL, "too long for a key or signature")
}

/// Reads an input of at most `max` bytes. A longer one is an error with the reason `why`.
pub(crate) fn read_at_most(path: &Path, max: usize, why: &str) -> io::Result<Zeroizing<Vec<u8>>> {
    // Allocated at once: a vector that grows leaves unwiped copies.
    let mut bytes = Zeroizing::new(Vec::with_capacity(max + 1));
    open(path)?
        .take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| named(path, &error))?;
    if bytes.len() > max {
        return Err(unusable(path, why));
    }
    Ok(bytes)
}

/// Returns the text without the byte order mark that some editors write before it.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
