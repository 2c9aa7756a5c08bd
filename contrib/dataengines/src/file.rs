//! Parquet files of other people.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::config::TableParquetOptions;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTableUrl};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionContext;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader,
};
use mldsa_arrow::thrift::{Header, Note, check_column_index, check_footer, check_offset_index};

/// Bytes of a footer, and of the pages that a batch has of one column.
const MAX_BYTES: u64 = 1 << 28;

/// Bytes of a value where all of a column have one length.
const MAX_WIDTH: i32 = 1 << 16;

/// Registers a Parquet file as a table. What it states is compared with its bytes before the parser of DataFusion, which
/// trusts it, reads the file: one of a few bytes could end or fill the process.
///
/// The table has the columns that are neither in a list nor in a group. Files are refused that ask for views or offsets of
/// 64 bits in the schema of Arrow that writers add: of values that share prefixes, views are wrong behind 4 GiB, and
/// offsets of 64 bits let a small file fill the memory. With those of 32 bits, a column has at most 2 GiB at once.
///
/// # Errors
/// What is wrong with the file. It must not change afterwards.
pub async fn register_parquet(context: &SessionContext, table: &str, path: &str) -> Result<()> {
    let batch = context.copied_config().batch_size() as u64;
    let (path, schema) = check(path, batch).map_err(|error| {
        let why = format!("{path}: {error}");
        error.downcast::<DataFusionError>().map_or_else(
            |_| DataFusionError::Execution(why.clone()),
            |error| error.context(why.clone()),
        )
    })?;
    let mut options = TableParquetOptions::default();
    options.global.schema_force_view_types = false;
    // What is in an index or a filter is parsed before it is needed.
    options.global.enable_page_index = false;
    options.global.bloom_filter_on_read = false;
    let format = ParquetFormat::new().with_options(options);
    let options = ListingOptions::new(Arc::new(format)).with_file_extension("");
    let schema = Some(Arc::new(schema));
    context
        .register_listing_table(table, path, options, schema, None)
        .await
}

type Failure = Box<dyn core::error::Error + Send + Sync>;

/// Checks a file, of which `batch` rows are read at once, and returns its absolute name and the columns that can be read.
fn check(path: &str, batch: u64) -> core::result::Result<(String, Schema), Failure> {
    let path = std::fs::canonicalize(path)?;
    // A pipe is not opened: that may wait forever.
    if !path.metadata()?.is_file() {
        return Err("it is no regular file".into());
    }
    let name = path.to_str().ok_or("its name is no text")?;
    // DataFusion may take a name for a pattern.
    let url = ListingTableUrl::parse(name)?;
    if LocalFileSystem::new().path_to_filesystem(url.prefix())? != path {
        return Err("DataFusion reads this name as another".into());
    }
    let mut file = Bytes::open(name)?;
    let cut = "it is no whole Parquet file";
    let end = file.len.checked_sub(8).ok_or(cut)?;
    let tail = file.read(end, 8)?;
    let len = u64::from(u32::from_le_bytes(*tail.first_chunk().ok_or(cut)?));
    let start = end.checked_sub(len).filter(|start| *start >= 4);
    let start = start.filter(|_| len <= MAX_BYTES && tail.ends_with(b"PAR1"));
    let footer = file.read(start.ok_or(cut)?, len)?;
    check_footer(&footer)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer)?;
    let rows = metadata.row_groups().iter().try_fold(0_u64, |sum, group| {
        sum.checked_add(u64::try_from(group.num_rows()).ok()?)
    });
    let stated = u64::try_from(metadata.file_metadata().num_rows()).ok();
    let rows = rows.filter(|rows| Some(*rows) == stated);
    let rows = rows.ok_or("the footer contradicts itself on the number of rows")?;
    if rows > file.len.saturating_mul(16).saturating_add(1 << 16) {
        return Err(format!("it states {rows} rows, more than 65,536 and 16 for each byte").into());
    }
    let mut work = file.len.saturating_mul(1024).saturating_add(1 << 30);
    for group in metadata.row_groups() {
        for column in group.columns() {
            let why = |why| format!("{}: {why}", column.column_path().string());
            let rows = u64::try_from(group.num_rows())?;
            file.column(column, rows, batch, &mut work).map_err(why)?;
        }
    }
    // Of a damaged schema of Arrow, the parser panics. It is parsed here before DataFusion does.
    let schema = catch_unwind(AssertUnwindSafe(|| schema(&metadata)))
        .unwrap_or_else(|_| Err("the schema of Arrow in it is damaged".into()))?;
    Ok((name.to_owned(), schema))
}

/// Returns the columns that are neither in a list nor in a group.
fn schema(metadata: &ParquetMetaData) -> core::result::Result<Schema, Failure> {
    let of = metadata.file_metadata();
    let schema = parquet_to_arrow_schema(of.schema_descr(), of.key_value_metadata())?;
    let mut names = HashSet::new();
    for field in schema.fields() {
        if !names.insert(field.name()) {
            return Err(format!("it has two columns {:?}", field.name()).into());
        }
        let kind = match field.data_type() {
            DataType::Dictionary(_, kind) => kind,
            kind => kind,
        };
        if matches!(
            kind,
            DataType::BinaryView | DataType::Utf8View | DataType::LargeBinary | DataType::LargeUtf8
        ) {
            let name = field.name();
            return Err(format!("it asks for {name:?} as {kind} (ARROW:schema)").into());
        }
    }
    let fields = schema.fields().iter();
    let fields = fields.filter(|field| !field.data_type().is_nested());
    Ok(Schema::new(fields.cloned().collect::<Vec<Arc<Field>>>()))
}

/// The bytes of a file.
struct Bytes {
    file: File,
    len: u64,
    /// How many bytes of indexes may still be read.
    indexes: u64,
}

impl Bytes {
    fn open(path: &str) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Self {
            file,
            len,
            indexes: len,
        })
    }

    /// Reads bytes that are all there.
    fn read(&mut self, at: u64, len: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(at))?;
        (&mut self.file).take(len).read_to_end(&mut bytes)?;
        match bytes.len() as u64 == len {
            true => Ok(bytes),
            false => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Checks what a column of a row group states.
    fn column(
        &mut self,
        column: &ColumnChunkMetaData,
        rows: u64,
        batch: u64,
        work: &mut u64,
    ) -> core::result::Result<(), &'static str> {
        let outside = "its pages are outside of the file";
        let natural = |number| u64::try_from(number).map_err(|_| outside);
        let mut at = natural(column.data_page_offset())?;
        if let Some(dictionary) = column.dictionary_page_offset() {
            at = natural(dictionary)?;
        }
        let end = at.checked_add(natural(column.compressed_size())?);
        let end = end.filter(|end| *end <= self.len).ok_or(outside)?;
        let indexes = [
            (column.column_index_offset(), column.column_index_length()),
            (column.offset_index_offset(), column.offset_index_length()),
        ];
        for (check, (at, len)) in [check_column_index, check_offset_index].iter().zip(indexes) {
            if let (Some(at), Some(len)) = (at, len) {
                let (at, len) = (natural(at)?, natural(len.into())?);
                let left = self.indexes.checked_sub(len);
                self.indexes = left.ok_or("the indexes of pages have more bytes than the file")?;
                check(&self.read(at, len).map_err(|_| outside)?)?;
            }
        }
        let of = column.column_descr();
        if of.max_rep_level() > 0 || of.path().parts().len() > 1 {
            return Ok(());
        }
        if of.type_length() > MAX_WIDTH {
            return Err("its values are too long");
        }
        // Pages that may be in memory at once, with their rows, and the sum of both.
        let (mut pages, mut sum) = (VecDeque::<(u64, u64)>::new(), (0, 0));
        let mut left = rows;
        while at < end {
            let damaged = "the header of a page is damaged";
            let page = self.page(at, end).ok_or(damaged)?;
            let behind = page.end - at;
            at = page.end;
            left = left
                .checked_sub(page.rows)
                .ok_or("it has more values than rows")?;
            pages.push_back((page.rows, page.size));
            sum = (sum.0 + page.rows, sum.1 + page.size);
            while let Some(first) = pages.front()
                && sum.0 - first.0 >= batch
            {
                sum = (sum.0 - first.0, sum.1 - first.1);
                pages.pop_front();
            }
            if sum.1 > MAX_BYTES {
                return Err("its pages have more than 256 MiB at once");
            }
            // Columns may share their pages, each of which takes some time.
            let cost = page.size.max(behind).max(1 << 12);
            *work = work
                .checked_sub(cost)
                .ok_or("its pages have more than 1,024 times the bytes of the file")?;
        }
        match left {
            0 => Ok(()),
            _ => Err("it has fewer values than rows"),
        }
    }

    /// Reads the header of a page that ends at `end` at most.
    fn page(&mut self, at: u64, end: u64) -> Option<Page> {
        let (header, behind) = Header::read(at, end, |at, len| self.read(at, len).ok())?;
        let natural = |note| header.natural(note).map(u64::from);
        let behind = behind.checked_add(natural(Note::Stored)?)?;
        let is_data = matches!(natural(Note::PageType)?, 0 | 3);
        (behind <= end).then_some(Page {
            end: behind,
            size: natural(Note::Size)?.max(natural(Note::Stored)?),
            rows: if is_data { natural(Note::Values)? } else { 0 },
        })
    }
}

/// What the header of a page states.
struct Page {
    /// Where the next one begins.
    end: u64,
    size: u64,
    rows: u64,
}
