//! Names of files, and patterns of names.

use std::fs;
use std::path::{Path, PathBuf};

use glob::Pattern;

use crate::{Failure, named};

/// Returns the files of names and patterns, each once, in the order of their names for a pattern.
pub(crate) fn expand(patterns: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::<PathBuf>::new();
    for pattern in patterns {
        let found = matches(pattern)?;
        if found.is_empty() {
            return Err(named(pattern.display(), "there is no such file"));
        }
        for path in found {
            if !files.contains(&path) {
                files.push(path);
            }
        }
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
