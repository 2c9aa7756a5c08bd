//! The functions over Parquet files that are made to mislead, to end or to fill the process.

#[path = "../../../crates/mldsa-archive/tests/archive/hand.rs"]
mod hand;

use std::fs;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray,
    Int64Array, RecordBatch, StringArray, StructArray, new_null_array,
};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::DataType;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, Encoding};
use datafusion::parquet::file::metadata::ParquetMetaDataReader;
use datafusion::parquet::file::properties::{WriterProperties, WriterVersion};
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use datafusion::parquet::record::Field;
use datafusion::prelude::{SessionConfig, SessionContext};
use mldsa_core::{AnyVerifyingKey, Context, MlDsa44, Randomness, SigningKey};

use hand::{NAMES, Page, Struct, element, file, footer, group, number, plain, same, wrapping};

const ALL: &str = "SELECT key, message, signature, mldsa_verify(key, message, signature) AS valid, \
                   mldsa_reason(key, message, signature) AS reason, mldsa_mu(key, message) AS mu FROM rows";

fn sign(seed: u8, message: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let key = SigningKey::<MlDsa44>::from_seed(&[seed; 32]);
    let signature = key.sign_with_context(message, Context::EMPTY, Randomness::Deterministic);
    let public = key.verifying_key().as_ref().to_vec();
    (public, signature.unwrap().as_ref().to_vec())
}

/// Runs a query over bytes in a task of its own, and returns its rows or its error. A panic ends the test.
async fn query(bytes: &[u8], batch_rows: usize, sql: &str) -> Result<RecordBatch, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let sql = sql.to_owned();
    let run = async move {
        let config = SessionConfig::new().with_target_partitions(2);
        let mut context = SessionContext::new_with_config(config.with_batch_size(batch_rows));
        dataengines::register(&mut context)?;
        dataengines::register_parquet(&context, "rows", &path).await?;
        let frame = context.sql(&sql).await?;
        let schema = Arc::clone(frame.schema().inner());
        Ok(concat_batches(&schema, &frame.collect().await?)?)
    };
    let run = tokio::spawn(run).await;
    run.expect("no panic")
        .map_err(|error: datafusion::error::DataFusionError| error.to_string())
}

async fn refused(bytes: &[u8], sql: &str, why: &str) {
    let error = query(bytes, 8192, sql).await.expect_err(why);
    assert!(error.contains(why), "{why}: {error}");
}

type Row = [Option<Vec<u8>>; 3];

/// Checks the verdict of each row of [`ALL`] against a verification of its bytes, and returns how many are valid.
fn check(batch: &RecordBatch) -> usize {
    let mut valid = 0;
    for (row, cells) in cells(batch).iter().enumerate() {
        let expected = match cells {
            [Some(key), Some(message), Some(signature)] => AnyVerifyingKey::from_bytes(key)
                .is_ok_and(|key| {
                    key.verify_with_context(message, Context::EMPTY, signature)
                        .is_ok()
                }),
            _ => false,
        };
        let found = batch.column(3).as_boolean();
        assert!(
            found.is_valid(row) && found.value(row) == expected,
            "row {row}"
        );
        assert_eq!(batch.column(4).is_null(row), expected, "row {row}");
        valid += usize::from(expected);
    }
    valid
}

fn cells(batch: &RecordBatch) -> Vec<Row> {
    let columns = [0, 1, 2].map(|n| cast(batch.column(n), &DataType::Binary).unwrap());
    let cell = |column: &ArrayRef, row: usize| {
        let is_there = column.is_valid(row);
        is_there.then(|| column.as_binary::<i32>().value(row).to_vec())
    };
    let rows = 0..batch.num_rows();
    rows.map(|row| columns.each_ref().map(|column| cell(column, row)))
        .collect()
}

/// Reads the rows by the path of `parquet` that has no Arrow; `None` if it finds an error or panics.
fn read(bytes: &[u8]) -> Option<Vec<Row>> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let read = || {
        let reader = SerializedFileReader::new(bytes).ok()?;
        let rows = reader.get_row_iter(None).ok()?;
        let row = |row: datafusion::parquet::record::Row| {
            let cell = |name: &str| {
                let (_, field) = row.get_column_iter().find(|(found, _)| *found == name)?;
                match field {
                    Field::Bytes(bytes) => Some(Some(bytes.data().to_vec())),
                    Field::Null => Some(None),
                    _ => None,
                }
            };
            Some([cell(NAMES[0])?, cell(NAMES[1])?, cell(NAMES[2])?])
        };
        rows.map(|read| row(read.ok()?)).collect::<Option<Vec<_>>>()
    };
    std::panic::catch_unwind(read).ok().flatten()
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Rows of which some are valid, and some have nulls in each column.
fn rows() -> RecordBatch {
    let rows = (0..24_u8).map(|n| {
        let (key, signature) = sign(n % 5, &[n; 40]);
        let message = vec![if n % 7 == 3 { 0 } else { n }; 40];
        let keep = |at: u8, value| Some(value).filter(|_| n % 12 != at);
        [keep(9, key), keep(10, message), keep(11, signature)]
    });
    let rows: Vec<Row> = rows.collect();
    let column = |n: usize| {
        Arc::new(BinaryArray::from_iter(
            rows.iter().map(|row| row[n].as_deref()),
        )) as ArrayRef
    };
    RecordBatch::try_from_iter_with_nullable(
        NAMES
            .iter()
            .enumerate()
            .map(|(n, name)| (*name, column(n), true)),
    )
    .unwrap()
}

fn written(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// Writes rows in a form that is drawn.
fn drawn(random: &mut Random, batch: &RecordBatch) -> Vec<u8> {
    let encodings = [
        Encoding::PLAIN,
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
    ];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let mut properties = WriterProperties::builder()
        .set_writer_version(versions[random.below(2)])
        .set_compression(codecs[random.below(codecs.len())])
        .set_data_page_row_count_limit(1 + random.below(24))
        .set_write_batch_size(1 + random.below(8))
        .set_max_row_group_row_count(Some(1 + random.below(24)));
    for name in NAMES {
        properties = properties
            .set_column_dictionary_enabled(name.into(), random.below(2) == 0)
            .set_column_encoding(name.into(), encodings[random.below(3)]);
    }
    written(batch, properties.build())
}

/// Bytes that numbers begin or end with, and the types of the compact protocol.
const BYTES: [u8; 16] = [
    0, 1, 2, 4, 5, 8, 12, 0x15, 0x19, 0x1c, 0x7f, 0x80, 0xf9, 0xfc, 0xfe, 0xff,
];

/// Changes up to four places of a file, half of them in its footer, or cuts it.
fn mutate(random: &mut Random, file: &mut Vec<u8>) {
    let end = file.len() - 8;
    let len = u32::from_le_bytes([file[end], file[end + 1], file[end + 2], file[end + 3]]);
    for _ in 0..=random.below(4) {
        let part = match random.below(2) {
            0 => end - len as usize..end,
            _ => 4..end,
        };
        let at = part.start + random.below(part.len());
        match random.below(5) {
            0 | 1 => file[at] ^= 1 << random.below(8),
            2 | 3 => file[at] = BYTES[random.below(BYTES.len())],
            _ => {
                let last = (at + 1 + random.below(6)).min(end);
                file[at..last].fill(0xff);
            }
        }
    }
    if random.below(20) == 0 {
        file.drain(4 + random.below(100)..200);
    }
}

/// Held by tests of which one counts the memory, and the others take 2 GiB.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Returns the most memory that this process had since it was counted anew, in MiB; 0 where that is not known.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse::<u64>().unwrap() >> 10)
}

/// Whatever the bytes are, there is an error or the verdict of each row, which is that of its bytes; and these are those
/// that another reader finds. `MLDSA_FILES` and `MLDSA_SEED` are for more of them.
#[tokio::test]
async fn changed_files_have_right_verdicts_or_an_error() {
    let _alone = ALONE.lock().await;
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().unwrap());
    let (files, seed) = (number("MLDSA_FILES", 600), number("MLDSA_SEED", 60));
    let (mut random, rows) = (Random(seed), rows());
    let all = query(&written(&rows, WriterProperties::default()), 8192, ALL)
        .await
        .unwrap();
    let signed = check(&all);
    assert!((12..24).contains(&signed));
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = memory();
    let (mut read_files, mut compared, mut refused) = (0, 0, 0);
    for n in 0..files {
        let mut bytes = drawn(&mut random, &rows);
        mutate(&mut random, &mut bytes);
        match query(&bytes, [1, 7, 8192][random.below(3)], ALL).await {
            Ok(batch) => {
                read_files += 1;
                assert!(
                    check(&batch) <= signed,
                    "seed {seed}, file {n}: more are valid"
                );
                if let Some(mut other) = read(&bytes) {
                    compared += 1;
                    let mut found = cells(&batch);
                    // Row groups are read side by side.
                    found.sort();
                    other.sort();
                    assert!(other == found, "seed {seed}, file {n}: other bytes");
                }
            }
            Err(_) => refused += 1,
        }
        let more = memory().saturating_sub(before);
        assert!(more < 1024, "seed {seed}, file {n}: {more} MiB");
    }
    println!(
        "{files} files of seed {seed}: {read_files} read, of which {compared} have the bytes of another reader; {refused} refused"
    );
    println!("at most {} MiB", memory());
}

/// What a footer states neither reserves memory nor recurses nor keeps the process busy.
#[tokio::test]
async fn footers_are_walked_before_they_are_parsed() {
    let damaged = "the footer is damaged, or has fields that this program does not know";
    let many = [vec![0xfc], number((1 << 31) - 1)].concat();
    let schema = |elements: &[Vec<u8>]| {
        let columns = NAMES.map(|name| element(name, Some(0), None));
        let all = [
            vec![element("root", None, Some(4))],
            columns.to_vec(),
            elements.to_vec(),
        ]
        .concat();
        Struct::default()
            .i32(1, 1)
            .list(2, 12, &all)
            .i64(3, 0)
            .list(4, 12, &[])
    };
    let leaf = || element("x", Some(0), None);
    let mut deep = vec![element("g", Some(0), Some(1)); 100_000];
    deep.push(leaf());
    for of in [
        footer(0, &[]).field(4, 9, &many),
        footer(0, &[]).field(19, 9, &[vec![0xf1], number((1 << 31) - 1)].concat()),
        schema(&[element("g", Some(0), Some((1 << 31) - 1)), leaf()]),
        schema(&deep),
    ] {
        refused(&file(&[], &of.end()), ALL, damaged).await;
    }
    // An index of pages with 2^31 - 1 entries: the parser reads it before anything else.
    let whole = written(&rows(), WriterProperties::default());
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(whole.clone()))
        .unwrap();
    let column = metadata.row_group(0).column(0);
    for at in [column.column_index_offset(), column.offset_index_offset()] {
        let (mut bytes, at) = (whole.clone(), at.unwrap() as usize);
        let stated = [&[0x19][..], &many].concat();
        bytes[at..at + stated.len()].copy_from_slice(&stated);
        refused(&bytes, ALL, "an index of pages is damaged").await;
    }
}

/// Many columns that share an index do not make it read again and again.
#[tokio::test]
async fn indexes_have_no_more_bytes_than_the_file() {
    let place = Struct::default().i64(1, 4).i32(2, 9).i64(3, 0).end();
    let index = Struct::default().list(1, 12, &vec![place; 1000]).end();
    let path = |name: &str| [number(name.len() as u64), name.as_bytes().to_vec()].concat();
    let chunk = |name: &str| {
        let column = Struct::default().i32(1, 6).list(2, 5, &[number(0)]);
        let column = column.list(3, 8, &[path(name)]).i32(4, 0).i64(5, 0);
        let column = column.i64(6, 0).i64(7, 0).i64(9, 4).end();
        let chunk = Struct::default().i64(2, 4).structure(3, &column);
        chunk.i64(4, 4).i32(5, index.len() as i64).end()
    };
    let group = Struct::default().list(1, 12, &NAMES.map(chunk));
    let group = group.i64(2, 0).i64(3, 0).end();
    let bytes = file(&index, &footer(0, &[group]).end());
    refused(&bytes, ALL, "more bytes than the file").await;
}

/// What pages state is bounded by the bytes that are there, and so is what they may have at once.
#[tokio::test]
async fn sizes_are_bounded_before_they_are_reserved() {
    let _alone = ALONE.lock().await;
    let page = |size| Page {
        size,
        ..plain(&[b""])
    };
    for codec in [0, 1, 2, 4, 5, 6, 7] {
        let column = || vec![page((1 << 31) - 48)];
        let bytes = group(1, codec, &[column(), column(), column()]);
        refused(&bytes, ALL, "more than 256 MiB at once").await;
    }
    let of = |rows: u64| group(rows as i64, 0, &[(); 3].map(|()| same(b"", rows)));
    refused(&of(20_000_000), ALL, "it states 20000000 rows").await;
    let found = query(&of(60_000), 8192, ALL).await.unwrap();
    assert_eq!((found.num_rows(), check(&found)), (60_000, 0));
    // 32 GiB of values in a dictionary of one.
    let long = vec![7; 1 << 22];
    let bytes = group(
        8192,
        0,
        &[same(b"", 8192), same(&long, 8192), same(b"", 8192)],
    );
    let error = query(&bytes, 8192, ALL).await.unwrap_err();
    assert!(error.contains("overflow"), "{error}");
}

/// A row is verified with its own bytes, however many there are before it.
#[tokio::test]
async fn a_row_has_its_own_bytes() {
    let _alone = ALONE.lock().await;
    for rows in [1, 7, 8192] {
        let found = query(&wrapping(40, 3000, &sign), rows, ALL).await.unwrap();
        assert_eq!(check(&found), 39);
        assert!(!found.column(3).as_boolean().value(39));
    }
    let error = query(&wrapping(4096, (1 << 32) - 22, &sign), 8192, ALL)
        .await
        .unwrap_err();
    assert!(error.contains("overflow"), "{error}");
}

/// Types that the functions do not take, columns in groups, and schemas of Arrow that ask for what is not safe.
#[tokio::test]
async fn types_are_refused_by_name() {
    let rows = rows();
    let with = |name: &str, column: ArrayRef| {
        let schema = rows.schema();
        let columns = schema.fields().iter().zip(rows.columns());
        let columns = columns.map(|(field, old)| match field.name() == name {
            true => (field.name().clone(), Arc::clone(&column), true),
            false => (field.name().clone(), Arc::clone(old), true),
        });
        let columns: Vec<_> = columns.collect();
        written(
            &RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
            WriterProperties::default(),
        )
    };
    let long: ArrayRef = Arc::new(Int64Array::from(vec![1; 24]));
    refused(
        &with("key", Arc::clone(&long)),
        ALL,
        "column \"key\" has type Int64",
    )
    .await;
    refused(
        &with("message", Arc::new(BooleanArray::from(vec![true; 24]))),
        ALL,
        "column \"message\" has type Boolean",
    )
    .await;
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"; 24]));
    refused(
        &with("signature", Arc::clone(&text)),
        ALL,
        "column \"signature\" has type Utf8",
    )
    .await;
    let inner = StructArray::try_from(vec![("key", Arc::clone(rows.column(0)))]).unwrap();
    refused(&with("key", Arc::new(inner)), ALL, "No field named key").await;
    let views: ArrayRef = Arc::new(BinaryViewArray::from_iter(
        rows.column(1).as_binary::<i32>().iter(),
    ));
    refused(
        &with("message", views),
        ALL,
        "it asks for \"message\" as BinaryView",
    )
    .await;
    let large = cast(rows.column(1), &DataType::LargeBinary).unwrap();
    refused(
        &with("message", large),
        ALL,
        "it asks for \"message\" as LargeBinary",
    )
    .await;
    // Dictionaries, texts and nulls are taken.
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Binary));
    let dictionary: ArrayRef = cast(rows.column(0), &dictionary).unwrap();
    let found = query(&with("key", dictionary), 7, ALL).await.unwrap();
    assert!(check(&found) > 12);
    for name in NAMES {
        for kind in [
            DataType::Binary,
            DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Binary)),
        ] {
            let found = query(&with(name, new_null_array(&kind, 24)), 7, ALL)
                .await
                .unwrap();
            assert_eq!(check(&found), 0, "{name}");
        }
    }
    let empty: DictionaryArray<datafusion::arrow::datatypes::Int32Type> =
        vec![Some(""); 24].into_iter().collect();
    assert_eq!(
        check(
            &query(&with("message", Arc::new(empty)), 7, ALL)
                .await
                .unwrap()
        ),
        0
    );
}
