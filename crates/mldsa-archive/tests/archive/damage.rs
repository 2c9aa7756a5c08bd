//! Damaged files.

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use crate::hand::{group, same};
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

/// A long text that many rows have is in memory once.
#[cfg(unix)]
#[test]
fn a_value_is_in_memory_once() {
    let folder = Folder::new(1, &[]);
    let columns = [
        same(b"", 3000),
        same(&[b'a'; 1 << 19], 3000),
        same(b"", 3000),
    ];
    fs::write(folder.path("long.parquet"), group(3000, 0, &columns)).unwrap();
    let mut limited = Command::new("sh");
    limited.args([
        "-c",
        "ulimit -v 800000; exec \"$0\" verify --threads 1 long.parquet",
    ]);
    limited.arg(env!("CARGO_BIN_EXE_mldsa-archive"));
    let run = limited.current_dir(folder.path("")).output().unwrap();
    assert_eq!(count(&run, "public_key_length"), 3000, "{run:?}");
}
