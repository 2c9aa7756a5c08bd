//! Formats, columns, tables of keys, and exit codes.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, UInt64Array};
use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::tool::{Folder, VERIFY, count, errors, expect_reasons, hex, read, rows, texts};

/// Row groups, threads and batches of any size: verdicts are those that the rows were made for.
#[test]
fn parquet_has_the_expected_reasons() {
    let sets = "ML-DSA-44,ML-DSA-65,ML-DSA-87";
    let folder = Folder::new(1500, &["--bad", "200", "--sets", sets]);
    let made = folder.read("data.parquet");
    let mut outputs = Vec::new();
    for (n, options) in [
        ["--threads", "1"],
        ["--threads", "5"],
        ["--batch-rows", "7"],
    ]
    .iter()
    .enumerate()
    {
        let out = format!("verdicts{n}.parquet");
        let end = ["--out", &out, "data.parquet"];
        let run = folder.run(&[&VERIFY[..], options, &end].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        let found = folder.read(&out);
        expect_reasons(&found, &made);
        let expected = texts(&made, "expected");
        let mut classes = BTreeMap::<&str, usize>::new();
        for class in expected.iter().flatten() {
            *classes.entry(class).or_default() += 1;
        }
        assert_eq!(classes.len(), 11);
        for (class, of_class) in classes {
            assert_eq!(count(&run, class), of_class);
        }
        assert_eq!(count(&run, "rows"), 1500);
        assert_eq!(
            count(&run, "valid"),
            expected.iter().filter(|one| one.is_none()).count()
        );
        // The keys that are one byte short are others.
        assert!(count(&run, "keys") >= 9);
        let numbers = found.iter().flat_map(|batch| {
            batch
                .column_by_name("row")
                .unwrap()
                .as_primitive::<UInt64Type>()
                .values()
                .to_vec()
        });
        assert!(numbers.eq(0..1500));
        assert!(!folder.path(&format!("{out}.parts")).exists());
        outputs.push(fs::read(folder.path(&out)).unwrap());
        let without = folder.run(&[&VERIFY[..], options, &["data.parquet"]].concat());
        assert_eq!(without.stdout, run.stdout);
    }
    assert!(
        outputs[0] == outputs[1],
        "the output depends on the threads"
    );
}

/// The encodings of byte strings, in pages of both versions.
#[test]
fn every_encoding_is_read() {
    let folder = Folder::new(700, &["--bad", "200"]);
    let made = folder.read("data.parquet");
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for encoding in [
            Encoding::PLAIN,
            Encoding::DELTA_LENGTH_BYTE_ARRAY,
            Encoding::DELTA_BYTE_ARRAY,
        ] {
            let properties = WriterProperties::builder().set_writer_version(version);
            let mut properties = properties.set_data_page_row_count_limit(150);
            for name in ["set", "key", "message", "context", "signature"] {
                properties = properties
                    .set_column_dictionary_enabled(name.into(), false)
                    .set_column_encoding(name.into(), encoding);
            }
            folder.write_with("coded.parquet", &made, properties.build());
            let options = ["--batch-rows", "99", "--out", "out", "coded.parquet"];
            let run = folder.run(&[&VERIFY[..], &options].concat());
            assert_eq!(run.status.code(), Some(2), "{run:?}");
            expect_reasons(&folder.read("out"), &made);
        }
    }
}

/// JSON lines and CSV of the same rows, with a line of nonsense.
#[test]
fn text_has_the_expected_reasons() {
    let folder = Folder::new(300, &["--bad", "300"]);
    let made = folder.read("data.parquet");
    let names = ["key", "message", "context", "signature"];
    let columns = names.map(|name| hex(&made, name));
    let sets = texts(&made, "set");
    let (mut json, mut csv) = (
        String::new(),
        String::from("note,set,key,message,context,signature\n"),
    );
    for row in 0..rows(&made) {
        let cell = |value: &Option<String>| value.clone().unwrap_or_default();
        let quoted =
            |value: &Option<String>| value.as_ref().map_or("null".into(), |v| format!("\"{v}\""));
        let fields = names.iter().zip(&columns);
        let fields = fields.map(|(name, column)| format!("\"{name}\":{}", quoted(&column[row])));
        let fields: Vec<_> = fields.collect();
        json += &format!(
            "{{\"set\":{},\"note\":[1],{}}}\n",
            quoted(&sets[row]),
            fields.join(",")
        );
        let cells: Vec<_> = columns.iter().map(|column| cell(&column[row])).collect();
        csv += &format!("\"a,b\",{},{}\n", cell(&sets[row]), cells.join(","));
    }
    json += "nonsense";
    csv += "nonsense";
    fs::write(folder.path("data.jsonl"), json).unwrap();
    fs::write(folder.path("data.csv"), csv).unwrap();
    let mut expected = texts(&made, "expected");
    expected.push(Some("malformed_row".into()));
    for name in ["data.jsonl", "data.csv"] {
        let run = folder.run(&[&VERIFY[..], &["--out", "out.parquet", name]].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        assert_eq!(
            texts(&folder.read("out.parquet"), "reason"),
            expected,
            "{name}"
        );
    }
}

#[test]
fn the_exit_code_is_that_of_batch_verify() {
    let good = Folder::new(40, &["--bad", "0"]);
    let code = |folder: &Folder, options: &[&str]| {
        let run = folder.run(&[&["verify", "data.parquet"], options].concat());
        run.status.code().unwrap()
    };
    assert_eq!(code(&good, &["--context", "archive/v1"]), 0);
    assert_eq!(code(&good, &["--context-column", "context"]), 0);
    // Another context: every row is invalid.
    assert_eq!(code(&good, &[]), 1);
    assert_eq!(code(&good, &["--set", "ML-DSA-87"]), 1);
    assert_eq!(
        code(
            &Folder::new(40, &["--bad", "1000"]),
            &["--context", "archive/v1"]
        ),
        2
    );
    let made = good.read("data.parquet");
    good.write("data.parquet", &[made[0].slice(0, 0)]);
    assert_eq!(code(&good, &[]), 2);
    let empty = good.run(&["verify", "data.parquet", "--out", "out.parquet"]);
    assert_eq!(empty.status.code(), Some(2));
    assert_eq!(rows(&good.read("out.parquet")), 0);
}

#[test]
fn wrong_columns_are_named() {
    let folder = Folder::new(20, &["--bad", "0"]);
    for (options, error) in [
        (
            ["--key-column", "set"],
            "column \"set\" has type Utf8View, expected Binary",
        ),
        (["--signature-column", "sig"], "there is no column \"sig\""),
        (
            ["--set-column", "key"],
            "column \"key\" has type BinaryView, expected Utf8",
        ),
    ] {
        let run = folder.run(&[&["verify", "data.parquet"], &options[..]].concat());
        assert_eq!(run.status.code(), Some(2));
        assert!(errors(&run).contains("data.parquet: "), "{run:?}");
        assert!(errors(&run).contains(error), "{run:?}");
    }
}

/// A name is that of one column, whole.
#[test]
fn names_are_whole_and_unique() {
    let folder = Folder::new(20, &["--bad", "0"]);
    let made = folder.read("data.parquet").remove(0);
    let write = |file: &str, names: [&str; 4]| {
        let of = |name: &str| Arc::clone(made.column_by_name(name).unwrap());
        let columns = ["key", "message", "key", "signature"].map(of);
        folder.write(
            file,
            &[RecordBatch::try_from_iter(names.into_iter().zip(columns)).unwrap()],
        );
        let options = ["--key-column", "tx.key", "--context", "archive/v1", file];
        folder.run(&[&["verify"], &options[..]].concat())
    };
    let run = write("dot.parquet", ["tx.key", "message", "tx", "signature"]);
    assert_eq!(count(&run, "valid"), 20, "{run:?}");
    let run = write("two.parquet", ["tx.key", "message", "message", "signature"]);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let error = "two.parquet: several columns have the name \"message\"";
    assert!(errors(&run).contains(error), "{run:?}");
}

/// Rows that have ids of keys, and a table of keys in Parquet or in JSON lines.
#[test]
fn ids_are_joined_with_a_table() {
    let folder = Folder::new(60, &["--bad", "0"]);
    let made = folder.read("data.parquet");
    let keys = hex(&made, "key");
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    let id = |key: &Option<String>| distinct.iter().position(|one| one == key).unwrap() as i64 - 3;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(keys.iter().map(id)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(
        keys.iter().map(|key| id(key).to_string()),
    ));
    let made = &made[0];
    let of = |name: &str| Arc::clone(made.column_by_name(name).unwrap());
    let signed = [("message", of("message")), ("signature", of("signature"))];
    let batch = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    folder.write(
        "rows.parquet",
        &[batch(
            [&signed[..], &[("id", ids.clone()), ("name", names)]].concat(),
        )],
    );
    folder.write(
        "keys.parquet",
        &[batch(vec![("id", ids), ("key", of("key"))])],
    );
    let lines = distinct.iter().map(|key| {
        format!(
            "{{\"name\":\"{}\",\"key\":\"{}\"}}\n",
            id(key),
            key.as_deref().unwrap()
        )
    });
    fs::write(folder.path("keys.jsonl"), lines.collect::<String>()).unwrap();
    for (table, column) in [("keys.parquet", "id"), ("keys.jsonl", "name")] {
        let options = [
            "--keys",
            table,
            "--id-column",
            column,
            "--context",
            "archive/v1",
            "--out",
            "out.parquet",
        ];
        let run = folder.run(&[&["verify", "rows.parquet"], &options[..]].concat());
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!(count(&run, "keys"), distinct.len());
        let expected = keys.iter().map(|key| Some(id(key).to_string()));
        assert!(
            texts(&folder.read("out.parquet"), "key")
                .into_iter()
                .eq(expected)
        );
    }
    // Integers are not the texts of a table.
    let mixed = [
        "verify",
        "rows.parquet",
        "--keys",
        "keys.jsonl",
        "--id-column",
        "id",
    ];
    assert_eq!(folder.run(&mixed).status.code(), Some(2));
    let conflict = batch(vec![
        ("id", Arc::new(UInt64Array::from(vec![7, 7])) as ArrayRef),
        (
            "key",
            Arc::new(BinaryArray::from_iter_values([[0; 1312], [1; 1312]])),
        ),
    ]);
    folder.write("conflict.parquet", &[conflict]);
    let run = folder.run(&[
        "verify",
        "rows.parquet",
        "--keys",
        "conflict.parquet",
        "--id-column",
        "id",
    ]);
    assert!(
        errors(&run).contains("conflict.parquet: row 1 of the key table has another key"),
        "{run:?}"
    );
}

/// The same seed makes the same rows.
#[test]
fn made_rows_are_reproducible() {
    let folders = [(); 2].map(|()| Folder::new(30, &["--seed", "5"]));
    assert_eq!(
        read(&folders[0].path("data.parquet")),
        read(&folders[1].path("data.parquet"))
    );
    let other = Folder::new(30, &["--seed", "6"]);
    assert_ne!(
        hex(&other.read("data.parquet"), "key"),
        hex(&folders[0].read("data.parquet"), "key")
    );
}
