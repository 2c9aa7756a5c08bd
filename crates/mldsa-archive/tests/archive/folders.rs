//! Folders, names and formats.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};

use crate::tool::{Folder, VERIFY, count, errors, hex, texts};

const CONTEXT: [&str; 3] = ["verify", "--context", "archive/v1"];

fn columns(columns: Vec<(&str, ArrayRef)>) -> [RecordBatch; 1] {
    [RecordBatch::try_from_iter(columns).unwrap()]
}

/// A folder is its files of data, each once by whatever name.
#[test]
fn a_folder_is_its_files() {
    let folder = Folder::new(20, &["--bad", "0"]);
    fs::create_dir_all(folder.path("all/part=1/_temporary")).unwrap();
    fs::create_dir_all(folder.path("all/empty")).unwrap();
    let bytes = fs::read(folder.path("data.parquet")).unwrap();
    for name in ["a.parquet", "part=1/b.parquet"] {
        fs::write(folder.path("all").join(name), &bytes).unwrap();
    }
    for name in [
        "_SUCCESS",
        "_metadata.parquet",
        ".c.parquet",
        "part=1/_temporary/d.parquet",
    ] {
        fs::write(folder.path("all").join(name), "no data").unwrap();
    }
    let run = |files: &[&str]| folder.run(&[&CONTEXT[..], files].concat());
    let all = run(&["all"]);
    assert_eq!(
        (all.status.code(), count(&all, "valid")),
        (Some(0), 40),
        "{all:?}"
    );
    fs::hard_link(folder.path("data.parquet"), folder.path("link.parquet")).unwrap();
    fs::copy(folder.path("data.parquet"), folder.path("a[1].parquet")).unwrap();
    let same = [
        "a[1].parquet",
        "a*.parquet",
        "data.parquet",
        "./data.parquet",
        "all/../data.parquet",
        "link.parquet",
        "all",
        "all/a.parquet",
    ];
    assert_eq!(count(&run(&same), "rows"), 80);
    let none = run(&["missing-*.parquet"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(errors(&none).contains("missing-*.parquet: there is no such file"));
    let empty = run(&["all/empty", "data.parquet"]);
    assert!(
        errors(&empty).contains("all/empty: it is no regular file"),
        "{empty:?}"
    );
    assert_eq!((empty.status.code(), count(&empty, "rows")), (Some(2), 20));
}

/// The name of a folder has a column, which the file then does not have.
#[test]
fn names_of_folders_have_columns() {
    let folder = Folder::new(20, &["--bad", "0", "--keys", "1", "--sets", "ML-DSA-44"]);
    let made = folder.read("data.parquet").remove(0);
    let of = |name: &str| Arc::clone(made.column_by_name(name).unwrap());
    let signed = columns(vec![
        ("message", of("message")),
        ("signature", of("signature")),
    ]);
    fs::create_dir_all(folder.path("all/validator=7/set=ML-DSA-44")).unwrap();
    fs::create_dir_all(folder.path("all/validator=8")).unwrap();
    folder.write("all/validator=7/set=ML-DSA-44/a.parquet", &signed);
    folder.write("all/validator=8/b.parquet", &signed);
    let key: ArrayRef = Arc::new(of("key").slice(0, 1));
    let ids: [ArrayRef; 2] = [
        Arc::new(Int64Array::from(vec![7])),
        Arc::new(StringArray::from(vec!["7"])),
    ];
    for id in ids {
        folder.write(
            "keys",
            &columns(vec![("validator", id), ("key", Arc::clone(&key))]),
        );
        fs::rename(folder.path("keys"), folder.path("keys.parquet")).unwrap();
        let keys = ["--keys", "keys.parquet", "--id-column", "validator", "all"];
        let run = folder.run(&[&CONTEXT[..], &keys].concat());
        assert_eq!(count(&run, "valid"), 20, "{run:?}");
        assert_eq!(count(&run, "unknown_key"), 20, "{run:?}");
        let set = ["--set-column", "set", "all/validator=7"];
        let run = folder.run(&[&CONTEXT[..], &keys[..4], &set].concat());
        assert_eq!(count(&run, "valid"), 20, "{run:?}");
    }
    fs::create_dir(folder.path("context=x")).unwrap();
    fs::copy(
        folder.path("data.parquet"),
        folder.path("context=x/c.parquet"),
    )
    .unwrap();
    let run = folder.run(&[&VERIFY[..], &["context=x/c.parquet"]].concat());
    assert!(
        errors(&run).contains("the file and its path have a column \"context\""),
        "{run:?}"
    );
}

/// What a file is instead of what it should be is named.
#[test]
fn other_formats_are_named() {
    let folder = Folder::new(20, &["--bad", "0"]);
    for (name, bytes, why) in [
        (
            "a.parquet",
            &b"PARE........PARE"[..],
            "it is an encrypted Parquet file",
        ),
        (
            "b.parquet",
            b"PAR1........PARE",
            "it is an encrypted Parquet file",
        ),
        (
            "c.csv.gz",
            b"\x1f\x8b\x08",
            "it is compressed with gzip: decompress it first",
        ),
        (
            "d.jsonl",
            b"\x28\xb5\x2f\xfd",
            "it is compressed with zstd: decompress it first",
        ),
        ("e.txt", b"key,message", "it is neither Parquet nor"),
        (
            "f.json",
            b"\xef\xbb\xbf\n [{}]",
            "it is a JSON array, not one object a line",
        ),
        ("g.parquet", b"PAR1", "it is no whole Parquet file"),
        ("h.parquet", b"", "it is neither Parquet nor"),
    ] {
        fs::write(folder.path(name), bytes).unwrap();
        let run = folder.run(&[&CONTEXT[..], &[name, "data.parquet"]].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert!(errors(&run).contains(&format!("{name}: {why}")), "{run:?}");
        assert_eq!(count(&run, "valid"), 20, "{run:?}");
    }
}

/// A mark of the byte order is no part of the first line, and of no other.
#[test]
fn a_text_may_begin_with_a_mark() {
    let folder = Folder::new(3, &["--bad", "0"]);
    let made = folder.read("data.parquet");
    let names = ["key", "message", "signature"];
    let cells = names.map(|name| hex(&made, name));
    let cell = |row: usize| cells.each_ref().map(|column| column[row].clone().unwrap());
    let json = |row| {
        let [key, message, signature] = cell(row);
        format!("{{\"key\":\"{key}\",\"message\":\"{message}\",\"signature\":\"{signature}\"}}\n")
    };
    let json: Vec<_> = (0..3).map(json).collect();
    let csv = (0..3).map(|row| cell(row).join(",") + "\n");
    let csv: Vec<_> = [names.join(",") + "\n"].into_iter().chain(csv).collect();
    for (name, lines) in [("data.jsonl", json), ("data.csv", csv)] {
        for (marked, valid) in [(0, 3), (lines.len() - 1, 2)] {
            let mut lines = lines.clone();
            lines[marked].insert(0, '\u{feff}');
            fs::write(folder.path(name), lines.concat()).unwrap();
            let run = folder.run(&[&CONTEXT[..], &[name]].concat());
            assert_eq!(count(&run, "valid"), valid, "{name} {marked}: {run:?}");
        }
    }
}

/// What is written of a key or a file is of that one alone.
#[test]
fn labels_are_of_one_thing() {
    let folder = Folder::new(3, &["--bad", "0", "--keys", "1"]);
    let made = folder.read("data.parquet").remove(0);
    let of = |name: &str| Arc::clone(made.column_by_name(name).unwrap());
    let ids: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"\xff\x00", b"ff00", b"0xff00"]));
    let signed = vec![
        ("id", Arc::clone(&ids)),
        ("message", of("message")),
        ("signature", of("signature")),
    ];
    folder.write("rows", &columns(signed));
    folder.write(
        "keys.parquet",
        &columns(vec![("id", ids), ("key", of("key"))]),
    );
    let name = if cfg!(target_os = "linux") {
        "a\\b.parquet"
    } else {
        "a.parquet"
    };
    fs::rename(folder.path("rows"), folder.path(name)).unwrap();
    let keys = [
        "--keys",
        "keys.parquet",
        "--id-column",
        "id",
        "--out",
        "out",
        name,
    ];
    let run = folder.run(&[&CONTEXT[..], &keys].concat());
    assert_eq!(count(&run, "valid"), 3, "{run:?}");
    assert_eq!(count(&run, "keys"), 3, "{run:?}");
    let out = folder.read("out");
    let expected = ["0xff00", "ff00", "0x307866663030"].map(|label| Some(label.to_owned()));
    assert_eq!(texts(&out, "key"), expected);
    if cfg!(target_os = "linux") {
        assert_eq!(texts(&out, "file")[0].as_deref(), Some("a\\\\b.parquet"));
    }
}
