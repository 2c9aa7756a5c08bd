//! Constant time: see `docs/constant-time.md`.

use std::process::Command;

use crate::{Verdict, build, missing, succeed};

/// As shipped, and as devices build it.
const OPT_LEVELS: [&str; 2] = ["3", "s"];

pub(crate) fn run(_: &[String]) -> Verdict {
    if let Some(reason) = missing("valgrind") {
        return Verdict::NotRun(reason);
    }
    check().into()
}

fn check() -> Result<(), String> {
    for level in OPT_LEVELS {
        println!("# opt-level {level}: secrets undefined, no report allowed");
        valgrind(level, None, None)?;
        valgrind(level, Some("aggregate"), Some("portable"))?;
    }
    let unnoticed = |reason| format!("a negative control was not detected: {reason}");
    println!("# planted: nothing declassified, every section must be reported");
    valgrind(OPT_LEVELS[0], Some("no-hook"), None).map_err(unnoticed)?;
    println!("# planted: leaky code, every section must be reported");
    valgrind(OPT_LEVELS[0], Some("planted"), None).map_err(unnoticed)
}

fn valgrind(level: &str, part: Option<&str>, backend: Option<&str>) -> Result<(), String> {
    let settings = [
        ("RUSTFLAGS", "--cfg mldsa_ct_check"),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", level),
    ];
    let program = build("ct", "release", &settings)?;
    let mut command = Command::new("valgrind");
    command.args([
        "--quiet",
        "--tool=memcheck",
        "--error-limit=no",
        "--num-callers=4",
    ]);
    if matches!(part, Some("no-hook" | "planted")) {
        // Reports are wanted here: they are counted, not shown.
        command.arg("--log-file=/dev/null");
    }
    command.envs(backend.map(|name| ("MLDSA_BACKEND", name)));
    succeed(command.arg(&program).args(part))
}
