//! What a run has done, on the disk: a plan, and the verdicts of each unit that is complete.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::files::{self, is_at};
use crate::output::{parts_of, sync_folder, write_whole};
use crate::summary::Summary;
use crate::{Failure, named, say};

/// Rows that are read from a part at a time.
const ROWS: usize = 8192;

const LOCK: &str = "lock";
const PLAN: &str = "plan";
const PLAN_BEGUN: &str = "plan.tmp";

/// How every plan begins.
const MAGIC: &str = "mldsa-archive ";

const BUSY: &str = "another process is writing these verdicts";
#[cfg(unix)]
const SHARED: &str = "it is no folder that only you can change; choose another --out";
const FOREIGN: &str =
    "the folder is not empty and has no verdicts of this program; choose another --out";

/// The folder beside the output, with the name of the output and `.parts` behind it.
pub(crate) struct State {
    folder: PathBuf,
    /// Held as long as the process runs.
    lock: File,
}

impl State {
    /// Opens or begins the state of a run with `plan`.
    ///
    /// # Errors
    /// Another process has it, or it is of another run, or the folder is none of a run.
    pub(crate) fn open(out: &Path, plan: &str) -> Result<Self, Failure> {
        let folder = parts_of(out);
        let lock = claim(&folder, plan.as_bytes());
        let lock = lock.map_err(|error| named(folder.display(), error))?;
        Ok(Self { folder, lock })
    }

    /// Opens the verdicts of a unit, and counts them.
    ///
    /// # Errors
    /// They are damaged, or are not of `rows` rows.
    pub(crate) fn read(
        &self,
        part: &Path,
        rows: Option<u64>,
        summary: &mut Summary,
    ) -> Result<File, Failure> {
        let mut read = || {
            let file = File::open(part)?;
            let reader = ParquetRecordBatchReaderBuilder::try_new(file.try_clone()?)?;
            let mut count = 0;
            for batch in reader.with_batch_size(ROWS).build()? {
                let batch = batch?;
                count += batch.num_rows() as u64;
                summary.add(&batch)?;
            }
            match rows {
                Some(rows) if rows != count => Err(format!(
                    "it is damaged: verdicts of {count} rows instead of {rows}; remove it to verify them again"
                )
                .into()),
                _ => Ok(file),
            }
        };
        read().map_err(|error: Failure| named(part.display(), error))
    }

    /// Removes the state, the parts before the plan and the lock last. Files that are not of the state
    /// stay, and so does the folder then.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        let name = self.folder.display().to_string();
        let folder = self.folder;
        let removed = || -> io::Result<bool> {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if is_part(&entry.file_name()) {
                    remove(&entry.path())?;
                }
            }
            sync_folder(&folder.join(PLAN))?;
            remove(&folder.join(PLAN_BEGUN))?;
            remove(&folder.join(PLAN))?;
            let mut is_known = true;
            for entry in fs::read_dir(&folder)? {
                is_known &= entry?.file_name() == LOCK;
            }
            remove(&folder.join(LOCK))?;
            Ok(is_known)
        };
        let is_known = removed().map_err(|error| named(&name, error))?;
        // Some systems keep the name of an open file.
        drop(self.lock);
        if !is_known {
            say(named(name, "files that are not of this program stay"));
            return Ok(());
        }
        match fs::remove_dir(&folder) {
            // The next run has begun.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| named(name, error)),
        }
    }
}

/// Returns the file with the verdicts of a unit of a file.
pub(crate) fn part(out: &Path, file: usize, unit: usize) -> PathBuf {
    parts_of(out).join(format!("{file:08}-{unit:08}.parquet"))
}

/// Tells whether a name is of verdicts, complete or not.
fn is_part(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_number = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    match (name.get(..8), name.get(8..17)) {
        (Some(file), Some([b'-', unit @ ..])) => {
            is_number(file) && is_number(unit) && name.get(17..25) == Some(b".parquet")
        }
        _ => false,
    }
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Locks the folder for a run with `plan`, and makes what is not there.
fn claim(folder: &Path, plan: &[u8]) -> Result<File, Failure> {
    // Another run may remove the folder at any time before it is locked.
    for _ in 0..100 {
        match create_private(folder) {
            Ok(()) => {}
            // A folder of somebody else is left as it is, without a lock in it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                check_private(folder)?;
                check(folder, plan)?;
            }
            Err(error) => return Err(error.into()),
        }
        let path = folder.join(LOCK);
        let mut options = File::options();
        let lock = match options.create(true).write(true).truncate(false).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            lock => lock?,
        };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BUSY.into()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        if !is_at(&lock, &path)? {
            continue;
        }
        if !check(folder, plan)? {
            write_whole(&folder.join(PLAN), plan)?;
        }
        return Ok(lock);
    }
    Err(BUSY.into())
}

/// Creates a folder in which nobody else can write.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Checks that nobody else could have put verdicts into a folder.
fn check_private(folder: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = match fs::symlink_metadata(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        let is_own = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_dir() || !is_own || found.mode() & 0o022 != 0 {
            return Err(SHARED.into());
        }
    }
    let _ = folder;
    Ok(())
}

/// Checks that a folder is of a run with `plan`, or of one that has not begun. Tells whether the plan
/// is there.
fn check(folder: &Path, plan: &[u8]) -> Result<bool, Failure> {
    match fs::read(folder.join(PLAN)) {
        Ok(found) if found == plan => return Ok(true),
        Ok(found) if found.starts_with(MAGIC.as_bytes()) => {
            let why = "the verdicts in it are of other files or options; remove it to begin again";
            return Err(why.into());
        }
        Ok(_) => return Err(FOREIGN.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let begins = |bytes: &[u8]| {
            let magic = MAGIC.as_bytes();
            bytes.starts_with(magic) || magic.starts_with(bytes)
        };
        let is_own = match entry.file_name().to_str() {
            Some(LOCK) => match entry.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => true,
                found => found.is_ok_and(|found| found.is_file() && found.len() == 0),
            },
            Some(PLAN_BEGUN) => match fs::read(entry.path()) {
                Err(error) if error.kind() == ErrorKind::NotFound => true,
                read => read.is_ok_and(|bytes| begins(&bytes)),
            },
            // Another run may have begun in the meantime, which the lock will tell.
            Some(PLAN) => true,
            _ => false,
        };
        if !is_own {
            return Err(FOREIGN.into());
        }
    }
    Ok(false)
}

/// Describes what decides the verdicts: the inputs as they are, and the contents of the table of keys.
pub(crate) fn inputs(files: &[PathBuf], table: Option<&str>) -> String {
    let mut text = format!("{MAGIC}{}\n", env!("CARGO_PKG_VERSION"));
    if let Some(digest) = table {
        text += &format!("keys {digest}\n");
    }
    for path in files {
        text += &format!("{path:?} {}\n", files::fingerprint(path));
    }
    text
}
