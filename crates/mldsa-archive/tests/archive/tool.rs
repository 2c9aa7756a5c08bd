//! The program, and the files that it reads and writes.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

/// A folder with `data.parquet`: rows of all classes in several row groups.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(rows: usize, options: &[&str]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        let rows = rows.to_string();
        let fixed = [
            "make",
            "data.parquet",
            "--group-rows",
            "512",
            "--rows",
            &rows,
        ];
        let keys: &[&str] = match options.contains(&"--keys") {
            true => &[],
            false => &["--keys", "9"],
        };
        let made = folder.run(&[&fixed[..], keys, options].concat());
        assert_eq!(made.status.code(), Some(0), "{made:?}");
        folder
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mldsa-archive"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<RecordBatch> {
        read(&self.path(name))
    }

    pub(crate) fn write(&self, name: &str, batches: &[RecordBatch]) {
        self.write_with(name, batches, WriterProperties::default());
    }

    pub(crate) fn write_with(&self, name: &str, batches: &[RecordBatch], of: WriterProperties) {
        let file = File::create(self.path(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(of)).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        writer.close().unwrap();
    }
}

/// Arguments that verify made rows.
pub(crate) const VERIFY: [&str; 5] = [
    "verify",
    "--set-column",
    "set",
    "--context-column",
    "context",
];

pub(crate) fn read(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    reader.map(Result::unwrap).collect()
}

/// A column of text of all batches.
pub(crate) fn texts(batches: &[RecordBatch], name: &str) -> Vec<Option<String>> {
    let columns = batches
        .iter()
        .map(|batch| batch.column_by_name(name).unwrap());
    columns
        .flat_map(|column| {
            column
                .as_string::<i32>()
                .iter()
                .map(|one| one.map(str::to_owned))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// A column of bytes of all batches, in hex; `None` for null.
pub(crate) fn hex(batches: &[RecordBatch], name: &str) -> Vec<Option<String>> {
    let encode = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let columns = batches
        .iter()
        .map(|batch| batch.column_by_name(name).unwrap());
    columns
        .flat_map(|column| {
            column
                .as_binary::<i32>()
                .iter()
                .map(|one| one.map(encode))
                .collect::<Vec<_>>()
        })
        .collect()
}

pub(crate) fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// The count of a line of the summary.
pub(crate) fn count(output: &Output, name: &str) -> usize {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |count| count.parse().unwrap())
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that each row has the reason that it was made for.
pub(crate) fn expect_reasons(found: &[RecordBatch], made: &[RecordBatch]) {
    assert_eq!(texts(found, "reason"), texts(made, "expected"));
    for batch in found {
        let valid = batch.column_by_name("valid").unwrap().as_boolean();
        let reason = batch.column_by_name("reason").unwrap();
        for row in 0..batch.num_rows() {
            assert_eq!(valid.value(row), reason.is_null(row));
        }
    }
}
