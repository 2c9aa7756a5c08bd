//! What a run has done, on the disk: a plan, and the verdicts of each unit that is complete.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::files::{self, is_at};
use crate::output::{Output, parts_of, sync_folder, temporary_of, write_whole};
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
    /// For each unit, whether its verdicts were there in the beginning.
    found: Vec<bool>,
}

impl State {
    /// Opens or begins the state of a run with `plan`, which has `units` units.
    ///
    /// # Errors
    /// Another process has it, or it is of another run, or the folder is none of a run.
    pub(crate) fn open(out: &Path, plan: &str, units: usize) -> Result<Self, Failure> {
        let folder = parts_of(out);
        let lock =
            claim(&folder, plan.as_bytes()).map_err(|error| named(folder.display(), error))?;
        let found = (0..units).map(|unit| part(&folder, unit).try_exists());
        let found = found.collect::<io::Result<_>>();
        Ok(Self {
            found: found.map_err(|error| named(folder.display(), error))?,
            folder,
            lock,
        })
    }

    /// Tells whether the verdicts of a unit were there in the beginning.
    pub(crate) fn has(&self, unit: usize) -> bool {
        self.found[unit]
    }

    /// Begins the verdicts of a unit, which are written whole or not at all.
    pub(crate) fn begin(&self, unit: usize) -> Output {
        Output::create(&part(&self.folder, unit))
    }

    /// Reads the verdicts of a unit: how many rows there are, and the rows in order.
    pub(crate) fn read(
        &self,
        unit: usize,
    ) -> Result<
        (
            u64,
            impl Iterator<Item = Result<RecordBatch, Failure>> + use<>,
        ),
        Failure,
    > {
        let name = self.name(unit);
        let file = File::open(part(&self.folder, unit)).map_err(|error| named(&name, error))?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| named(&name, error))?;
        let rows = builder.metadata().file_metadata().num_rows();
        let reader = builder.with_batch_size(ROWS).build();
        let reader = reader.map_err(|error| named(&name, error))?;
        let rows = u64::try_from(rows).map_err(|error| named(&name, error))?;
        Ok((
            rows,
            reader.map(move |batch| batch.map_err(|error| named(&name, error))),
        ))
    }

    /// Returns the name of the file with the verdicts of a unit.
    pub(crate) fn name(&self, unit: usize) -> String {
        part(&self.folder, unit).display().to_string()
    }

    /// Removes the state, the parts before the plan and the lock last. Files that are not of the state
    /// stay, and so does the folder then.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        let name = self.folder.display().to_string();
        let (folder, units) = (self.folder, self.found.len());
        let removed = || -> io::Result<bool> {
            for part in (0..units).map(|unit| part(&folder, unit)) {
                remove(&temporary_of(&part))?;
                remove(&part)?;
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

fn part(folder: &Path, unit: usize) -> PathBuf {
    folder.join(format!("{unit:08}.parquet"))
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
///
/// # Errors
/// The table cannot be read.
pub(crate) fn inputs(files: &[PathBuf], table: Option<&Path>) -> Result<String, Failure> {
    let mut text = format!("{MAGIC}{}\n", env!("CARGO_PKG_VERSION"));
    if let Some(table) = table {
        let digest = files::digest(table).map_err(|error| named(table.display(), error))?;
        text += &format!("keys {digest}\n");
    }
    for path in files {
        text += &format!("{path:?} {}\n", files::fingerprint(path));
    }
    Ok(text)
}
