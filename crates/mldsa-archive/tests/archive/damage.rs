//! Damaged files.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, BinaryArray, DictionaryArray, FixedSizeBinaryArray, RecordBatch, StringArray,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;

use crate::tool::{Folder, VERIFY, count, errors};

/// A truncated file is named, and the others are verified.
#[test]
fn a_truncated_file_does_not_stop_the_others() {
    let folder = Folder::new(1100, &["--bad", "0"]);
    let bytes = fs::read(folder.path("data.parquet")).unwrap();
    fs::write(folder.path("cut.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    // The pages of the first row group are wiped, the footer is there.
    let mut wiped = bytes.clone();
    wiped[4..1_000_000].fill(0xff);
    fs::write(folder.path("wiped.parquet"), wiped).unwrap();
    fs::create_dir(folder.path("folder.parquet")).unwrap();
    let run = folder.run(&[&VERIFY[..], &["--out", "out/verdicts", "*.parquet"]].concat());
    assert!(errors(&run).contains("out/verdicts.parts"), "{run:?}");
    let run = folder.run(&[&VERIFY[..], &["--out", "verdicts", "*.parquet"]].concat());
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let text = errors(&run);
    for name in [
        "cut.parquet: ",
        "wiped.parquet, row group 0: ",
        "folder.parquet: ",
    ] {
        assert!(text.contains(name), "{name} is not in {text}");
    }
    assert!(!text.contains(" data.parquet"), "{text}");
    // All of the whole file, and the other row groups of the wiped one.
    let rows = count(&run, "rows");
    assert!((1100 + 500..2200).contains(&rows), "{run:?}");
    assert_eq!(count(&run, "valid"), rows);
}

/// Whatever the bytes of a file are, the run ends with an exit code, and never with "all valid" by an
/// accident in a file that lacks rows.
#[test]
fn damaged_bytes_never_end_the_process() {
    let folder = Folder::new(64, &["--bad", "0"]);
    let bytes = fs::read(folder.path("data.parquet")).unwrap();
    let footer = bytes.len() - 2000..bytes.len();
    for n in 0..60 {
        let mut damaged = bytes.clone();
        match n % 3 {
            0 => damaged.truncate(bytes.len() * n / 60),
            // Spread over the footer, which has lengths and types.
            1 => damaged[footer.start + n * 33] ^= 1 << (n % 8),
            _ => damaged[n * bytes.len() / 60] ^= 0x55,
        }
        fs::write(folder.path("damaged.parquet"), &damaged).unwrap();
        let run = folder.run(&[&VERIFY[..], &["damaged.parquet"]].concat());
        let code = run.status.code();
        assert!(matches!(code, Some(0..=2)), "{n}: {run:?}");
        assert!(code != Some(0) || count(&run, "rows") == 64, "{n}: {run:?}");
    }
}

/// Writes the file with a footer that has `more` rows in its first row group.
fn promise(folder: &Folder, name: &str, more: i64) {
    let bytes = fs::read(folder.path("data.parquet")).unwrap();
    let file = File::open(folder.path("data.parquet")).unwrap();
    let read = ParquetMetaDataReader::new().parse_and_finish(&file);
    let metadata = read.unwrap();
    let mut groups = metadata.row_groups().to_vec();
    let rows = groups[0].num_rows() + more;
    groups[0] = groups[0]
        .clone()
        .into_builder()
        .set_num_rows(rows)
        .build()
        .unwrap();
    let changed = ParquetMetaData::new(metadata.file_metadata().clone(), groups);
    // The pages stay; the new footer is behind the old one.
    let mut file = File::create(folder.path(name)).unwrap();
    file.write_all(&bytes).unwrap();
    ParquetMetaDataWriter::new(&mut file, &changed)
        .finish()
        .unwrap();
}

/// A row group with fewer rows than the footer says is named.
#[test]
fn the_promised_rows_are_there() {
    let folder = Folder::new(1100, &["--bad", "0"]);
    promise(&folder, "same.parquet", 0);
    promise(&folder, "more.parquet", 5);
    for out in [&[][..], &["--out", "out"]] {
        let run = |name| folder.run(&[&VERIFY[..], out, &[name]].concat());
        let same = run("same.parquet");
        assert_eq!(same.status.code(), Some(0), "{same:?}");
        let more = run("more.parquet");
        assert_eq!(more.status.code(), Some(2), "{more:?}");
        let text = errors(&more);
        let why = "more.parquet, row group 0: set: it has fewer values than rows";
        assert!(text.contains(why), "{text}");
        // None of the rows of a failed group is counted.
        assert_eq!(count(&more, "rows"), 1100 - 512, "{more:?}");
    }
}

/// Replaces bytes of a footer, which are there once, by others.
fn with_footer(bytes: &[u8], found: &[u8], other: &[u8]) -> Vec<u8> {
    let (rest, end) = bytes.split_at(bytes.len() - 8);
    let len = u32::from_le_bytes(end[..4].try_into().unwrap()) as usize;
    let (pages, footer) = rest.split_at(rest.len() - len);
    let places: Vec<_> = (0..len)
        .filter(|at| footer[*at..].starts_with(found))
        .collect();
    let [at] = places[..] else {
        panic!("{places:?}")
    };
    let footer = [&footer[..at], other, &footer[at + found.len()..]].concat();
    let len = (footer.len() as u32).to_le_bytes();
    [pages, &footer, &len, &end[4..]].concat()
}

/// Writes columns key, message and signature without the schema of Arrow.
fn write_plain(folder: &Folder, name: &str, [key, message, signature]: [Arc<dyn Array>; 3]) {
    let columns = [("key", key), ("message", message), ("signature", signature)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(1 << 30);
    let options = ArrowWriterOptions::new()
        .with_skip_arrow_metadata(true)
        .with_properties(properties.build());
    let file = File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Sizes that a file states do not decide how much memory is asked for.
#[test]
fn stated_sizes_never_end_the_process() {
    let folder = Folder::new(64, &["--bad", "0"]);
    let whole = fs::read(folder.path("data.parquet")).unwrap();
    // 64 rows, and one row group.
    let group = [0x16, 0x80, 0x01, 0x19, 0x1c];
    let groups = [0x16, 0x80, 0x01, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07];
    let bytes = with_footer(&whole, &group, &groups);
    fs::write(folder.path("groups.parquet"), bytes).unwrap();
    // The number of rows has another type, in whose bytes a checker would find one row group.
    let hidden = [0x18, 0x80, 0x01, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07];
    let bytes = with_footer(&whole, &group, &hidden);
    fs::write(folder.path("hidden.parquet"), bytes).unwrap();
    let of = |value: &'static [u8]| Arc::new(BinaryArray::from_vec(vec![value; 4096]));
    let fixed = FixedSizeBinaryArray::try_from_iter(core::iter::repeat_n(b"abcd", 4096)).unwrap();
    write_plain(
        &folder,
        "fixed.parquet",
        [Arc::new(fixed), of(b"m"), of(b"s")],
    );
    let bytes = fs::read(folder.path("fixed.parquet")).unwrap();
    let (short, long) = (
        [0x15, 0x0e, 0x15, 0x08],
        [0x15, 0x0e, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f],
    );
    fs::write(
        folder.path("fixed.parquet"),
        with_footer(&bytes, &short, &long),
    )
    .unwrap();
    for name in ["groups.parquet", "hidden.parquet", "fixed.parquet"] {
        let options = ["--context", "archive/v1", name, "data.parquet"];
        let run = folder.run(&[&["verify"], &options[..]].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert!(errors(&run).contains(name), "{run:?}");
        assert_eq!(count(&run, "valid"), 64, "{run:?}");
    }
}

/// A long text that many rows have is in memory once.
#[cfg(unix)]
#[test]
fn a_value_is_in_memory_once() {
    let folder = Folder::new(1, &[]);
    let of_rows = |array| {
        let keys = vec![0; 3000].into();
        Arc::new(DictionaryArray::<Int32Type>::new(keys, array)) as Arc<dyn Array>
    };
    let text = of_rows(Arc::new(StringArray::from(vec!["a".repeat(1 << 19)])));
    let empty = of_rows(Arc::new(BinaryArray::from_vec(vec![b""])));
    write_plain(&folder, "long.parquet", [empty.clone(), text, empty]);
    let mut limited = Command::new("sh");
    limited.args([
        "-c",
        "ulimit -v 800000; exec \"$0\" verify --threads 1 long.parquet",
    ]);
    limited.arg(env!("CARGO_BIN_EXE_mldsa-archive"));
    let run = limited.current_dir(folder.path("")).output().unwrap();
    assert_eq!(count(&run, "public_key_length"), 3000, "{run:?}");
}
