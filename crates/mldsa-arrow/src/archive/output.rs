//! Rows of verdicts, and Parquet files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use mldsa_arrow::Verdicts;
use parquet::arrow::ArrowWriter;

use crate::columns::Signers;
use crate::{Failure, named};

/// Reason of a line of which nothing could be read.
pub(crate) const MALFORMED: &str = "malformed_row";

/// Makes rows of `key` (signer), `valid` and `reason`.
pub(crate) fn rows(
    verdicts: &Verdicts,
    malformed: &[bool],
    signers: &Signers,
) -> Result<RecordBatch, Failure> {
    let reasons = verdicts.reason.values().as_string::<i32>();
    let codes = verdicts.reason.keys();
    let reason = |row: usize| match malformed[row] {
        true => Some(MALFORMED),
        false => codes
            .is_valid(row)
            .then(|| reasons.value(codes.values()[row] as usize)),
    };
    let reasons: StringArray = (0..malformed.len()).map(reason).collect();
    let signer = |row: &Option<u32>| row.map(|name| signers.names[name as usize].as_str());
    let keys: StringArray = signers.rows.iter().map(signer).collect();
    batch(keys, verdicts.valid.clone(), reasons)
}

/// Makes no rows, with the columns of [`rows`].
pub(crate) fn none() -> Result<RecordBatch, Failure> {
    let empty = || StringArray::from_iter_values([""; 0]);
    batch(empty(), BooleanArray::from(vec![false; 0]), empty())
}

fn batch(
    keys: StringArray,
    valid: BooleanArray,
    reasons: StringArray,
) -> Result<RecordBatch, Failure> {
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("key", Arc::new(keys), true),
        ("valid", Arc::new(valid), false),
        ("reason", Arc::new(reasons), true),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

/// The columns of [`rows`], by name.
pub(crate) struct Rows<'a> {
    pub(crate) key: &'a StringArray,
    pub(crate) valid: &'a BooleanArray,
    pub(crate) reason: &'a StringArray,
}

impl<'a> Rows<'a> {
    pub(crate) fn of(batch: &'a RecordBatch) -> Result<Self, Failure> {
        let column = |name| batch.column_by_name(name).ok_or("not a file of verdicts");
        let not = || "not a file of verdicts";
        Ok(Self {
            key: column("key")?.as_string_opt().ok_or_else(not)?,
            valid: column("valid")?.as_boolean_opt().ok_or_else(not)?,
            reason: column("reason")?.as_string_opt().ok_or_else(not)?,
        })
    }
}

/// A Parquet file under a temporary name until it is complete and on the disk. The temporary file is
/// removed if that does not happen.
pub(crate) struct Output {
    path: PathBuf,
    temporary: PathBuf,
    writer: Option<ArrowWriter<File>>,
}

impl Output {
    /// Begins a file. The temporary name is the path with `.tmp` behind it.
    pub(crate) fn create(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            temporary: temporary_of(path),
            writer: None,
        }
    }

    /// Writes rows; the columns of the first ones are those of the file.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        if self.writer.is_none() {
            let file = create_new(&self.temporary);
            let file = file.map_err(|error| named(self.temporary.display(), error))?;
            self.writer = Some(ArrowWriter::try_new(file, batch.schema(), None)?);
        }
        let name = self.temporary.display();
        match &mut self.writer {
            Some(writer) => writer.write(batch).map_err(|error| named(name, error)),
            None => Ok(()),
        }
    }

    /// Ends a row group.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.writer {
            Some(writer) => writer
                .flush()
                .map_err(|error| named(self.temporary.display(), error)),
            None => Ok(()),
        }
    }

    /// Ends the file and gives it its name. Without rows there is no file.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let done = writer.into_inner().map_err(io::Error::other);
        let renamed = done
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&self.temporary, &self.path));
        if renamed.is_err() {
            let _ = fs::remove_file(&self.temporary);
        }
        renamed
            .and_then(|()| sync_folder(&self.path))
            .map_err(|error| named(self.path.display(), error))
    }
}

impl Drop for Output {
    /// Removes what has not become a whole file.
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Returns the name under which a file is written.
pub(crate) fn temporary_of(path: &Path) -> PathBuf {
    with_ending(path, ".tmp")
}

/// Returns the folder of the parts of an output.
pub(crate) fn parts_of(path: &Path) -> PathBuf {
    with_ending(path, ".parts")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Creates a temporary file instead of one of an earlier run, and does not follow a link.
fn create_new(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(path),
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let temporary = temporary_of(path);
    create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(path))
        .map_err(|error| named(path.display(), error))
}

/// Puts the names in the folder of a file on the disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    match cfg!(unix) {
        true => File::open(folder.unwrap_or(Path::new(".")))?.sync_all(),
        false => Ok(()),
    }
}
