//! What a run has done, on the disk: a plan, and the verdicts of each unit that is complete.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::output::{Output, write_whole};
use crate::{Failure, named};

/// Rows that are read from a part at a time.
const ROWS: usize = 8192;

/// The folder beside the output, with the name of the output and `.parts` behind it.
pub(crate) struct State {
    folder: PathBuf,
    /// Held as long as the process runs.
    _lock: File,
}

impl State {
    /// Opens or begins the state of a run over `files` with `options`.
    ///
    /// # Errors
    /// Another process has it, or it is of another run.
    pub(crate) fn open(out: &Path, files: &[PathBuf], options: &str) -> Result<Self, Failure> {
        let mut folder = out.as_os_str().to_owned();
        folder.push(".parts");
        let folder = PathBuf::from(folder);
        let name = folder.display().to_string();
        let lock = match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => File::create(folder.join("lock")),
        };
        let lock = lock.map_err(|error| named(&name, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(named(&name, "another process is writing these verdicts"));
            }
            Err(TryLockError::Error(error)) => return Err(named(&name, error)),
        }
        let plan = plan(files, options)?;
        let path = folder.join("plan");
        match fs::read(&path) {
            Ok(found) if found == plan.as_bytes() => {}
            Ok(_) => {
                let why =
                    "the verdicts in it are of other files or options; remove it to begin again";
                return Err(named(&name, why));
            }
            Err(_) => write_whole(&path, plan.as_bytes())?,
        }
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    fn part(&self, unit: usize) -> PathBuf {
        self.folder.join(format!("{unit:08}.parquet"))
    }

    pub(crate) fn has(&self, unit: usize) -> bool {
        self.part(unit).exists()
    }

    /// Writes the verdicts of a unit, whole or not at all.
    pub(crate) fn write(&self, unit: usize, rows: &[RecordBatch]) -> Result<(), Failure> {
        let mut output = Output::create(&self.part(unit));
        rows.iter().try_for_each(|rows| output.write(rows))?;
        output.finish()
    }

    /// Reads the verdicts of a unit, in order.
    pub(crate) fn read(
        &self,
        unit: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, Failure>>, Failure> {
        let path = self.part(unit);
        let name = path.display().to_string();
        let file = File::open(&path).map_err(|error| named(&name, error))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| builder.with_batch_size(ROWS).build())
            .map_err(|error| named(&name, error))?;
        Ok(reader.map(move |batch| batch.map_err(|error| named(&name, error))))
    }

    /// Removes the state.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        let name = self.folder.display();
        fs::remove_dir_all(&self.folder).map_err(|error| named(name, error))
    }
}

/// What decides the verdicts: the files as they are, and the options.
fn plan(files: &[PathBuf], options: &str) -> Result<String, Failure> {
    let mut plan = format!("{}\n{options}\n", env!("CARGO_PKG_VERSION"));
    for path in files {
        let found = fs::metadata(path).and_then(|found| Ok((found.len(), found.modified()?)));
        let (len, modified) = found.map_err(|error| named(path.display(), error))?;
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        plan += &format!("{path:?} {len} {}\n", modified.as_nanos());
    }
    Ok(plan)
}
