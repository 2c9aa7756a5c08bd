//! Input files, and the units of work in them: row groups of Parquet, whole files of text.

use core::panic::AssertUnwindSafe;
use std::fs::File;
use std::io::BufReader;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use crate::lines::{Format, Lines};
use crate::reading::{Read, Wanted};
use crate::{Failure, named};

/// A file that could be opened.
pub(crate) enum Source {
    Parquet(PathBuf, ArrowReaderMetadata),
    Text(PathBuf, Format, u64),
}

/// A part of a file that is verified as a whole.
#[derive(Clone)]
pub(crate) struct Unit {
    path: PathBuf,
    kind: Kind,
    /// Bytes in the file, for the progress.
    pub(crate) bytes: u64,
    /// Number of rows that the footer promises; that of text is not known.
    pub(crate) rows: Option<u64>,
}

#[derive(Clone)]
enum Kind {
    RowGroup(ArrowReaderMetadata, usize),
    Text(Format),
}

pub(crate) type Batches = Box<dyn Iterator<Item = Result<Read, Failure>> + Send>;

/// Opens a file, whose format its name says: `.csv`, `.json`, `.jsonl` or `.ndjson`, and Parquet otherwise.
pub(crate) fn open(path: &Path) -> Result<Source, Failure> {
    let name = path.display();
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, file) = opened.map_err(|error| named(name, error))?;
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let format = match &*extension.to_ascii_lowercase() {
        "csv" => Some(Format::Csv),
        "json" | "jsonl" | "ndjson" => Some(Format::Json),
        _ => None,
    };
    if let Some(format) = format {
        return Ok(Source::Text(path.to_owned(), format, metadata.len()));
    }
    let load = || {
        let stored = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
        // Views point into the pages: nothing is copied.
        let fields = stored
            .schema()
            .fields()
            .iter()
            .map(|field| match field.data_type() {
                DataType::Binary | DataType::LargeBinary => {
                    Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView))
                }
                _ => Arc::clone(field),
            });
        let schema = Schema::new(fields.collect::<Vec<Arc<Field>>>());
        let schema = schema.with_metadata(stored.schema().metadata().clone());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options)
    };
    let loaded = guarded(|| Ok(load()?)).map_err(|error| named(path.display(), error))?;
    let mut groups = loaded.metadata().row_groups().iter();
    let rows = groups.try_fold(0_u64, |sum, group| {
        sum.checked_add(u64::try_from(group.num_rows()).ok()?)
    });
    if rows != u64::try_from(loaded.metadata().file_metadata().num_rows()).ok() || rows.is_none() {
        let error = "the footer contradicts itself on the number of rows";
        return Err(named(path.display(), error));
    }
    Ok(Source::Parquet(path.to_owned(), loaded))
}

/// Turns a panic of a decoder on damaged bytes into an error.
fn guarded<T>(decode: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err("the bytes are damaged: the decoder panicked".into()))
}

impl Source {
    pub(crate) fn units(&self) -> Vec<Unit> {
        match self {
            Self::Text(path, format, bytes) => vec![Unit {
                path: path.clone(),
                kind: Kind::Text(*format),
                bytes: *bytes,
                rows: None,
            }],
            Self::Parquet(path, metadata) => {
                let groups = metadata.metadata().row_groups().iter().enumerate();
                let unit = |(n, group): (usize, &parquet::file::metadata::RowGroupMetaData)| Unit {
                    path: path.clone(),
                    kind: Kind::RowGroup(metadata.clone(), n),
                    bytes: u64::try_from(group.compressed_size()).unwrap_or(0),
                    rows: u64::try_from(group.num_rows()).ok(),
                };
                groups.map(unit).collect()
            }
        }
    }

    /// Returns a batch without rows, of which the columns can be checked; `None` for text.
    pub(crate) fn empty(&self) -> Option<RecordBatch> {
        match self {
            Self::Text(..) => None,
            Self::Parquet(_, metadata) => {
                Some(RecordBatch::new_empty(Arc::clone(metadata.schema())))
            }
        }
    }
}

impl Unit {
    /// Names the file and the row group.
    pub(crate) fn name(&self) -> String {
        let path = self.path.display();
        match self.kind {
            Kind::RowGroup(_, group) => format!("{path}, row group {group}"),
            Kind::Text(_) => path.to_string(),
        }
    }

    /// Reads batches of at most `rows` rows, in order.
    pub(crate) fn read(&self, wanted: &Wanted<'_>, rows: usize) -> Result<Batches, Failure> {
        let file = File::open(&self.path)?;
        match &self.kind {
            Kind::Text(format) => {
                let lines = Lines::new(BufReader::new(file), *format, wanted, rows)?;
                Ok(Box::new(lines))
            }
            Kind::RowGroup(metadata, group) => {
                let mask = ProjectionMask::columns(metadata.parquet_schema(), wanted.names());
                let builder =
                    ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
                        .with_projection(mask)
                        .with_row_groups(vec![*group])
                        .with_batch_size(rows);
                let mut reader = guarded(|| Ok(builder.build()?))?;
                let next = move || {
                    let batch = guarded(|| Ok(reader.next().transpose()?)).transpose()?;
                    Some(batch.map(|batch| Read {
                        malformed: vec![false; batch.num_rows()],
                        batch,
                    }))
                };
                Ok(Box::new(core::iter::from_fn(next)))
            }
        }
    }
}
