//! The file that is read is the one that was checked.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::SessionContext;

/// Writes a file of so many rows.
fn write(path: &Path, rows: i64) {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Returns how many rows of a file are read.
async fn rows(path: &str) -> usize {
    let context = SessionContext::new();
    let done = dataengines::register_parquet(&context, "rows", path).await;
    done.unwrap();
    context.table("rows").await.unwrap().count().await.unwrap()
}

/// What is no regular file is not opened, and no name is a pattern.
#[tokio::test]
async fn names_are_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let context = SessionContext::new();
    let name = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    File::create(name("*.parquet")).unwrap();
    for (path, why) in [
        (name("*.parquet"), "DataFusion reads this name as another"),
        ("file:///rows.parquet".to_owned(), "No such file"),
        (name(""), "it is no regular file"),
        (name("absent"), "absent"),
    ] {
        let error = dataengines::register_parquet(&context, "rows", &path)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    for bytes in [
        &b""[..],
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1\xff\xff\xff\xffPAR1",
        b"PAR1\0\0\0\0PAR1",
        b"PAR1\0\0\0\0PARE",
    ] {
        fs::write(name("rows.parquet"), bytes).unwrap();
        let found = dataengines::register_parquet(&context, "rows", &name("rows.parquet")).await;
        assert!(found.is_err(), "{bytes:?}");
    }
}

/// A name is the system's: it is neither an address nor resolved without its links.
#[cfg(unix)]
#[tokio::test]
async fn the_file_that_was_checked_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name);
    fs::create_dir_all(name("b/deep")).unwrap();
    std::os::unix::fs::symlink(name("b/deep"), name("link")).unwrap();
    for checked in ["b/rows.parquet", "file:rows.parquet", "a%20b #c.parquet"] {
        write(&name(checked), 24);
    }
    for other in ["rows.parquet", "a b #c.parquet"] {
        write(&name(other), 5);
    }
    // The other test has no names that are relative.
    std::env::set_current_dir(&folder).unwrap();
    for path in [
        "b/rows.parquet",
        "link/../rows.parquet",
        "file:rows.parquet",
        "a%20b #c.parquet",
    ] {
        assert_eq!(rows(path).await, 24, "{path}");
    }
}
