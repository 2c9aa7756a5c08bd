//! Identity of files under different names: no command writes into a file that it reads.

use std::fs::{self, File, FileType};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::file::input::{is_standard, standard_input};
use crate::terminal::standard_output;

pub(crate) const STANDARD: &str = "-";

/// The files of a command, checked before any of them is opened. A directory that is read
/// includes the files in it.
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

    /// Adds text on standard output.
    pub(crate) fn print(self) -> Self {
        self.write([STANDARD.as_ref()])
    }

    /// Rejects an output that is an input, two outputs in one location, and a stream that is read
    /// twice.
    pub(crate) fn check(&self) -> io::Result<()> {
        let stdin = FileId::of(STANDARD.as_ref(), standard_input);
        let ids = self
            .inputs
            .iter()
            .map(|path| FileId::of(path, standard_input));
        let ids: Vec<_> = ids.collect();
        for (n, (path, id)) in self.inputs.iter().zip(&ids).enumerate() {
            let is_stdin = is_standard(path) || (id.is_some() && *id == stdin);
            let is_stream = is_stdin || id.as_ref().is_some_and(|id| !id.is_kept());
            let same = |(other, other_id): (&&Path, &Option<FileId>)| {
                *other == *path || (id.is_some() && other_id == id)
            };
            if is_stream && self.inputs[..n].iter().zip(&ids).any(same) {
                let path = if is_stdin {
                    "standard input (-)".into()
                } else {
                    name(path)
                };
                return rejected(format!("{path} is asked for twice: it can be read once"));
            }
        }
        for (n, path) in self.outputs.iter().enumerate() {
            let file = FileId::of(path, standard_output).filter(|id| id.kind.is_file());
            let is_input = |file: &FileId| {
                ids.iter().flatten().any(|input| input == file)
                    || self.inputs.iter().any(|input| contains(input, file, 3))
            };
            if file.is_some_and(|file| is_input(&file)) {
                return rejected(format!("{}: is an input, write elsewhere", name(path)));
            }
            if self.outputs[..n]
                .iter()
                .any(|other| same_location(other, path))
            {
                return rejected(format!("{}: is named for two results", name(path)));
            }
        }
        Ok(())
    }
}

fn rejected(why: String) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Formats a path for a message about a result.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) {
        "standard output".into()
    } else {
        path.display().to_string()
    }
}

/// Returns whether a directory has the file in it, `levels` deep at most: no deeper than the directories
/// of a committee, so that no cycle of links is followed.
fn contains(directory: &Path, file: &FileId, levels: u8) -> bool {
    levels > 0
        && directory.is_dir()
        && fs::read_dir(directory).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                let path = entry.path();
                FileId::of(&path, standard_input).as_ref() == Some(file)
                    || contains(&path, file, levels - 1)
            })
        })
}

/// An existing file, whatever its name.
#[derive(PartialEq, Eq)]
struct FileId {
    #[cfg(unix)]
    number: (u64, u64),
    #[cfg(not(unix))]
    path: PathBuf,
    kind: FileType,
}

impl FileId {
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

    /// Identifies a file; `None` for the standard streams, because the system does not name their files.
    #[cfg(not(unix))]
    fn of(path: &Path, _: fn() -> io::Result<File>) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let kind = fs::metadata(&path).ok()?.file_type();
        Some(Self { path, kind })
    }

    /// Returns whether reading it leaves its content.
    fn is_kept(&self) -> bool {
        self.kind.is_file() || self.kind.is_dir()
    }
}

/// Returns whether a path is standard output, also under a name such as `/dev/stdout`.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    let id = |path: &Path| FileId::of(path, standard_output);
    is_standard(path)
        || (cfg!(unix) && id(path).is_some_and(|file| id(STANDARD.as_ref()) == Some(file)))
}

/// Returns whether the open file still has this name.
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

/// Returns whether two paths, which need not exist, are one location.
pub(crate) fn same_location(a: &Path, b: &Path) -> bool {
    let [first, second] = [a, b].map(|path| FileId::of(path, standard_output));
    a == b || (first.is_some() && first == second) || {
        let location = resolved(a);
        location.is_some() && location == resolved(b)
    }
}

/// Resolves a path to the absolute one without links and `..`. Components that do not exist yet count as
/// directories.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|existing| {
        let mut location = fs::canonicalize(existing).ok()?;
        for component in path.strip_prefix(existing).ok()?.components() {
            match component {
                Component::ParentDir => drop(location.pop()),
                name => location.push(name),
            }
        }
        Some(location)
    })
}

#[cfg(all(test, unix, feature = "files"))]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn paths_that_do_not_exist_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("alias")).unwrap();
        for (a, b, same) in [
            ("com", "com", true),
            ("com", "x/../com", true),
            ("com/.", "x/y/../../com", true),
            ("real/com", "alias/com", true),
            ("alias", "real", true),
            ("com/a", "com", false),
            ("alias/a/b", "real", false),
            ("x/../com/a", "com", false),
            ("com", "com/a", false),
            ("coma", "com", false),
            ("alias/../com", "real/com", false),
            ("com", "com/../real", false),
        ] {
            let [a, b] = [a, b].map(|name| folder.path().join(name));
            let found = [same_location(&a, &b), same_location(&b, &a)];
            assert_eq!(found, [same; 2], "{} {}", a.display(), b.display());
        }
    }
}
