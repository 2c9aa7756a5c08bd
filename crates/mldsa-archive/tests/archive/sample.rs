//! Rows that another implementation signed.

use crate::tool::{Folder, VERIFY, count, expect_reasons, read, texts};

/// OpenSSL's signatures, twenty rows of each class of bad ones (`tests/data/make_sample.py`).
#[test]
fn rows_of_openssl_have_the_expected_reasons() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sample.parquet");
    let folder = Folder::new(1, &[]);
    let run = folder.run(&[&VERIFY[..], &["--out", "out.parquet", sample]].concat());
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let made = read(sample.as_ref());
    expect_reasons(&folder.read("out.parquet"), &made);
    assert_eq!(count(&run, "rows"), 2000);
    assert_eq!(count(&run, "valid"), 2000 - 11 * 20);
    for class in texts(&made, "expected").iter().flatten() {
        assert_eq!(count(&run, class), 20);
    }
}
