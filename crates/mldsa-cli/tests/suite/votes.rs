//! Verdicts on the votes in `examples/data`.

use std::fs;
use std::path::Path;

use crate::tool::{ENGINES, mldsa};

#[test]
fn golden_output() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    let expected = fs::read_to_string(data.join("votes.expected.jsonl")).unwrap();
    let votes = data.join("votes.jsonl");
    let engines = ENGINES.map(|engine| ["--engine", engine]);
    let threads = ["1", "2", "8"].map(|threads| ["--threads", threads]);
    for option in engines.iter().chain(&threads) {
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
