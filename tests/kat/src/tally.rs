//! Counting of cases, so that a suite that skips everything fails.

use core::fmt::{Debug, Display, Write};
use std::io::Write as _;

/// Passed and failed cases of one suite.
#[derive(Debug)]
pub struct Tally {
    suite: String,
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    /// Start to count.
    pub fn new(suite: impl Display) -> Self {
        Self {
            suite: suite.to_string(),
            passed: 0,
            failures: Vec::new(),
        }
    }

    /// Count one case; it passes when `got` is `want`.
    pub fn equal<T: PartialEq + Debug>(&mut self, case: impl Display, got: T, want: T) {
        if got == want {
            self.passed += 1;
        } else {
            self.failures.push(format!(
                "{case}: got {}, want {}",
                short(&got),
                short(&want)
            ));
        }
    }

    /// Count one case that consists of several checks; the first that fails
    /// names the case.
    pub fn case(&mut self, case: impl Display, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => self.failures.push(format!("{case}: {why}")),
        }
    }

    /// Count cases that were checked elsewhere and passed.
    pub fn add(&mut self, passed: usize) {
        self.passed += passed;
    }

    /// Print the counts and hold them against the number of cases there are.
    ///
    /// # Panics
    /// When a case failed or the number differs.
    pub fn finish(self, cases: usize) {
        say(&format!(
            "{}: {} passed, {} failed",
            self.suite,
            self.passed,
            self.failures.len()
        ));
        let mut list = String::new();
        for failure in self.failures.iter().take(20) {
            let _ = write!(list, "\n  {failure}");
        }
        assert!(
            self.failures.is_empty(),
            "{}: {} failed{list}",
            self.suite,
            self.failures.len()
        );
        assert_eq!(
            self.passed, cases,
            "{}: number of cases that ran",
            self.suite
        );
    }
}

/// Fails a case of several checks unless `got` is `want`.
///
/// # Errors
/// Text that names the check.
pub fn same<T: PartialEq + Debug>(what: impl Display, got: T, want: T) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!(
            "{what}: got {}, want {}",
            short(&got),
            short(&want)
        ))
    }
}

/// A line on standard error that the test runner does not swallow.
pub fn say(line: &str) {
    // Not `eprintln!`: that is captured for tests that pass.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn short(value: &impl Debug) -> String {
    let mut text = format!("{value:?}");
    if text.len() > 160 {
        text.truncate(160);
        text.push_str("...");
    }
    text
}
