//! Verdicts on the votes in `examples/data`.

use std::fs;
use std::path::Path;

use crate::tool::mldsa;

fn data(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    data.join(name).to_str().unwrap().to_owned()
}

#[test]
fn golden_output() {
    let expected = fs::read_to_string(data("forged-votes.expected.jsonl")).unwrap();
    let all_valid: String = (1..=210)
        .map(|line| format!("{{\"line\":{line},\"valid\":true}}\n"))
        .collect();
    let files = [
        (
            "votes.jsonl",
            all_valid,
            0,
            "210 lines: 210 valid, 0 invalid, ",
        ),
        (
            "forged-votes.jsonl",
            expected,
            1,
            "40 lines: 20 valid, 20 invalid, ",
        ),
    ];
    let threads = ["1", "2", "8"].map(|threads| ["--threads", threads]);
    for (file, expected, code, summary) in files {
        for option in &threads {
            let run = mldsa(&[&["batch-verify", &data(file)], &option[..]].concat(), b"");
            assert_eq!(run.stdout, expected, "{file} {option:?}");
            assert_eq!(run.code, code, "{file} {option:?}");
            assert!(run.stderr.starts_with(summary), "{}", run.stderr);
        }
    }
}

/// On a terminal only what is not valid takes a line; `--json` and a pipe are alike.
#[cfg(unix)]
#[test]
fn readable_on_a_terminal() {
    let (honest, forged) = (data("votes.jsonl"), data("forged-votes.jsonl"));
    let (run, text) = crate::outputs::on_a_terminal(&["batch-verify", &honest]);
    assert_eq!((run.code, &*text), (0, ""));
    let (run, text) = crate::outputs::on_a_terminal(&["batch-verify", &forged]);
    assert_eq!((run.code, text.lines().count()), (1, 20));
    assert_eq!(
        text.lines().next(),
        Some("line 2: invalid: challenge_mismatch")
    );
    let (run, text) = crate::outputs::on_a_terminal(&["batch-verify", "--json", &forged]);
    assert_eq!((run.code, text.lines().count()), (1, 40));
    assert_eq!(text.lines().next(), Some("{\"line\":1,\"valid\":true}"));
}
