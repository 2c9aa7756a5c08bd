//! Results to files and to standard output. An existing file is replaced only if asked for.

use std::fs::{self, FileType, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::file::commit::{Access, StagedFile};
#[cfg(unix)]
use crate::file::leftovers::journal;
use crate::file::paths::{STANDARD, is_standard_output, name};
#[cfg(unix)]
use crate::file::{interrupt, leftovers};
use crate::terminal::{output_error, result_output};

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Output file; - is standard output, and the default. Without the option a private
    /// key and binary data are not written to a terminal
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace the output file if it exists; write into it if it is a pipe or a
    /// character device
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Public text.
    Text,
    /// Public bytes.
    Binary,
    /// A private key in any form: a new file has mode 0600.
    Secret,
}

/// Policy for existing output files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// An error.
    Reject,
    /// An error that names `--force`.
    RejectUnforced,
    Replace,
}

/// A result's file, checked before the work.
pub(crate) struct Output<'a> {
    path: &'a Path,
    existing: Existing,
    content: Content,
}

impl OutputArgs {
    pub(crate) fn path(&self) -> &Path {
        self.out.as_deref().unwrap_or(STANDARD.as_ref())
    }

    pub(crate) fn existing(&self) -> Existing {
        if self.force {
            Existing::Replace
        } else {
            Existing::RejectUnforced
        }
    }

    /// Checks the output of a command. Rejects secrets and bytes for a terminal without `--out`.
    pub(crate) fn prepare(&self, content: Content) -> io::Result<Output<'_>> {
        if self.out.is_none() && content != Content::Text && io::stdout().is_terminal() {
            let what = match content {
                Content::Secret => "a private key",
                _ => "binary output",
            };
            return Err(io::Error::other(format!(
                "{what} is not written to a terminal: name a file with --out \
                 (--out - writes it to the terminal)"
            )));
        }
        let output = Output::new(self.path(), self.existing(), content)?;
        #[cfg(unix)]
        if content == Content::Secret && !output.is_standard() {
            leftovers::report(output.path);
        }
        Ok(output)
    }
}

/// Writes several results. Files take their names at the end, in this order, when all content is
/// on the disk and in the streams. A failure leaves no new file, and the previous content under
/// each name.
pub(crate) fn write_each(results: &[(&Output<'_>, &[u8])]) -> io::Result<()> {
    write_each_after(results, || Ok(()))
}

/// Writes as [`write_each`] does, with an operation that has to succeed before a file takes its name.
pub(crate) fn write_each_after(
    results: &[(&Output<'_>, &[u8])],
    last: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mut staged = Vec::new();
    let mut streams = Vec::new();
    for (output, bytes) in results {
        match output.stage(bytes).map_err(|error| output.named(&error))? {
            Some(file) => staged.push((output, file)),
            None => streams.push((output, bytes)),
        }
    }
    for (output, bytes) in streams {
        output.write_stream(bytes)?;
    }
    last()?;
    // A signal waits until all files have their names.
    #[cfg(unix)]
    let mut names = interrupt::temporaries();
    #[cfg(unix)]
    let _journal = {
        let files: Vec<&StagedFile> = staged.iter().map(|(_, file)| file).collect();
        journal(&files)?
    };
    for n in 0..staged.len() {
        let (output, file) = &mut staged[n];
        if let Err(error) = output.publish(file) {
            let error = output.named(&error);
            staged.truncate(n);
            let reverted = staged.into_iter().rev().map(|(_, file)| file.revert());
            let left: Vec<String> = reverted.filter_map(Result::err).collect();
            // A previous content that could not be put back keeps its temporary name.
            #[cfg(unix)]
            names.clear();
            return Err(match (n, &left[..]) {
                (0, _) => error,
                (_, []) => io::Error::other(format!("{error}; no file is changed")),
                _ => io::Error::other(format!("{error}; {}", left.join("; "))),
            });
        }
    }
    for (output, file) in &staged {
        let flushed = file.flush_name().map_err(|error| {
            let why = format!("is written, but its directory is not flushed: {error}");
            output.named(&io::Error::new(error.kind(), why))
        });
        flushed?;
    }
    Ok(())
}

impl<'a> Output<'a> {
    /// Rejects paths that cannot be written, before the work.
    pub(crate) fn new(path: &'a Path, existing: Existing, content: Content) -> io::Result<Self> {
        let output = Self {
            path,
            existing,
            content,
        };
        let bytes = path.as_os_str().as_encoded_bytes();
        let check = || {
            if bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"." {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            if output.is_standard() {
                return Ok(());
            }
            if existing != Existing::Replace && fs::symlink_metadata(path).is_ok() {
                return Err(existing.error());
            }
            let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
            if fs::metadata(parent.unwrap_or(Path::new(".")))?.is_dir() {
                Ok(())
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        };
        check().map_err(|error| output.named(&error))?;
        // Before there are secrets: a new thread inherits the registers.
        #[cfg(unix)]
        if !output.is_standard() {
            interrupt::watch();
        }
        Ok(output)
    }

    /// Writes all of `bytes`, or leaves no new file.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        write_each(&[(self, bytes)])
    }

    /// Writes `bytes` to a temporary file next to the target; `None` for a stream.
    fn stage(&self, bytes: &[u8]) -> io::Result<Option<StagedFile>> {
        if self.is_standard() {
            return Ok(None);
        }
        let target = match fs::metadata(self.path) {
            Ok(_) if self.existing != Existing::Replace => return Err(self.existing.error()),
            // A link stays a link.
            Ok(metadata) if metadata.is_file() => fs::canonicalize(self.path)?,
            Ok(metadata) if is_stream(metadata.file_type()) => return Ok(None),
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => return Err(io::Error::other("is no file, pipe or character device")),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) if fs::symlink_metadata(self.path).is_ok() => {
                return Err(io::Error::other("is a link to nothing"));
            }
            Err(_) => self.path.to_owned(),
        };
        // The mode of a replaced file is not taken over.
        let access = match self.content {
            Content::Secret => Access::Owner,
            Content::Text | Content::Binary => Access::Umask,
        };
        StagedFile::write(&target, bytes, access).map(Some)
    }

    fn publish(&self, file: &mut StagedFile) -> io::Result<()> {
        if self.existing == Existing::Replace {
            return file.exchange();
        }
        file.create().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => self.existing.error(),
            _ => error,
        })
    }

    fn write_stream(&self, bytes: &[u8]) -> io::Result<()> {
        if self.is_standard() {
            return result_output()
                .and_then(|mut file| file.write_all(bytes))
                .map_err(|error| output_error(&error));
        }
        let write = || {
            let mut file = OpenOptions::new().write(true).open(self.path)?;
            // Another file may have taken the name.
            if !is_stream(file.metadata()?.file_type()) {
                return Err(io::Error::other("changed while it was opened"));
            }
            file.write_all(bytes)
        };
        write().map_err(|error| self.named(&error))
    }

    pub(crate) fn is_standard(&self) -> bool {
        is_standard_output(self.path)
    }

    /// Makes an error about this output. The kind is dropped: a closed named pipe is an error, unlike a
    /// closed standard output.
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::other(format!("{}: {error}", name(self.path)))
    }
}

/// Returns whether the file is written into and never replaced.
#[cfg(unix)]
fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: FileType) -> bool {
    false
}

impl Existing {
    fn error(self) -> io::Error {
        io::Error::new(
            io::ErrorKind::AlreadyExists,
            match self {
                Self::Reject => "exists",
                _ => "exists (--force replaces a file and writes into a pipe or device)",
            },
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// One of the names becomes a directory's before all files have theirs.
    #[test]
    fn write_each_is_atomic_on_name_conflicts() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
        let count = || fs::read_dir(folder.path()).unwrap().count();
        for (existing, old) in [
            (Existing::Reject, false),
            (Existing::Replace, false),
            (Existing::Replace, true),
        ] {
            for (n, taken) in paths.iter().enumerate() {
                for path in paths.iter().filter(|_| old) {
                    fs::write(path, b"old").unwrap();
                }
                let output = |path| Output::new(path, existing, Content::Binary).unwrap();
                let outputs = paths.each_ref().map(|path| output(path));
                let results = outputs.each_ref().map(|output| (output, &b"new"[..]));
                let written = write_each_after(&results, || {
                    let _ = fs::remove_file(taken);
                    fs::create_dir(taken)
                });
                let error = written.unwrap_err().to_string();
                let start = format!("{}: ", taken.display());
                assert!(error.starts_with(&start), "{error}");
                assert_eq!(error.ends_with("; no file is changed"), n > 0, "{error}");
                assert_eq!(count(), if old { 3 } else { 1 });
                fs::remove_dir(taken).unwrap();
                for path in paths.iter().filter(|path| *path != taken && old) {
                    assert_eq!(fs::read(path).unwrap(), b"old");
                    fs::remove_file(path).unwrap();
                }
                assert_eq!(count(), 0);
            }
        }
        let output = |path| Output::new(path, Existing::Reject, Content::Binary).unwrap();
        let outputs = paths.each_ref().map(|path| output(path));
        write_each(&outputs.each_ref().map(|output| (output, &b"new"[..]))).unwrap();
        assert!(paths.iter().all(|path| fs::read(path).unwrap() == b"new"));
        assert_eq!(count(), 3);
    }
}
