//! Results to a file or to standard output. A file that exists is never
//! replaced unless asked, an input never; secret files are for their owner alone.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::input::{is_standard, standard_input};

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Where the result goes; - is standard output, which is also where it goes
    /// without this option, unless that is a terminal and the result is a private
    /// key or not text
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace the output file if it exists; write into it if it is a pipe or a
    /// character device
    #[arg(long)]
    force: bool,
}

/// What a result is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text that everybody may read.
    Text,
    /// Bytes that everybody may read.
    Binary,
    /// A private key, in any form: a new file has mode 0600.
    Secret,
}

/// Where a result may go: looked at before the work, written to after it.
pub(crate) struct Output<'a> {
    path: &'a Path,
    force: bool,
    content: Content,
}

impl OutputArgs {
    pub(crate) fn path(&self) -> &Path {
        self.out.as_deref().unwrap_or(STANDARD.as_ref())
    }

    pub(crate) fn force(&self) -> bool {
        self.force
    }

    /// Refuses what would be lost: an output that is one of `inputs`, and bytes or
    /// secrets on a terminal that nobody named.
    pub(crate) fn prepare(&self, inputs: &[&Path], content: Content) -> io::Result<Output<'_>> {
        if self.out.is_none() && content != Content::Text && io::stdout().is_terminal() {
            let what = match content {
                Content::Secret => "a private key",
                _ => "binary output",
            };
            return Err(io::Error::other(format!(
                "{what} is not written to a terminal: name a file with --out \
                 (--out - writes it here all the same)"
            )));
        }
        keep_apart(inputs, &[self.path()])?;
        Output::new(self.path(), self.force, content)
    }
}

const STANDARD: &str = "-";

/// Text to standard output, which must not be one of `inputs`.
pub(crate) fn print(inputs: &[&Path], text: &str) -> io::Result<()> {
    keep_apart(inputs, &[STANDARD.as_ref()])?;
    write_standard(text.as_bytes())
}

/// Nothing that is read may be written, under whatever name; no two results go to
/// one place, and standard input is read once.
pub(crate) fn keep_apart(inputs: &[&Path], outputs: &[&Path]) -> io::Result<()> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if inputs.iter().filter(|path| is_standard(path)).count() > 1 {
        return refuse("standard input (-) is asked for twice: it can be read once".into());
    }
    let read: Vec<_> = inputs
        .iter()
        .filter_map(|path| Identity::of(path, standard_input))
        .collect();
    for (index, path) in outputs.iter().enumerate() {
        let identity = Identity::of(path, standard_output);
        if identity.is_some_and(|identity| read.contains(&identity)) {
            return refuse(format!("{}: is an input, write elsewhere", name(path)));
        }
        if outputs[..index].iter().any(|other| same_place(other, path)) {
            return refuse(format!("{}: is named for two results", name(path)));
        }
    }
    Ok(())
}

/// A regular file, whatever it is called.
#[derive(PartialEq, Eq)]
struct Identity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

impl Identity {
    /// `None` for what is no file that could be lost: pipes, devices, nothing.
    #[cfg(unix)]
    fn of(path: &Path, standard: fn() -> io::Result<File>) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = if is_standard(path) {
            standard().and_then(|file| file.metadata())
        } else {
            fs::metadata(path)
        };
        let metadata = metadata.ok().filter(fs::Metadata::is_file)?;
        Some(Self((metadata.dev(), metadata.ino())))
    }

    /// Without the standard streams, whose files the system does not tell.
    #[cfg(not(unix))]
    fn of(path: &Path, _: fn() -> io::Result<File>) -> Option<Self> {
        fs::canonicalize(path)
            .ok()
            .filter(|path| path.is_file())
            .map(Self)
    }
}

/// Whether two outputs, which need not exist, are one.
fn same_place(a: &Path, b: &Path) -> bool {
    let [here, there] = [a, b].map(|path| Identity::of(path, standard_output));
    let resolved = |path: &Path| {
        let parent = match path.parent()? {
            parent if parent.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        };
        Some(fs::canonicalize(parent).ok()?.join(path.file_name()?))
    };
    a == b || (here.is_some() && here == there) || {
        let place = resolved(a);
        place.is_some() && place == resolved(b)
    }
}

impl<'a> Output<'a> {
    /// What exists is refused unless `force` says otherwise.
    pub(crate) fn new(path: &'a Path, force: bool, content: Content) -> io::Result<Self> {
        let output = Self {
            path,
            force,
            content,
        };
        if !force && !output.is_standard() && fs::symlink_metadata(path).is_ok() {
            return Err(named(path, &exists()));
        }
        Ok(output)
    }

    /// Writes all of `bytes` or leaves no new file behind.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if self.is_standard() {
            return write_standard(bytes);
        }
        self.write_file(bytes)
            .map_err(|error| named(self.path, &error))
    }

    fn write_file(&self, bytes: &[u8]) -> io::Result<()> {
        match fs::metadata(self.path) {
            Ok(_) if !self.force => Err(exists()),
            Ok(metadata) if metadata.is_file() => {
                // A file beside the old one takes its place when it is complete,
                // and never has the old one's mode. Links stay links.
                let target = fs::canonicalize(self.path)?;
                let next = beside(&target);
                self.create(&next, bytes)?;
                fs::rename(&next, &target).inspect_err(|_| drop(fs::remove_file(&next)))
            }
            Ok(metadata) if takes_writing(metadata.file_type()) => {
                let mut file = OpenOptions::new().write(true).open(self.path)?;
                // It may be another one by now.
                if !takes_writing(file.metadata()?.file_type()) {
                    return Err(io::Error::other("changed while it was opened"));
                }
                file.write_all(bytes)
            }
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => Err(io::Error::other(
                "is no file, pipe or character device: nothing is written there",
            )),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Err(_) if fs::symlink_metadata(self.path).is_ok() => {
                Err(io::Error::other("is a link to nothing"))
            }
            Err(_) => self.create(self.path, bytes),
        }
    }

    /// A new file with all of `bytes`, or none.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.content == Content::Secret {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut file = options.open(path)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .inspect_err(|_| drop(fs::remove_file(path)))
    }

    /// Also under a name such as /dev/stdout.
    fn is_standard(&self) -> bool {
        is_standard(self.path) || is_standard_output(self.path)
    }
}

#[cfg(unix)]
fn takes_writing(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn takes_writing(_: FileType) -> bool {
    false
}

#[cfg(unix)]
fn is_standard_output(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let standard = standard_output().and_then(|file| file.metadata());
    match (fs::metadata(path), standard) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_standard_output(_: &Path) -> bool {
    false
}

/// Standard output without the standard library's buffer, which is never wiped.
#[cfg(unix)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(crate) fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout()
        .as_handle()
        .try_clone_to_owned()
        .map(File::from)
}

fn write_standard(bytes: &[u8]) -> io::Result<()> {
    standard_output()
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|error| standard_failed(&error))
}

/// An error of standard output, named. Its kind tells who closed it.
pub(crate) fn standard_failed(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

fn exists() -> io::Error {
    io::Error::new(
        io::ErrorKind::AlreadyExists,
        "exists (--force replaces a file and writes into a pipe or device)",
    )
}

fn name(path: &Path) -> String {
    if is_standard(path) {
        "standard output".into()
    } else {
        path.display().to_string()
    }
}

/// A pipe with a name that somebody closes is an error like others.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", name(path)))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
