//! Runs the built `mldsa`.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;

/// What `--engine` takes.
#[allow(dead_code, reason = "shared with tests of other commands")]
pub(crate) const ENGINES: [&str; 5] = [
    "core",
    "lowmem-floor",
    "lowmem-keep-w0",
    "lowmem-balanced",
    "lowmem-cached",
];

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }
}

/// Runs the tool with `input` on standard input.
pub(crate) fn mldsa(args: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    thread::scope(|scope| {
        // The tool may end without reading everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        let errors = scope.spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        let code = child.wait().unwrap().code().expect("no signal");
        Run {
            code,
            stdout: text,
            stderr: errors.join().unwrap(),
        }
    })
}
