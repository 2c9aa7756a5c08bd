//! Input files, and the units of work in them: row groups of Parquet, whole files of text.

use core::panic::AssertUnwindSafe;
use std::fs::{self, File};
use std::io::BufReader;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};

use crate::footer;
use crate::lines::{Format, Lines};
use crate::pages::Group;
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

/// Upper bound on the bytes that fixed lengths take in a batch.
const MAX_FIXED: usize = 1 << 30;

/// Opens a regular file, whose format its name says: `.csv`, `.json`, `.jsonl` or `.ndjson`, and Parquet otherwise.
pub(crate) fn open(path: &Path) -> Result<Source, Failure> {
    let name = path.display();
    let metadata = fs::metadata(path).map_err(|error| named(&name, error))?;
    // A pipe could not be read again, and opening one may wait forever.
    if !metadata.is_file() {
        return Err(named(&name, "it is no regular file"));
    }
    let file = File::open(path).map_err(|error| named(&name, error))?;
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
        let options = ArrowReaderOptions::new();
        let stored = ArrowReaderMetadata::try_new(Arc::new(footer::read(&file)?), options)?;
        // Views point into the pages: no value is copied, however many rows have it.
        let fields = stored.schema().fields().iter();
        let fields = fields.map(|field| match view(field.data_type()) {
            Some(view) => Arc::new(field.as_ref().clone().with_data_type(view)),
            None => Arc::clone(field),
        });
        let schema = Schema::new(fields.collect::<Vec<Arc<Field>>>());
        let schema = schema.with_metadata(stored.schema().metadata().clone());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        let metadata = Arc::clone(stored.metadata());
        Ok(ArrowReaderMetadata::try_new(metadata, options)?)
    };
    let loaded = guarded(load).map_err(|error| named(path.display(), error))?;
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

/// Returns the type of views of a type of bytes or text.
fn view(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            Some(DataType::BinaryView)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(DataType::Utf8View),
        DataType::Dictionary(_, values) => view(values),
        _ => None,
    }
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
                let schema = metadata.parquet_schema();
                let all = metadata.metadata().file_metadata().num_rows();
                let at_once = usize::try_from(all).map_or(rows, |all| all.clamp(1, rows));
                let roots = schema.root_schema().get_fields().iter().enumerate();
                let roots = roots.filter(|(_, root)| wanted.names().any(|one| one == root.name()));
                let mask = ProjectionMask::roots(schema, roots.map(|(at, _)| at));
                for (leaf, column) in schema.columns().iter().enumerate() {
                    let width = usize::try_from(column.type_length()).unwrap_or(0);
                    if mask.leaf_included(leaf) && width.saturating_mul(at_once) > MAX_FIXED {
                        let error = format!("{at_once} rows at once, of {width} bytes each");
                        return Err(named(column.name(), error));
                    }
                }
                let hint = Some(metadata.schema().fields());
                let levels = parquet_to_arrow_field_levels(schema, mask, hint)?;
                let group = Group {
                    file: Arc::new(file),
                    metadata: Arc::clone(metadata.metadata()),
                    at: *group,
                };
                let reader = || {
                    ParquetRecordBatchReader::try_new_with_row_groups(
                        &levels, &group, at_once, None,
                    )
                };
                let mut reader = guarded(|| Ok(reader()?))?;
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
