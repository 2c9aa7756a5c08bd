//! What an input has: row groups of Parquet, or lines of text.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::collections::HashMap;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use mldsa_arrow::thrift::check_footer;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowGroups,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

use crate::Failure;
use crate::columns::Wanted;
use crate::input::Input;
use crate::lines::{Format, Lines};
use crate::names;
use crate::pages::Pages;

/// Bytes that a batch of rows of average length has.
const BATCH: u64 = 1 << 26;

/// Bytes of a footer.
const MAX_FOOTER: u64 = 1 << 28;

/// What a file may cost, by its length: a small one cannot keep a machine busy.
pub(crate) struct Work(AtomicU64);

impl Work {
    pub(crate) fn of(len: u64) -> Self {
        Self(AtomicU64::new(
            len.saturating_mul(1024).saturating_add(1 << 30),
        ))
    }

    /// Counts bytes that are decompressed or hashed.
    ///
    /// # Errors
    /// They are more than 1 GiB and 1,024 for each byte of the file.
    pub(crate) fn charge(&self, bytes: u64) -> Result<(), Failure> {
        let left = self
            .0
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        match left {
            Ok(_) => Ok(()),
            Err(_) => Err("its values have more than 1,024 times the bytes of the file".into()),
        }
    }
}

/// Rows of a batch.
pub(crate) struct Read {
    pub(crate) batch: RecordBatch,
    /// Rows that could not be read; their bytes are null.
    pub(crate) malformed: Vec<bool>,
}

pub(crate) type Batches<'a> = Box<dyn Iterator<Item = Result<Read, Failure>> + Send + 'a>;

/// An input whose format is known.
pub(crate) struct Source {
    input: Input,
    kind: Kind,
    /// The columns that are read from the file.
    wanted: Wanted,
    /// The columns that the names of its folders have.
    constants: Vec<(String, Constant)>,
    pub(crate) work: Work,
}

enum Kind {
    Parquet(ArrowReaderMetadata),
    Text(Format),
}

enum Constant {
    Null,
    Integer(i64),
    Text(String),
}

impl Constant {
    fn array(&self, rows: usize) -> ArrayRef {
        match self {
            Self::Null => new_null_array(&DataType::Utf8, rows),
            Self::Integer(value) => Arc::new(Int64Array::from_value(*value, rows)),
            Self::Text(text) => Arc::new(StringArray::from_iter_values(core::iter::repeat_n(
                text, rows,
            ))),
        }
    }
}

/// A part of an input that is verified as a whole.
pub(crate) struct Unit {
    /// Bytes in the file, for the progress.
    pub(crate) bytes: u64,
    /// Number of rows that the footer promises; that of text is not known.
    pub(crate) rows: Option<u64>,
}

impl Source {
    /// Finds out what an input has. `integers` tells whether ids in the names of folders are integers.
    pub(crate) fn open(
        input: Input,
        path: &Path,
        mut wanted: Wanted,
        integers: bool,
    ) -> Result<Self, Failure> {
        let mut constants = Vec::new();
        for (name, value) in names::columns_of(path) {
            if wanted.remove(&name) {
                let integer = value.as_deref().filter(|_| integers);
                let integer = integer.and_then(|text| text.parse().ok());
                let value = match (integer, value) {
                    (Some(integer), _) => Constant::Integer(integer),
                    (None, Some(text)) => Constant::Text(text),
                    (None, None) => Constant::Null,
                };
                constants.push((name, value));
            }
        }
        let kind = match format(&input, path)? {
            Some(format) => Kind::Text(format),
            None => Kind::Parquet(guarded(|| parquet(&input))?),
        };
        if let Kind::Parquet(metadata) = &kind
            && let Some((name, _)) = constants
                .iter()
                .find(|(name, _)| metadata.schema().field_with_name(name).is_ok())
        {
            return Err(format!("the file and its path have a column \"{name}\"").into());
        }
        Ok(Self {
            work: Work::of(input.len()),
            input,
            kind,
            wanted,
            constants,
        })
    }

    pub(crate) fn units(&self) -> Vec<Unit> {
        match &self.kind {
            Kind::Text(_) => vec![Unit {
                bytes: self.input.len(),
                rows: None,
            }],
            Kind::Parquet(metadata) => {
                let groups = metadata.metadata().row_groups().iter();
                let unit = |group: &RowGroupMetaData| Unit {
                    bytes: u64::try_from(group.compressed_size()).unwrap_or(0),
                    rows: u64::try_from(group.num_rows()).ok(),
                };
                groups.map(unit).collect()
            }
        }
    }

    /// Returns the name of a unit in errors, behind that of the file.
    pub(crate) fn unit_name(&self, n: usize) -> String {
        match &self.kind {
            Kind::Text(_) => String::new(),
            Kind::Parquet(_) => format!(", row group {n}"),
        }
    }

    /// Returns a batch without rows, of which the columns can be checked; `None` for text.
    pub(crate) fn empty(&self) -> Result<Option<RecordBatch>, Failure> {
        match &self.kind {
            Kind::Text(_) => Ok(None),
            Kind::Parquet(metadata) => {
                let empty = RecordBatch::new_empty(Arc::clone(metadata.schema()));
                Ok(Some(self.completed(empty)?))
            }
        }
    }

    /// Adds the columns of the path.
    fn completed(&self, batch: RecordBatch) -> Result<RecordBatch, Failure> {
        if self.constants.is_empty() {
            return Ok(batch);
        }
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| (field.name().clone(), Arc::clone(array)));
        let rows = batch.num_rows();
        let constants = self.constants.iter();
        let constants = constants.map(|(name, value)| (name.clone(), value.array(rows)));
        let columns = columns
            .chain(constants)
            .map(|(name, array)| (name, array, true));
        Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
    }

    /// Checks the headers of the pages of a unit; text has none.
    pub(crate) fn group(&self, n: usize) -> Result<Option<Group>, Failure> {
        let Kind::Parquet(metadata) = &self.kind else {
            return Ok(None);
        };
        let mut group = Group {
            metadata: Arc::clone(metadata.metadata()),
            at: n,
            columns: HashMap::new(),
            read: Arc::default(),
        };
        let of = metadata.metadata().row_group(n);
        let rows = u64::try_from(of.num_rows())?;
        for (leaf, column) in of.columns().iter().enumerate() {
            let root = column.column_path().parts().first();
            if root.is_some_and(|root| self.wanted.has(root)) {
                let width = u64::try_from(column.column_descr().type_length()).unwrap_or(0);
                self.work.charge(width.saturating_mul(rows))?;
                let pages = Pages::open(&self.input, column, rows, &self.work)?;
                group.columns.insert(leaf, pages);
            }
        }
        Ok(Some(group))
    }

    /// Reads batches of at most `rows` rows, in order.
    pub(crate) fn read(&self, group: Option<&Group>, rows: usize) -> Result<Batches<'_>, Failure> {
        let (metadata, group) = match (&self.kind, group) {
            (Kind::Parquet(metadata), Some(group)) => (metadata, group),
            (Kind::Parquet(_), None) => return Err("its pages are not checked".into()),
            (Kind::Text(format), _) => {
                let lines = Lines::new(self.input.reader(), *format, &self.wanted, rows)?;
                return Ok(Box::new(lines.map(|read| {
                    let read = read?;
                    let batch = self.completed(read.batch)?;
                    Ok(Read { batch, ..read })
                })));
            }
        };
        let schema = metadata.parquet_schema();
        let of = metadata.metadata().row_group(group.at);
        let sizes = group.columns.keys().map(|leaf| {
            let column = of.column(*leaf);
            let width = u64::try_from(column.column_descr().type_length()).unwrap_or(0);
            let size = u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX);
            size.checked_div(group.num_rows() as u64)
                .unwrap_or(0)
                .max(width)
        });
        let row = sizes.fold(1, u64::saturating_add);
        let rows = usize::try_from(BATCH / row).unwrap_or(rows).clamp(1, rows);
        let rows = rows.min(group.num_rows().max(1));
        let mask = ProjectionMask::leaves(schema, group.columns.keys().copied());
        let levels = parquet_to_arrow_field_levels(schema, mask, Some(metadata.schema().fields()))?;
        let reader =
            || ParquetRecordBatchReader::try_new_with_row_groups(&levels, group, rows, None);
        let mut reader = guarded(|| Ok(reader()?))?;
        let read = Arc::clone(&group.read);
        Ok(Box::new(core::iter::from_fn(move || {
            read.store(0, Relaxed);
            let batch = guarded(|| Ok(reader.next().transpose()?)).transpose()?;
            Some(batch.and_then(|batch| {
                batch
                    .columns()
                    .iter()
                    .try_for_each(|array| check_offsets(array))?;
                Ok(Read {
                    malformed: vec![false; batch.num_rows()],
                    batch: self.completed(batch)?,
                })
            }))
        })))
    }
}

/// Finds the format of an input; `None` for Parquet.
fn format(input: &Input, path: &Path) -> Result<Option<Format>, Failure> {
    let begin = input.bytes(0, input.len().min(64) as usize)?;
    for (magic, name) in [
        (&b"\x1f\x8b"[..], "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
    ] {
        if begin.starts_with(magic) {
            return Err(format!("it is compressed with {name}: decompress it first").into());
        }
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    match &*extension.to_ascii_lowercase() {
        "csv" => return Ok(Some(Format::Csv)),
        "json" | "jsonl" | "ndjson" => {
            let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&begin);
            return match text.trim_ascii_start().first() {
                Some(b'[') => Err("it is a JSON array, not one object a line".into()),
                _ => Ok(Some(Format::Json)),
            };
        }
        _ => {}
    }
    match begin.get(..4) {
        Some(b"PAR1") => Ok(None),
        Some(b"PARE") => Err("it is an encrypted Parquet file".into()),
        _ => Err("it is neither Parquet nor, by its name, CSV (.csv) or JSON lines (.json, .jsonl, .ndjson)".into()),
    }
}

/// Reads the footer of Parquet.
fn parquet(input: &Input) -> Result<ArrowReaderMetadata, Failure> {
    let cut = "it is no whole Parquet file";
    let end = input
        .len()
        .checked_sub(8)
        .filter(|end| *end >= 4)
        .ok_or(cut)?;
    let tail = input.bytes(end, 8)?;
    let [a, b, c, d, magic @ ..] = *tail.first_chunk::<8>().ok_or(cut)?;
    if magic == *b"PARE" {
        return Err("it is an encrypted Parquet file".into());
    }
    let len = u32::from_le_bytes([a, b, c, d]);
    let start = end.checked_sub(len.into()).filter(|_| magic == *b"PAR1");
    let start = start.filter(|start| *start >= 4).ok_or(cut)?;
    if u64::from(len) > MAX_FOOTER {
        return Err("the footer has more than 256 MiB".into());
    }
    let footer = input.bytes(start, len as usize)?;
    check_footer(&footer)?;
    let metadata = Arc::new(ParquetMetaDataReader::decode_metadata(&footer)?);
    let mut groups = metadata.row_groups().iter();
    let rows = groups.try_fold(0_u64, |sum, group| {
        sum.checked_add(u64::try_from(group.num_rows()).ok()?)
    });
    let stated = u64::try_from(metadata.file_metadata().num_rows()).ok();
    let rows = rows.filter(|rows| Some(*rows) == stated);
    let rows = rows.ok_or("the footer contradicts itself on the number of rows")?;
    if rows > input.len().saturating_mul(16).saturating_add(1 << 16) {
        return Err(format!("it states {rows} rows, more than 65,536 and 16 for each byte").into());
    }
    // A second schema that writers put in the footer is not read.
    let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let stored = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options())?;
    // Views point into the pages: no value is copied, however many rows have it.
    let fields = stored.schema().fields().iter();
    let fields = fields.map(|field| match field.data_type() {
        DataType::Binary => Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView)),
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    });
    let schema = Schema::new(fields.collect::<Vec<Arc<Field>>>());
    let options = options().with_schema(Arc::new(schema));
    Ok(ArrowReaderMetadata::try_new(metadata, options)?)
}

/// Checks that offsets of 32 bits reach everything in a column of views.
fn check_offsets(array: &ArrayRef) -> Result<(), Failure> {
    let buffers = match array.data_type() {
        DataType::BinaryView => array.as_binary_view().data_buffers(),
        DataType::Utf8View => array.as_string_view().data_buffers(),
        _ => &[],
    };
    match buffers
        .iter()
        .all(|buffer| u32::try_from(buffer.len()).is_ok())
    {
        true => Ok(()),
        false => Err("a column has 4 GiB or more at once: choose a smaller --batch-rows".into()),
    }
}

/// Turns a panic of a decoder on damaged bytes into an error.
fn guarded<T>(decode: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err("the bytes are damaged: the decoder panicked".into()))
}

/// A unit whose headers are sound.
pub(crate) struct Group {
    metadata: Arc<ParquetMetaData>,
    at: usize,
    /// The columns that are read, by their numbers.
    columns: HashMap<usize, Pages>,
    read: Arc<AtomicUsize>,
}

impl Group {
    /// Returns the number of pages that have no checksum.
    pub(crate) fn without_checksum(&self) -> u64 {
        self.columns.values().map(Pages::without_checksum).sum()
    }

    fn of(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.at)
    }
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        usize::try_from(self.of().num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, column: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let pages = self.columns.get(&column);
        let missing = || ParquetError::General("the column is not read".into());
        let pages = pages.ok_or_else(missing)?.counted(&self.read);
        Ok(Box::new(Chunk(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(core::iter::once(self.of()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of one column.
struct Chunk(Option<Pages>);

impl Iterator for Chunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(Ok(Box::new(self.0.take()?)))
    }
}

impl PageIterator for Chunk {}
