//! Verdicts on the votes in `examples/data`.

use std::fs;
use std::path::Path;

use crate::tool::{IMPLEMENTATIONS, mldsa};

#[test]
fn golden_output() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    let expected = fs::read_to_string(data.join("votes.expected.jsonl")).unwrap();
    let votes = data.join("votes.jsonl");
    let implementations =
        IMPLEMENTATIONS.map(|implementation| ["--implementation", implementation]);
    let threads = ["1", "2", "8"].map(|threads| ["--threads", threads]);
    for option in implementations.iter().chain(&threads) {
        let args = ["batch-verify", votes.to_str().unwrap()];
        let run = mldsa(&[args, *option].concat(), b"");
        assert_eq!(run.stdout, expected);
        assert_eq!(run.code, 1);
        assert!(
            run.stderr
                .starts_with("210 lines: 190 valid, 20 invalid, 0 unusable, 0 skipped in "),
            "{}",
            run.stderr
        );
    }
}
