//! Runs that are ended and continued.

use core::time::Duration;
use std::fs::{self, File};
use std::process::Stdio;
use std::thread;

use arrow_array::StringArray;
use std::sync::Arc;

use crate::tool::{Folder, VERIFY, errors, read, rows, texts};

fn arguments<'a>(out: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [
        &VERIFY[..],
        &["--threads", "2", "--out", out, "data.parquet"],
        rest,
    ]
    .concat()
}

/// The complete parts of a run.
fn parts(folder: &Folder, out: &str) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(folder.path(&format!("{out}.parts"))) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "parquet"))
        .collect();
    paths.sort();
    paths
}

/// Ends a run after some part, however far it has come, and continues it.
#[test]
fn a_killed_run_continues_with_the_same_bytes() {
    let folder = Folder::new(20_000, &["--bad", "100"]);
    let whole = folder.run(&arguments("whole", &[]));
    // The output cannot be written: the parts stay even if a run ends before it is killed.
    fs::create_dir(folder.path("killed.tmp")).unwrap();
    let mut kept = 0;
    for wanted in [1, 5, 20] {
        let mut child = folder.command(&arguments("killed", &[]));
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while parts(&folder, "killed").len() < wanted && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kept = kept.max(parts(&folder, "killed").len());
        // Not a part of a file is a part.
        parts(&folder, "killed")
            .iter()
            .for_each(|part| drop(read(part)));
    }
    assert!(kept > 0, "no part was complete");
    fs::remove_dir(folder.path("killed.tmp")).unwrap();
    let continued = folder.run(&arguments("killed", &[]));
    assert_eq!(continued.stdout, whole.stdout);
    assert_eq!(continued.status.code(), whole.status.code());
    let bytes = |name| fs::read(folder.path(name)).unwrap();
    assert!(bytes("killed") == bytes("whole"), "the verdicts differ");
    assert!(!folder.path("killed.parts").exists());
}

/// A unit whose verdicts are there is not verified again: a marked part is in the output.
#[test]
fn complete_units_are_not_verified_again() {
    let folder = Folder::new(2000, &["--bad", "0"]);
    // The output cannot be written: the state stays.
    fs::create_dir(folder.path("out.tmp")).unwrap();
    let run = folder.run(&arguments("out", &[]));
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let found = parts(&folder, "out");
    assert!(found.len() >= 3, "{found:?}");
    let part = read(&found[1]).remove(0);
    let count = part.num_rows();
    let marks: StringArray = (0..count).map(|_| Some("marked")).collect();
    let mut columns = part.columns().to_vec();
    *columns.last_mut().unwrap() = Arc::new(marks);
    let marked = arrow_array::RecordBatch::try_new(part.schema(), columns).unwrap();
    folder.write("marked", &[marked]);
    fs::rename(folder.path("marked"), &found[1]).unwrap();
    fs::remove_file(&found[2]).unwrap();
    fs::remove_dir(folder.path("out.tmp")).unwrap();
    let run = folder.run(&arguments("out", &[]));
    assert!(!folder.path("out.parts").exists(), "{run:?}");
    let output = folder.read("out");
    assert_eq!(rows(&output), 2000);
    let reasons = texts(&output, "reason");
    assert_eq!(
        reasons
            .iter()
            .flatten()
            .filter(|reason| *reason == "marked")
            .count(),
        count
    );
}

/// Verdicts depend neither on the rows that are read at once nor on how much a continued run finds done.
#[test]
fn a_continued_run_has_the_verdicts_of_each_size_of_batch() {
    let folder = Folder::new(1500, &["--bad", "200"]);
    let run = folder.run(&arguments("whole", &[]));
    let columns = ["file", "key", "reason"];
    let verdicts = |out: &str| columns.map(|name| texts(&folder.read(out), name));
    for (n, batch_rows) in ["1", "64", "4096"].iter().enumerate() {
        let out = format!("out{n}");
        let options = ["--batch-rows", batch_rows];
        // The output cannot be written: the parts stay.
        let temporary = folder.path(&format!("{out}.tmp"));
        fs::create_dir(&temporary).unwrap();
        folder.run(&arguments(&out, &options));
        fs::remove_dir(temporary).unwrap();
        let found = parts(&folder, &out);
        assert_eq!(found.len(), 3);
        found
            .iter()
            .skip(n)
            .step_by(2)
            .for_each(|part| fs::remove_file(part).unwrap());
        let continued = folder.run(&arguments(&out, &options));
        assert_eq!(continued.stdout, run.stdout, "{batch_rows}");
        assert!(
            verdicts(&out) == verdicts("whole"),
            "{batch_rows}: the verdicts differ"
        );
    }
}

/// The state of other files, of other options or of a process that runs is refused.
#[test]
fn a_state_belongs_to_one_run() {
    let folder = Folder::new(600, &["--bad", "0"]);
    fs::create_dir(folder.path("out.tmp")).unwrap();
    folder.run(&arguments("out", &[]));
    fs::remove_dir(folder.path("out.tmp")).unwrap();
    let lock = File::create(folder.path("out.parts/lock")).unwrap();
    lock.lock().unwrap();
    let run = folder.run(&arguments("out", &[]));
    assert!(errors(&run).contains("another process"), "{run:?}");
    lock.unlock().unwrap();
    let run = folder.run(&arguments("out", &["--message-column", "context"]));
    assert!(errors(&run).contains("other files or options"), "{run:?}");
    let made = folder.read("data.parquet");
    folder.write("data.parquet", &made);
    let run = folder.run(&arguments("out", &[]));
    assert!(errors(&run).contains("other files or options"), "{run:?}");
    assert_eq!(run.status.code(), Some(2));
}
