//! Results to a file or to standard output. A file that exists is never
//! replaced unless asked; secret files are for their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Where the result goes; - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    out: PathBuf,

    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
}

/// Who may read a new file.
#[derive(Clone, Copy)]
pub(crate) enum Readers {
    /// The owner: mode 0600.
    Owner,
    /// Whom the umask lets.
    Anyone,
}

impl OutputArgs {
    pub(crate) fn write(&self, bytes: &[u8], readers: Readers) -> io::Result<()> {
        write(&self.out, self.force, bytes, readers)
    }
}

/// Writes all of `bytes` or leaves no new file behind.
pub(crate) fn write(path: &Path, force: bool, bytes: &[u8], readers: Readers) -> io::Result<()> {
    if path == Path::new("-") {
        let mut output = io::stdout().lock();
        output.write_all(bytes)?;
        return output.flush();
    }
    // A file beside the old one takes its place when it is complete, and never
    // has the old one's mode.
    let target = if force { beside(path) } else { path.into() };
    create(&target, readers)
        .and_then(|mut file| {
            file.write_all(bytes)
                .and_then(|()| file.sync_all())
                .and_then(|()| {
                    if force {
                        fs::rename(&target, path)
                    } else {
                        Ok(())
                    }
                })
                .inspect_err(|_| drop(fs::remove_file(&target)))
        })
        .map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AlreadyExists => " (--force replaces it)",
                _ => "",
            };
            io::Error::new(error.kind(), format!("{}: {error}{hint}", path.display()))
        })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn create(path: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if matches!(readers, Readers::Owner) {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = readers;
    options.open(path)
}
