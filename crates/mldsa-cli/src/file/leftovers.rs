//! Files that a killed run left next to its targets, and the journal of files that take their
//! names together. The files of a run that goes on are locked.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::{Builder, NamedTempFile};

use crate::file::commit::{StagedFile, directory_of};
use crate::terminal::complain;

const PREFIX: &str = "mldsa-";
const TEMPORARY: &str = ".tmp";
const JOURNAL: &str = ".journal";

/// Greatest number of names in a directory that are looked at.
const MAX_NAMES: usize = 100_000;

/// A staged file in a journal.
#[derive(Serialize, Deserialize)]
struct Entry {
    target: PathBuf,
    temporary: PathBuf,
    /// Device and number of the file with the new content.
    new: (u64, u64),
}

/// Writes a journal next to the last of the files, which is removed when it is dropped.
pub(crate) fn journal(staged: &[&StagedFile]) -> io::Result<Option<NamedTempFile>> {
    let [_, .., last] = staged else {
        return Ok(None);
    };
    let entries = staged.iter().map(|file| {
        let new = number(file.temporary()).ok_or(io::ErrorKind::NotFound)?;
        let [target, temporary] = [file.target(), file.temporary()].map(std::path::absolute);
        let (target, temporary) = (target?, temporary?);
        Ok(Entry {
            target,
            temporary,
            new,
        })
    });
    let entries: Vec<Entry> = entries.collect::<io::Result<_>>()?;
    // A path that is not UTF-8 cannot be written: the files are still named by their directory.
    let text = serde_json::to_vec(&entries).unwrap_or_default();
    let mut file = Builder::new()
        .prefix(PREFIX)
        .suffix(JOURNAL)
        .tempfile_in(directory_of(last.target()))?;
    let _ = file.as_file().try_lock();
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    last.flush_name()?;
    Ok(Some(file))
}

fn number(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Names on standard error what a killed run left in the directory of `target`.
pub(crate) fn report(target: &Path) {
    let Ok(names) = fs::read_dir(directory_of(target)) else {
        return;
    };
    let mut temporaries = Vec::new();
    let mut explained = Vec::new();
    for entry in names.flatten().take(MAX_NAMES) {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !name.starts_with(PREFIX.as_bytes()) || !is_file {
            continue;
        }
        let path = entry.path();
        if name.ends_with(TEMPORARY.as_bytes()) {
            temporaries.push(path);
        } else if name.ends_with(JOURNAL.as_bytes()) {
            let entries = fs::read(&path).unwrap_or_default();
            let entries: Vec<Entry> = serde_json::from_slice(&entries).unwrap_or_default();
            if !is_in_use(&path) {
                let states: Vec<String> = entries.iter().filter_map(Entry::state).collect();
                complain(format_args!(
                    "a run that wrote several files was killed: {}. Rename the files to finish or \
                     to undo it, then delete {}",
                    states.join("; "),
                    path.display()
                ));
            }
            explained.extend(
                entries
                    .into_iter()
                    .filter_map(|entry| number(&entry.temporary)),
            );
        }
    }
    for path in temporaries {
        let is_explained = number(&path).is_some_and(|file| explained.contains(&file));
        if !is_explained && !is_in_use(&path) {
            complain(format_args!(
                "{} is left by a run that was killed and may hold a private key: delete it",
                path.display()
            ));
        }
    }
}

impl Entry {
    /// Describes where the contents of the target are. `None` if nothing is left.
    fn state(&self) -> Option<String> {
        let temporary = number(&self.temporary);
        let [target, kept] = [&self.target, &self.temporary].map(|path| path.display());
        match (number(&self.target), temporary) {
            (Some(found), Some(file)) if found == self.new && file != self.new => Some(format!(
                "{target} is replaced, and its previous content is in {kept}"
            )),
            (Some(found), _) if found == self.new => Some(format!("{target} is written")),
            (_, None) => None,
            (Some(_), Some(_)) => Some(format!(
                "{target} has its previous content, and the new content is in {kept}"
            )),
            (None, Some(_)) => Some(format!(
                "{target} is not written, and its content is in {kept}"
            )),
        }
    }
}

/// Returns whether a running process has the file locked.
fn is_in_use(path: &Path) -> bool {
    let locked = File::open(path).map(|file| file.try_lock());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}
