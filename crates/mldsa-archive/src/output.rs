//! Rows of verdicts, and Parquet files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use mldsa_arrow::Verdicts;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::writer::SerializedFileWriter;

use crate::columns::Signers;
use crate::{Failure, named};

/// Reason of a line of which nothing could be read.
pub(crate) const MALFORMED: &str = "malformed_row";

/// Makes rows of `file`, `row`, `key` (signer), `valid` and `reason`, of which the first has the number `first`.
pub(crate) fn rows(
    file: &str,
    first: u64,
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
    let rows = malformed.len();
    let files = core::iter::repeat_n(file, rows);
    let reasons: StringArray = (0..rows).map(reason).collect();
    let signer = |row: &Option<u32>| row.map(|name| signers.names[name as usize].as_str());
    let keys: StringArray = signers.rows.iter().map(signer).collect();
    let columns: [ArrayRef; 5] = [
        Arc::new(StringArray::from_iter_values(files)),
        Arc::new(UInt64Array::from_iter_values(first..first + rows as u64)),
        Arc::new(keys),
        Arc::new(verdicts.valid.clone()),
        Arc::new(reasons),
    ];
    Ok(RecordBatch::try_new(schema(), columns.into())?)
}

/// Returns the columns of [`rows`].
pub(crate) fn schema() -> SchemaRef {
    let fields = [
        ("file", DataType::Utf8, false),
        ("row", DataType::UInt64, false),
        ("key", DataType::Utf8, true),
        ("valid", DataType::Boolean, false),
        ("reason", DataType::Utf8, true),
    ];
    let fields = fields.map(|(name, kind, is_nullable)| Field::new(name, kind, is_nullable));
    Arc::new(Schema::new(fields.to_vec()))
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
    /// Begins a file with columns, under a temporary name.
    pub(crate) fn create(
        path: &Path,
        temporary: PathBuf,
        schema: SchemaRef,
    ) -> Result<Self, Failure> {
        let file = create_new(&temporary).map_err(|error| named(temporary.display(), error))?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            writer: Some(ArrowWriter::try_new(file, schema, None)?),
        })
    }

    fn with<R>(
        &mut self,
        write: impl Fn(&mut ArrowWriter<File>) -> ParquetResult<R>,
    ) -> Result<R, Failure> {
        let writer = self.writer.as_mut().ok_or("the file is complete")?;
        write(writer).map_err(|error| named(self.temporary.display(), error))
    }

    /// Writes rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.with(|writer| writer.write(batch))
    }

    /// Ends a row group.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.with(ArrowWriter::flush)
    }

    /// Ends the file and gives it its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let writer = self.writer.take().ok_or("the file is complete")?;
        publish(writer.into_inner(), &self.temporary, &self.path)
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

/// Puts a complete file on the disk and gives it its name.
fn publish(file: ParquetResult<File>, temporary: &Path, path: &Path) -> Result<(), Failure> {
    let renamed = file
        .map_err(io::Error::other)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(temporary, path));
    if renamed.is_err() {
        let _ = fs::remove_file(temporary);
    }
    renamed
        .and_then(|()| sync_folder(path))
        .map_err(|error| named(path.display(), error))
}

/// Writes the row groups of parts to one file, without decoding them.
pub(crate) fn concatenate(
    path: &Path,
    parts: impl Iterator<Item = Result<File, Failure>>,
) -> Result<(), Failure> {
    let temporary = temporary_of(path);
    let written = || {
        let file = create_new(&temporary).map_err(|error| named(temporary.display(), error))?;
        let schema = ArrowSchemaConverter::new().convert(&schema())?;
        let mut writer = SerializedFileWriter::new(file, schema.root_schema_ptr(), Arc::default())?;
        for part in parts {
            let part = &part?;
            let metadata = ParquetMetaDataReader::new().parse_and_finish(part)?;
            for group in metadata.row_groups() {
                let mut to = writer.next_row_group()?;
                for column in group.columns() {
                    let close = ColumnCloseResult {
                        bytes_written: u64::try_from(column.compressed_size())?,
                        rows_written: u64::try_from(group.num_rows())?,
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: None,
                        offset_index: None,
                    };
                    to.append_column(part, close)?;
                }
                to.close()?;
            }
        }
        Ok::<_, Failure>(writer.into_inner()?)
    };
    match written() {
        Ok(file) => publish(Ok(file), &temporary, path),
        Err(error) => {
            let _ = fs::remove_file(&temporary);
            Err(error)
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
