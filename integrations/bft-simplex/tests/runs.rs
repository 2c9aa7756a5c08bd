//! Small runs of everything there is. Each asserts what it claims by itself; what is looked at here
//! is what comes of it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use bft_simplex::{Block, Hook, Options, RunError, run};
use clap::Parser as _;
use measure::Row;

fn nobody() -> Hook {
    Arc::new(|_| {})
}

fn options(words: &str) -> Options {
    let small = "bft-simplex --set 44 --validators 4 --views 6 --how batched";
    let words = small.split(' ').chain(words.split_whitespace());
    // What is given twice counts the second time.
    let mut given = BTreeMap::new();
    let mut name = "";
    for word in words.skip(1) {
        if word.starts_with("--") {
            name = word;
            given.insert(name, None);
        } else {
            given.insert(name, Some(word));
        }
    }
    let given = given
        .into_iter()
        .flat_map(|(name, value)| [Some(name), value]);
    Options::try_parse_from(["bft-simplex"].into_iter().chain(given.flatten()))
        .expect("options that exist")
}

fn rows(words: &str) -> Vec<Row> {
    run(&options(words), &nobody()).unwrap_or_else(|error| panic!("{words}: {error}"))
}

#[test]
fn every_way_verifies_the_same_votes() {
    let rows = rows("--set 65 --how batched,one-by-one,cold,aws-lc");
    let ways: Vec<&str> = rows.iter().map(|row| row.how.as_str()).collect();
    assert_eq!(ways, ["batched", "one-by-one", "cold", "aws-lc"]);
    for row in &rows {
        // The simulator is deterministic: the same votes in the same batches.
        assert_eq!(row.votes, rows[0].votes);
        assert_eq!(row.mean_batch, rows[0].mean_batch);
        assert_eq!(row.invalid, 0);
        assert!(row.votes[0] > 0 && row.us_inside > 0.0 && row.us_around >= row.us_inside);
        assert!(row.us_sign > 0.0 && row.views >= 6);
        // Three of four signatures, their number, and a bitmap.
        assert_eq!(row.certificate_bytes, Some(3 * 3309 + 10));
        // Three links of 10 ms from proposal to finalisation.
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
fn faulty_signers_are_blocked_and_nobody_else() {
    let row = rows("--spoil 1 --views 12").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    assert!(row.invalid > 0);
}

#[test]
fn every_attack_is_blocked() {
    let row = rows("--validators 16 --hostile 5 --views 12").remove(0);
    let all = [0, 1, 2, 3, 4].map(|n| format!("member {n}"));
    assert_eq!(row.blocked, all);
    assert!(row.invalid > 0);
}

#[test]
fn a_member_that_crashes_returns() {
    let row = rows("--crash --views 12").remove(0);
    assert!(row.blocked.is_empty(), "{:?}", row.blocked);
}

#[test]
fn a_second_epoch_refuses_who_has_left() {
    let row = rows("--epoch").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    let row = rows("--validators 7 --epoch --crash --spoil 1 --views 12").remove(0);
    assert_eq!(row.blocked, ["member 0", "member 1"]);
}

#[test]
fn less_bandwidth_takes_longer() {
    let p50 = |words| rows(words)[0].finality_ms.expect("blocks were finalised")[0];
    assert!(p50("--mbit 20") > 1.2 * p50(""));
}

#[test]
fn one_validator_is_a_committee() {
    assert!(rows("--validators 1")[0].views >= 6);
}

#[test]
fn the_hook_hears_of_every_block_once_a_validator() {
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
fn the_hook_hears_nothing_of_the_run_that_warms_up() {
    let heard: Arc<Mutex<BTreeMap<(usize, u64), usize>>> = Arc::default();
    let hook: Hook = {
        let heard = heard.clone();
        Arc::new(move |block: &Block| {
            let mut heard = heard.lock().expect("no panic");
            *heard.entry((block.node, block.view)).or_default() += 1;
        })
    };
    run(&options("--how batched,one-by-one"), &hook).expect("two runs");
    let heard = heard.lock().expect("no panic");
    assert!(heard.len() >= 4 * 6 && heard.values().all(|times| *times == 2));
}

#[test]
fn everybody_blocks_who_spoils_its_signatures_over_tcp() {
    let row = rows("--net tcp --port 41100 --spoil 1").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    assert!(row.invalid > 0);
}

/// The program, with a small committee unless `words` say otherwise.
fn program(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bft-simplex"));
    command.args(["--net", "procs", "--set", "44", "--how", "batched"]);
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
fn a_process_that_is_killed_returns() {
    let words = "--json --validators 4 --views 12 --port 41200 --crash";
    let rows = rows_of_processes(words);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.blocked.is_empty()));
}

#[test]
fn each_process_blocks_who_spoils_its_signatures() {
    let words = "--json --validators 4 --views 12 --port 41300 --spoil 1";
    let rows = rows_of_processes(words);
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.blocked == ["member 0"]));
}

#[test]
fn a_journal_serves_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    // With its output, which has to stay open.
    let first = || {
        let storage = folder.path().display();
        let words = format!("--validators 1 --port 41400 --node 0 --storage {storage}");
        let mut child = program(&words).spawn().expect("a program");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says something");
        assert!(line.starts_with("finalized "), "{line}");
        (child, output)
    };
    let stop = |(mut child, output): (Child, BufReader<ChildStdout>)| {
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        drop(output);
    };
    let running = first();
    let second = Options {
        storage: Some(folder.path().into()),
        node: Some(0),
        ..options("--net procs --validators 1 --port 41500")
    };
    let refused = run(&second, &nobody()).err();
    assert!(matches!(refused, Some(RunError::InUse(_))), "{refused:?}");
    stop(running);
    stop(first());
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let refused = |words: &str| {
        let error = run(&options(words), &nobody()).err();
        error.unwrap_or_else(|| panic!("{words} was accepted"))
    };
    assert!(matches!(
        refused("--spoil 2"),
        RunError::TooManyFaulty { limit: 1, .. }
    ));
    assert!(matches!(
        refused("--spoil 1 --crash"),
        RunError::TooManyFaulty { .. }
    ));
    assert!(matches!(
        refused("--net tcp --crash"),
        RunError::NotHere { .. }
    ));
    assert!(matches!(
        refused("--net tcp --hostile 1"),
        RunError::NotHere { .. }
    ));
    assert!(matches!(
        refused("--net procs --epoch"),
        RunError::NotHere { .. }
    ));
    for words in [
        "--validators 0",
        "--views 0",
        "--workers 0",
        "--mbit 0",
        "--port 65534",
        "--node 4",
    ] {
        assert!(matches!(refused(words), RunError::Range { .. }), "{words}");
    }
}

#[test]
fn a_run_without_time_fails() {
    let error = run(&options("--views 1000 --seconds 1"), &nobody()).err();
    assert!(
        matches!(error, Some(RunError::OutOfTime { seconds: 1, .. })),
        "{error:?}"
    );
}

#[test]
fn hedged_votes_that_are_sent_again_are_held_against_their_signers() {
    let rows = rows("--hedged --seconds 60");
    let [row] = &rows[..] else {
        panic!("one row for one way");
    };
    // Honest, both of them.
    assert!(!row.blocked.is_empty() && row.invalid == 0);
}
