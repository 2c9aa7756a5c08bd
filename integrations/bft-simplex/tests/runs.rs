//! Small runs of everything the simulator offers. Each asserts what it claims by itself; what is
//! looked at here is what comes of it.

use std::collections::BTreeMap;
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
