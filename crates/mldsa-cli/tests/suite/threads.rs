//! A command with one thread starts none.

use std::process::Command;

use crate::tool::{args, mldsa};

/// Runs `batch-verify` where the system refuses new threads.
#[test]
fn one_thread_starts_none() {
    let run = |threads: &str| {
        let mut limited = Command::new("setpriv");
        limited.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        limited.args([
            "prlimit",
            "--nproc=1",
            env!("CARGO_BIN_EXE_mldsa"),
            "batch-verify",
        ]);
        limited.args(["-", "--threads", threads]).output()
    };
    match run("2") {
        Ok(refused) if String::from_utf8_lossy(&refused.stderr).contains("2 threads could not") => {
        }
        other => {
            println!("NOT RUN: needs root, setpriv, prlimit: {other:?}");
            return;
        }
    }
    let output = run("1").unwrap();
    // An empty input is a usage error of its own.
    let expected = mldsa(&args!["batch-verify - --threads 1"], b"");
    assert_eq!(output.status.code(), Some(expected.code));
    assert_eq!(output.stdout, b"");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("1 threads"), "{text}");
}
