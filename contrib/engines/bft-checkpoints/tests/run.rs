//! The run of the README, which checks its own outcome.

use std::process::Command;

use harness::hang_limit;

#[test]
fn light_client_follows_three_epochs() {
    let output = Command::new(env!("CARGO_BIN_EXE_bft-checkpoints"))
        .args(["--port", "42100", "--seconds"])
        .arg(hang_limit().as_secs().to_string())
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let rows = text.lines().filter(|line| line.starts_with("| "));
    // A header, and two checkpoints in each of three epochs.
    assert_eq!(rows.count(), 7, "{text}");
}
