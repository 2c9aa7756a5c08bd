//! Constant time: see `docs/constant-time.md`.

use std::process::Command;

use crate::{Verdict, build, missing, succeed};

pub(crate) fn run(_: &[String]) -> Verdict {
    if let Some(reason) = missing("valgrind") {
        return Verdict::NotRun(reason);
    }
    match check() {
        Ok(()) => Verdict::Passed,
        Err(reason) => Verdict::Failed(reason),
    }
}

fn check() -> Result<(), String> {
    let program = build("ct", "release", "--cfg mldsa_ct_check")?;
    let valgrind = |argument: &[&str], quiet: bool| {
        let mut command = Command::new("valgrind");
        command.args([
            "--quiet",
            "--tool=memcheck",
            "--error-limit=no",
            "--num-callers=4",
        ]);
        if quiet {
            // Reports are wanted here: they are counted, not shown.
            command.arg("--log-file=/dev/null");
        }
        command.arg(&program).args(argument);
        succeed(&mut command)
    };
    println!("# secrets undefined, declassified values defined: no report allowed");
    valgrind(&[], false)?;
    println!("# planted: nothing declassified, every section must be reported");
    valgrind(&["no-hook"], true).map_err(|e| format!("a planted failure went unnoticed: {e}"))?;
    println!("# planted: leaky code, every section must be reported");
    valgrind(&["planted"], true).map_err(|e| format!("a planted failure went unnoticed: {e}"))
}
