//! Names of files: patterns, folders, columns in them, and texts that are of one name each.

use core::fmt::Write;
use core::str::FromStr;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;

use crate::files::node;
use crate::{Failure, named};

/// Returns the files of names, patterns and folders, each once, in the order of their names for a pattern.
pub(crate) fn expand(patterns: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    for pattern in patterns {
        let found = matches(pattern)?;
        if found.is_empty() {
            return Err(named(pattern.display(), "there is no such file"));
        }
        for path in found {
            let below = match path.is_dir() {
                true => below(&path)?,
                false => vec![path],
            };
            for path in below {
                // What cannot be found is reported when it is opened.
                if node(&path).map_or(true, |node| known.insert(node)) {
                    files.push(path);
                }
            }
        }
    }
    Ok(files)
}

/// Returns the `.parquet` files in a folder and in those in it. Names that begin with a point or a line below are not of
/// data, and links to folders are not followed. A folder without a file stands for itself.
fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| named(folder.display(), error))?;
        for entry in entries {
            let entry = entry.map_err(|error| named(folder.display(), error))?;
            let path = entry.path();
            if matches!(entry.file_name().as_encoded_bytes(), [b'.' | b'_', ..]) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension() == Some(OsStr::new("parquet")) {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() {
        files.push(folder.to_owned());
    }
    Ok(files)
}

/// Returns the files and folders of one pattern. Names are not always text: those are matched with a
/// replacement character for what is none, so that no file is passed over.
fn matches(pattern: &Path) -> Result<Vec<PathBuf>, Failure> {
    // A name with brackets is a name.
    if pattern.symlink_metadata().is_ok() {
        return Ok(vec![pattern.to_owned()]);
    }
    let Some(name) = pattern.file_name().map(|name| name.to_string_lossy()) else {
        return Ok(Vec::new());
    };
    if name == "**" {
        return Err(named(pattern.display(), "** is not supported"));
    }
    let wanted = Pattern::new(&name).map_err(|error| named(pattern.display(), error))?;
    let parent = pattern.parent().unwrap_or(Path::new(""));
    let folders = match parent == Path::new("") {
        true => vec![PathBuf::new()],
        false => matches(parent)?,
    };
    let mut found = Vec::new();
    for folder in folders
        .iter()
        .filter(|folder| folder.as_os_str().is_empty() || folder.is_dir())
    {
        let listed = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        for entry in fs::read_dir(listed).map_err(|error| named(listed.display(), error))? {
            let entry = entry
                .map_err(|error| named(listed.display(), error))?
                .file_name();
            let text = entry.to_string_lossy();
            let hidden = text.starts_with('.') && !name.starts_with('.');
            if !hidden && wanted.matches(&text) {
                found.push(folder.join(entry));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the columns that the names of folders have, as `NAME=VALUE`.
pub(crate) fn columns_of(path: &Path) -> Vec<(String, Option<String>)> {
    let folders = path.parent().into_iter().flat_map(Path::components);
    let folders = folders.filter_map(|folder| match folder {
        Component::Normal(name) => name.to_str()?.split_once('='),
        _ => None,
    });
    let value = |text: &str| match text {
        "__HIVE_DEFAULT_PARTITION__" => None,
        _ => Some(unescaped(text).unwrap_or_else(|| text.to_owned())),
    };
    folders
        .map(|(name, text)| (name.to_owned(), value(text)))
        .collect()
}

/// Replaces a percent sign and two digits by the byte that they stand for; `None` if the bytes are no text.
fn unescaped(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.split_first_chunk::<2>().filter(|_| *first == b'%');
        let escaped = digits.and_then(|(digits, behind)| {
            let byte = base16ct::mixed::decode_vec(digits).ok()?.pop()?;
            Some((byte, behind))
        });
        let (byte, behind) = escaped.unwrap_or((*first, behind));
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

/// Returns a text that no other name has: a backslash is doubled, and a byte that is of no text is `\x` and two digits.
pub(crate) fn label(path: &Path) -> String {
    let mut label = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        match cfg!(windows) {
            true => label += chunk.valid(),
            false => label += &chunk.valid().replace('\\', "\\\\"),
        }
        for byte in chunk.invalid() {
            let _ = write!(label, "\\x{byte:02x}");
        }
    }
    label
}

/// Checks that a text is of a value.
pub(crate) fn checked<T: FromStr<Err: ToString>>(text: &str) -> Result<String, String> {
    let value = text.parse::<T>();
    value.map_or_else(|error| Err(error.to_string()), |_| Ok(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_columns() {
        let found =
            columns_of("a/id=7/set=M%4c%3D/none=__HIVE_DEFAULT_PARTITION__/x=1.parquet".as_ref());
        let of = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let none = ("none".to_owned(), None);
        assert_eq!(found, [of("id", "7"), of("set", "ML="), none]);
        assert_eq!(unescaped("%"), Some("%".to_owned()));
        assert_eq!(unescaped("%zz"), Some("%zz".to_owned()));
        assert_eq!(unescaped("%ff"), None);
    }

    #[cfg(unix)]
    #[test]
    fn labels_are_of_one_name() {
        use std::os::unix::ffi::OsStrExt;
        let label = |name: &[u8]| label(OsStr::from_bytes(name).as_ref());
        assert_eq!(label(b"a\xff"), "a\\xff");
        assert_eq!(label(b"a\\xff"), "a\\\\xff");
    }
}
