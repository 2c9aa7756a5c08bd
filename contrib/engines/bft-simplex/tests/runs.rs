//! Small runs of every network and fault. Each run asserts its own outcome and fails otherwise; the
//! tests here look at the rows.

use bft_simplex::{Options, run};
use clap::Parser as _;
use clap::error::ErrorKind;
use harness::{Row, hang_limit};

/// A committee of four with ML-DSA-44 and one strategy unless `words` say otherwise.
fn parse(words: &str) -> Result<Options, clap::Error> {
    let limit = hang_limit().as_secs();
    let mut small =
        format!("bft-simplex --set ML-DSA-44 --validators 4 --views 6 --seconds {limit}");
    if !words.contains("--strategy") {
        small += " --strategy batched";
    }
    Options::try_parse_from(small.split(' ').chain(words.split_whitespace()))
}

fn options(words: &str) -> Options {
    parse(words).expect("valid options")
}

fn rows(words: &str) -> Vec<Row> {
    run(&options(words)).unwrap_or_else(|error| panic!("{words}: {error}"))
}

#[test]
fn strategies_verify_the_same_votes() {
    let rows = rows("--set ML-DSA-65 --strategy batched,per-vote,cold-keys,aws-lc");
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
    for set in harness::Set::ALL {
        assert_eq!(rows(&format!("--set {set}"))[0].set, set.name());
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
fn byzantine_signer_is_blocked_over_tcp() {
    let row = rows("--net tcp --port 41100 --byzantine 1").remove(0);
    assert_eq!(row.blocked, ["member 0"]);
    assert!(row.invalid > 0);
}

#[test]
fn invalid_options_are_rejected() {
    for (words, message) in [
        ("--byzantine 2", "tolerate 1"),
        ("--byzantine 1 --crash", "tolerate 1"),
        ("--net tcp --crash", "--crash cannot"),
        ("--net tcp --attackers 1", "--attackers cannot"),
        ("--net tcp --epoch", "--epoch cannot"),
        ("--port 65534", "--port"),
    ] {
        let error = run(&options(words)).expect_err(words).to_string();
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
    let error = run(&options("--views 1000 --seconds 1")).expect_err("too slow");
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
