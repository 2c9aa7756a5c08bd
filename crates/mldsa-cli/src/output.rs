//! Results to a file or to standard output. A file that exists is never
//! replaced unless asked, an input never; secret files are for their owner alone.

use core::fmt::Display;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Component, Path, PathBuf};

use crate::commit::{Access, StagedFile};
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

/// What becomes of a file that exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays, and no option changes that.
    Stays,
    /// It stays without `--force`.
    StaysUnforced,
    /// It is replaced.
    Replaced,
}

/// Where a result may go: looked at before the work, written to after it.
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
            Existing::Replaced
        } else {
            Existing::StaysUnforced
        }
    }

    /// Refuses bytes or secrets on a terminal that nobody named, and what exists.
    pub(crate) fn prepare(&self, content: Content) -> io::Result<Output<'_>> {
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
        Output::new(self.path(), self.existing(), content)
    }
}

const STANDARD: &str = "-";

/// Text to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    write_standard(text.as_bytes())
}

/// A line to standard error. Names of files may have characters in them that would
/// write elsewhere on a terminal, or further lines.
pub(crate) fn complain(what: impl Display) {
    let line = format!("mldsa: {}\n", escaped(&what.to_string(), |_| false));
    // A closed standard error changes nothing.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The same of arguments: in colours on a terminal, unless they have such codes themselves.
pub(crate) fn complain_of_arguments(error: &clap::Error) {
    let plain = error.to_string();
    let text = escaped(&plain, |character| character == '\n');
    let _ = if text == plain {
        error.print()
    } else {
        io::stderr().write_all(text.as_bytes())
    };
}

/// Without control characters but those that are `meant`.
fn escaped(text: &str, meant: fn(char) -> bool) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if character.is_control() && !meant(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Whatever a command reads and writes. Every command says it before anything is
/// opened; a directory that is read stands for the files in it.
#[derive(Default)]
pub(crate) struct Files<'a> {
    inputs: Vec<&'a Path>,
    outputs: Vec<&'a Path>,
}

impl<'a> Files<'a> {
    pub(crate) fn read(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        self.inputs.extend(paths);
        self
    }

    pub(crate) fn write(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        self.outputs.extend(paths);
        self
    }

    /// Text on standard output.
    pub(crate) fn print(self) -> Self {
        self.write([STANDARD.as_ref()])
    }

    /// Nothing that is read may be written, under whatever name; no two results go
    /// to one place, and a stream is read once.
    pub(crate) fn keep_apart(&self) -> io::Result<()> {
        let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        let standard = Identity::of(STANDARD.as_ref(), standard_input);
        let read: Vec<_> = self
            .inputs
            .iter()
            .map(|path| Identity::of(path, standard_input))
            .collect();
        for (index, (path, identity)) in self.inputs.iter().zip(&read).enumerate() {
            let again = self.inputs[..index].iter().zip(&read).any(|(other, same)| {
                let stream = |identity: &Identity| {
                    !identity.is_kept() || standard.as_ref() == Some(identity)
                };
                (is_standard(path) && is_standard(other))
                    || (identity == same && identity.as_ref().is_some_and(stream))
            });
            if again {
                let name = if is_standard(path) || *identity == standard {
                    "standard input (-)".into()
                } else {
                    path.display().to_string()
                };
                return refuse(format!("{name} is asked for twice: it can be read once"));
            }
        }
        for (index, path) in self.outputs.iter().enumerate() {
            let is_read = |file: &Identity| {
                read.iter().flatten().any(|input| input == file)
                    || self.inputs.iter().any(|input| holds(input, file, 3))
            };
            let file = Identity::of(path, standard_output).filter(Identity::is_file);
            if file.is_some_and(|file| is_read(&file)) {
                return refuse(format!("{}: is an input, write elsewhere", name(path)));
            }
            if self.outputs[..index]
                .iter()
                .any(|other| same_place(other, path))
            {
                return refuse(format!("{}: is named for two results", name(path)));
            }
        }
        Ok(())
    }
}

/// Whether the file is in this directory, or so many levels below: no deeper than the
/// directories of a committee, so that links lead nowhere for ever.
fn holds(directory: &Path, file: &Identity, levels: u8) -> bool {
    let Some(levels) = levels.checked_sub(1).filter(|_| !is_standard(directory)) else {
        return false;
    };
    fs::metadata(directory).is_ok_and(|metadata| metadata.is_dir())
        && fs::read_dir(directory).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                let path = entry.path();
                Identity::of(&path, standard_input).as_ref() == Some(file)
                    || holds(&path, file, levels)
            })
        })
}

/// Something that exists, whatever it is called.
#[derive(PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    number: (u64, u64),
    #[cfg(not(unix))]
    path: PathBuf,
    kind: FileType,
}

impl Identity {
    #[cfg(unix)]
    fn of(path: &Path, standard: fn() -> io::Result<File>) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = if is_standard(path) {
            standard().and_then(|file| file.metadata())
        } else {
            fs::metadata(path)
        };
        let metadata = metadata.ok()?;
        Some(Self {
            number: (metadata.dev(), metadata.ino()),
            kind: metadata.file_type(),
        })
    }

    /// Without the standard streams, whose files the system does not tell.
    #[cfg(not(unix))]
    fn of(path: &Path, _: fn() -> io::Result<File>) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let kind = fs::metadata(&path).ok()?.file_type();
        Some(Self { path, kind })
    }

    /// A file that could be lost.
    fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// What is still there when it was read.
    fn is_kept(&self) -> bool {
        self.kind.is_file() || self.kind.is_dir()
    }
}

/// Whether the open file still has this name.
pub(crate) fn is_still(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let numbers = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let own = file.metadata().map(numbers).ok();
        own.is_some() && own == fs::metadata(path).map(numbers).ok()
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Whether two paths, of what need not exist, are one place.
pub(crate) fn same_place(a: &Path, b: &Path) -> bool {
    let [here, there] = [a, b].map(|path| Identity::of(path, standard_output));
    a == b || (here.is_some() && here == there) || {
        let place = resolved(a);
        place.is_some() && place == resolved(b)
    }
}

/// Whether `path` is `directory` or somewhere below it; neither need exist.
pub(crate) fn lies_in(path: &Path, directory: &Path) -> bool {
    resolved(path).is_some_and(|place| {
        let mut ancestors = place.ancestors();
        ancestors.any(|ancestor| same_place(ancestor, directory))
    })
}

/// Where a path leads, with no links and no `..` in it. What does not exist yet has none
/// when it is made.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|there| {
        let mut place = fs::canonicalize(there).ok()?;
        for component in path.strip_prefix(there).ok()?.components() {
            match component {
                Component::ParentDir => drop(place.pop()),
                name => place.push(name),
            }
        }
        Some(place)
    })
}

/// Writes several results. Files take their names at the end, in this order, when all content is
/// on the disk and in the streams. A failure leaves no new file, and the previous content under
/// each name.
pub(crate) fn write_each(results: &[(&Output<'_>, &[u8])]) -> io::Result<()> {
    write_each_after(results, || Ok(()))
}

/// [`write_each`] with an operation that has to succeed before a file takes its name.
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
    for n in 0..staged.len() {
        let (output, file) = &mut staged[n];
        if let Err(error) = output.publish(file) {
            let error = output.named(&error);
            // What has its name already, in reverse order.
            staged.truncate(n);
            let reverted = staged.into_iter().rev().map(|(_, file)| file.revert());
            let left: Vec<String> = reverted.filter_map(Result::err).collect();
            return Err(match (n, &left[..]) {
                (0, _) => error,
                (_, []) => io::Error::other(format!("{error}; no file is changed")),
                _ => io::Error::other(format!("{error}; {}", left.join("; "))),
            });
        }
    }
    Ok(())
}

impl<'a> Output<'a> {
    /// What exists is refused unless it is to be replaced.
    pub(crate) fn new(path: &'a Path, existing: Existing, content: Content) -> io::Result<Self> {
        let output = Self {
            path,
            existing,
            content,
        };
        // Before the work, not when the file gets its name.
        let name = path.as_os_str().as_encoded_bytes();
        if name.ends_with(b"/") || name.ends_with(b"/.") || name == b"." {
            return Err(output.named(&io::ErrorKind::IsADirectory.into()));
        }
        if output.is_standard() {
            return Ok(output);
        }
        let stays = existing != Existing::Replaced;
        if stays && fs::symlink_metadata(path).is_ok() {
            return Err(output.named(&existing.error()));
        }
        let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
        match fs::metadata(parent.unwrap_or(Path::new("."))) {
            Ok(metadata) if metadata.is_dir() => Ok(output),
            Ok(_) => Err(output.named(&io::ErrorKind::NotADirectory.into())),
            Err(error) => Err(output.named(&error)),
        }
    }

    /// Writes all of `bytes` or leaves no new file behind.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        write_each(&[(self, bytes)])
    }

    /// Writes `bytes` to a temporary file next to the target; `None` for a stream.
    fn stage(&self, bytes: &[u8]) -> io::Result<Option<StagedFile>> {
        if self.is_standard() {
            return Ok(None);
        }
        let target = match fs::metadata(self.path) {
            Ok(_) if self.existing != Existing::Replaced => return Err(self.existing.error()),
            // Links stay links.
            Ok(metadata) if metadata.is_file() => fs::canonicalize(self.path)?,
            Ok(metadata) if takes_writing(metadata.file_type()) => return Ok(None),
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => {
                return Err(io::Error::other(
                    "is no file, pipe or character device: nothing is written there",
                ));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) if fs::symlink_metadata(self.path).is_ok() => {
                return Err(io::Error::other("is a link to nothing"));
            }
            Err(_) => self.path.to_owned(),
        };
        // A replaced file's mode is not taken over.
        let access = match self.content {
            Content::Secret => Access::Owner,
            Content::Text | Content::Binary => Access::Umask,
        };
        StagedFile::write(&target, bytes, access).map(Some)
    }

    /// Gives a staged file its name.
    fn publish(&self, file: &mut StagedFile) -> io::Result<()> {
        if self.existing == Existing::Replaced {
            return file.exchange();
        }
        file.create().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => self.existing.error(),
            _ => error,
        })
    }

    fn write_stream(&self, bytes: &[u8]) -> io::Result<()> {
        if self.is_standard() {
            return write_standard(bytes);
        }
        let write = || {
            let mut file = OpenOptions::new().write(true).open(self.path)?;
            // It may be another one by now.
            if !takes_writing(file.metadata()?.file_type()) {
                return Err(io::Error::other("changed while it was opened"));
            }
            file.write_all(bytes)
        };
        write().map_err(|error| self.named(&error))
    }

    /// Also under a name such as /dev/stdout.
    pub(crate) fn is_standard(&self) -> bool {
        leads_to_standard_output(self.path)
    }

    /// A pipe with a name that somebody closes is an error like others.
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::other(format!("{}: {error}", name(self.path)))
    }
}

pub(crate) fn leads_to_standard_output(path: &Path) -> bool {
    is_standard(path) || is_standard_output(path)
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

impl Existing {
    fn error(self) -> io::Error {
        io::Error::new(
            io::ErrorKind::AlreadyExists,
            match self {
                Self::Stays => "exists",
                _ => "exists (--force replaces a file and writes into a pipe or device)",
            },
        )
    }
}

fn name(path: &Path) -> String {
    if is_standard(path) {
        "standard output".into()
    } else {
        path.display().to_string()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("mldsa-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    /// Another process creates one of the files before all have their names.
    #[test]
    fn write_each_is_atomic_on_name_conflicts() {
        let folder = folder("names");
        let paths = ["a", "b", "c"].map(|name| folder.join(name));
        let output = |path| Output::new(path, Existing::Stays, Content::Binary).unwrap();
        let outputs = paths.each_ref().map(|path| output(path));
        let results = outputs.each_ref().map(|output| (output, &b"ours"[..]));
        for taken in &paths {
            let written = write_each_after(&results, || fs::write(taken, b"theirs"));
            let error = written.unwrap_err().to_string();
            let start = format!("{}: exists", taken.display());
            assert!(error.starts_with(&start), "{error}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            assert_eq!(fs::read(taken).unwrap(), b"theirs");
            fs::remove_file(taken).unwrap();
        }
        write_each(&results).unwrap();
        for path in &paths {
            assert_eq!(fs::read(path).unwrap(), b"ours");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// One of the files becomes a directory before all have their names.
    #[test]
    fn write_each_is_atomic_when_it_replaces_files() {
        let folder = folder("replaced");
        let paths = ["a", "b", "c"].map(|name| folder.join(name));
        for (failing, old) in [(2, true), (1, true), (0, true), (2, false), (1, false)] {
            let output = |path| Output::new(path, Existing::Replaced, Content::Binary).unwrap();
            for path in &paths {
                let _ = fs::remove_file(path);
                if old {
                    fs::write(path, path.to_str().unwrap()).unwrap();
                }
            }
            let outputs = paths.each_ref().map(|path| output(path));
            let results = outputs.each_ref().map(|output| (output, &b"ours"[..]));
            let directory = &paths[failing];
            let written = write_each_after(&results, || {
                let _ = fs::remove_file(directory);
                fs::create_dir(directory)?;
                fs::write(directory.join("theirs"), b"theirs")
            });
            let error = written.unwrap_err().to_string();
            let start = format!("{}: ", directory.display());
            assert!(error.starts_with(&start), "{error}");
            assert_eq!(
                error.ends_with("; no file is changed"),
                failing > 0,
                "{error}"
            );
            assert_eq!(fs::read(directory.join("theirs")).unwrap(), b"theirs");
            for path in paths.iter().filter(|path| *path != directory) {
                let expected = old.then(|| path.to_str().unwrap().as_bytes().to_vec());
                assert_eq!(fs::read(path).ok(), expected);
            }
            let files = if old { 3 } else { 1 };
            assert_eq!(fs::read_dir(&folder).unwrap().count(), files);
            fs::remove_dir_all(directory).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn places_that_do_not_exist_yet_are_told_apart() {
        let place = std::env::temp_dir().join(format!("mldsa-places-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("real")).unwrap();
        std::os::unix::fs::symlink("real", place.join("alias")).unwrap();
        for (a, b, same, inside) in [
            ("com", "com", true, true),
            ("com", "x/../com", true, true),
            ("com/.", "x/y/../../com", true, true),
            ("real/com", "alias/com", true, true),
            ("alias", "real", true, true),
            ("com/a", "com", false, true),
            ("alias/a/b", "real", false, true),
            ("x/../com/a", "com", false, true),
            ("com", "com/a", false, false),
            ("coma", "com", false, false),
            ("alias/../com", "real/com", false, false),
            ("com", "com/../real", false, false),
        ] {
            let [a, b] = [a, b].map(|name| place.join(name));
            let names = format!("{} {}", a.display(), b.display());
            assert_eq!(
                (same_place(&a, &b), same_place(&b, &a)),
                (same, same),
                "{names}"
            );
            assert_eq!(lies_in(&a, &b), inside, "{names}");
        }
        fs::remove_dir_all(&place).unwrap();
    }
}
