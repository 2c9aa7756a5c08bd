//! Small runs of every network and fault. Each run asserts its own outcome and fails otherwise; the
//! tests here look at the rows.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use bft_simplex::{Block, Hook, Options, run};
use clap::Parser as _;
use clap::error::ErrorKind;
use harness::{Row, hang_limit};

fn no_hook() -> Hook {
    Arc::new(|_| {})
}

/// A committee of four with ML-DSA-44 and one strategy unless `words` say otherwise.
fn parse(words: &str) -> Result<Options, clap::Error> {
    let limit = hang_limit().as_secs();
    let mut small = format!("bft-simplex --set 44 --validators 4 --views 6 --seconds {limit}");
    if !words.contains("--strategy") {
        small += " --strategy batched";
    }
    Options::try_parse_from(small.split(' ').chain(words.split_whitespace()))
}

fn options(words: &str) -> Options {
    parse(words).expect("valid options")
}

fn rows(words: &str) -> Vec<Row> {
    run(&options(words), &no_hook()).unwrap_or_else(|error| panic!("{words}: {error}"))
}

#[test]
fn strategies_verify_the_same_votes() {
    let rows = rows("--set 65 --strategy batched,per-vote,cold-keys,aws-lc");
    let strategies: Vec<&str> = rows.iter().map(|row| row.strategy.as_str()).collect();
    assert_eq!(strategies, ["batched", "per-vote", "cold-keys", "aws-lc"]);
    for row in &rows {
        // The simulator is deterministic: the same votes in the same batches.
        assert_eq!(row.votes, rows[0].votes);
        assert_eq!(row.mean_batch, rows[0].mean_batch);
        assert_eq!(row.invalid, 0);
        assert!(row.votes[0] > 0 && row.views >= 6);
        // Three of four signatures, their number and a bitmap.
        assert_eq!(row.certificate_bytes, Some(3 * 3309 + 10));
        // Three links of 10 ms from proposal to finalisation, on the virtual clock.
        let [p50, ..] = row.finality_ms.expect("blocks were finalised");
        assert!((30.0..60.0).contains(&p50), "{p50} ms");
        assert!(row.journal_bytes.is_some_and(|bytes| bytes > 0));
    }
}

#[test]
fn every_parameter_set_finalises() {
    for set in ["44", "65", "87"] {
        assert_eq!(
            rows(&format!("--set {set}"))[0].set,
            format!("ML-DSA-{set}")
        );
    }
}

#[test]
fn byzantine_signers_are_blocked() {
    let row = rows("--byzantine 1 --views 12").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    assert!(row.invalid > 0);
}

#[test]
fn attackers_are_blocked() {
    let row = rows("--validators 16 --attackers 5 --views 12").remove(0);
    let all = [0, 1, 2, 3, 4].map(|n| format!("member {n}"));
    assert_eq!(row.blocked, all);
    assert!(row.invalid > 0);
}

#[test]
fn crashed_member_recovers_in_simulator() {
    let row = rows("--crash --views 12").remove(0);
    assert!(row.blocked.is_empty(), "{:?}", row.blocked);
}

#[test]
fn second_epoch_blocks_former_member() {
    let row = rows("--epoch").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    let row = rows("--validators 7 --epoch --crash --byzantine 1 --views 12").remove(0);
    assert_eq!(row.blocked, ["member 0", "member 1"]);
}

#[test]
fn limited_bandwidth_delays_finality() {
    // Virtual clock: the values do not depend on the machine.
    let p50 = |words| rows(words)[0].finality_ms.expect("blocks were finalised")[0];
    assert!(p50("--mbit 20") > 1.2 * p50(""));
}

#[test]
fn committee_of_one_finalises() {
    assert!(rows("--validators 1")[0].views >= 6);
}

#[test]
fn hook_receives_each_block_once_per_validator() {
    let heard: Arc<Mutex<BTreeMap<(usize, u64), Block>>> = Arc::default();
    let hook: Hook = {
        let heard = heard.clone();
        Arc::new(move |block: &Block| {
            let before = heard
                .lock()
                .expect("no panic")
                .insert((block.node, block.view), *block);
            assert_eq!(before, None);
        })
    };
    run(&options(""), &hook).expect("a run");
    let heard = heard.lock().expect("no panic");
    for node in 0..4 {
        assert!(heard.keys().any(|(who, view)| *who == node && *view >= 6));
    }
    for ((_, view), block) in heard.iter() {
        assert!(
            heard
                .values()
                .all(|other| other.view != *view || other.payload == block.payload)
        );
    }
}

#[test]
fn hook_is_not_called_by_the_warm_up() {
    let heard: Arc<Mutex<BTreeMap<(usize, u64), usize>>> = Arc::default();
    let hook: Hook = {
        let heard = heard.clone();
        Arc::new(move |block: &Block| {
            let mut heard = heard.lock().expect("no panic");
            *heard.entry((block.node, block.view)).or_default() += 1;
        })
    };
    run(&options("--strategy batched,per-vote"), &hook).expect("two runs");
    let heard = heard.lock().expect("no panic");
    assert!(heard.len() >= 4 * 6 && heard.values().all(|times| *times == 2));
}

#[test]
fn byzantine_signer_is_blocked_over_tcp() {
    let row = rows("--net tcp --port 41100 --byzantine 1").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    assert!(row.invalid > 0);
}

/// The program with one process per validator.
fn program(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bft-simplex"));
    command.args(["--net", "procs", "--set", "44", "--strategy", "batched"]);
    command.args(words.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn rows_of_processes(words: &str) -> Vec<Row> {
    let output = program(words).output().expect("a program");
    assert!(output.status.success(), "{words}");
    let lines = String::from_utf8(output.stdout).expect("text");
    let row = |line| serde_json::from_str(line).expect("a row");
    lines.lines().map(row).collect()
}

#[test]
fn killed_process_recovers() {
    let words = "--json --validators 4 --views 12 --port 41200 --crash";
    let rows = rows_of_processes(words);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.blocked.is_empty()));
}

#[test]
fn byzantine_signer_is_blocked_by_each_process() {
    let words = "--json --validators 4 --views 12 --port 41300 --byzantine 1";
    let rows = rows_of_processes(words);
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.blocked == ["member 0"]));
}

#[test]
fn journal_is_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    // The output has to stay open while the process runs.
    let first = || {
        let storage = folder.path().display();
        let words = format!("--validators 1 --port 41400 --node 0 --storage {storage}");
        let mut child = program(&words).spawn().expect("a program");
        let mut output = BufReader::new(child.stdout.take().expect("piped output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert!(line.starts_with("finalized "), "{line}");
        (child, output)
    };
    let stop = |(mut child, output): (Child, BufReader<ChildStdout>)| {
        child.kill().expect("the process runs");
        child.wait().expect("the process ends");
        drop(output);
    };
    let running = first();
    let second = Options {
        storage: Some(folder.path().into()),
        node: Some(0),
        ..options("--net procs --validators 1 --port 41500")
    };
    let error = run(&second, &no_hook())
        .expect_err("a locked journal")
        .to_string();
    assert!(error.contains("another process"), "{error}");
    stop(running);
    stop(first());
}

#[test]
fn invalid_options_are_rejected() {
    for (words, message) in [
        ("--byzantine 2", "tolerate 1"),
        ("--byzantine 1 --crash", "tolerate 1"),
        ("--net tcp --crash", "--crash cannot"),
        ("--net tcp --attackers 1", "--attackers cannot"),
        ("--net procs --epoch", "--epoch cannot"),
        ("--port 65534", "--port"),
        ("--node 4", "--node"),
    ] {
        let error = run(&options(words), &no_hook())
            .expect_err(words)
            .to_string();
        assert!(error.contains(message), "{words}: {error}");
    }
    for words in ["--validators 0", "--views 0", "--workers 0", "--mbit 0"] {
        let error = parse(words).expect_err(words);
        assert_eq!(error.kind(), ErrorKind::ValueValidation, "{words}");
    }
    let error = parse("--hedged --crash").expect_err("conflicting options");
    assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
}

#[test]
fn run_fails_after_its_time_limit() {
    // One virtual second.
    let error = run(&options("--views 1000 --seconds 1"), &no_hook()).expect_err("too slow");
    assert!(error.to_string().ends_with("after 1 s"), "{error}");
}

#[test]
fn hedged_repeats_block_honest_members() {
    let rows = rows("--hedged --seconds 60");
    let [row] = &rows[..] else {
        panic!("one row for one strategy");
    };
    assert!(!row.blocked.is_empty() && row.invalid == 0);
}
