//! The votes in `examples/data`: made by the generator beside this test, and
//! judged as the file beside them says.

use std::fs;

use crate::make_votes::{self, EXPECTED, VOTES, data};
use crate::tool::{ENGINES, mldsa};

/// The same as `cargo run -p mldsa-cli --example make_votes -- --check`.
#[test]
fn files_are_reproduced_byte_for_byte() {
    let made = make_votes::files();
    assert_eq!(made.votes.lines().count(), 210);
    for (name, content) in [(VOTES, made.votes), (EXPECTED, made.expected)] {
        assert!(
            fs::read(data().join(name)).unwrap() == content.as_bytes(),
            "{name} differs"
        );
    }
}

#[test]
fn golden_output() {
    let expected = fs::read_to_string(data().join(EXPECTED)).unwrap();
    let votes = data().join(VOTES);
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
