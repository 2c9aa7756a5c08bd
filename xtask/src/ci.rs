//! The steps of `.ci/run`.
//!
//! A step passes, fails, or is not run for a reason. With `CI=true` a step that was not run
//! counts as failed unless [`MAY_NOT_RUN`] lists it.

use std::time::Instant;

mod bindings;
mod gates;
mod host;
mod shell;
mod targets;

use shell::{Outcome, Stop};

type Step = fn() -> Outcome;

/// Name; whether the step runs without being named; the step.
const STEPS: [(&str, bool, Step); 32] = [
    ("tools", true, host::tools),
    ("fmt", true, host::fmt),
    ("locks", true, host::locks),
    ("clippy", true, host::clippy),
    ("tests", true, host::tests),
    ("kat", true, host::kat),
    ("interop", true, host::interop),
    ("no_std", true, targets::no_std),
    ("metal", true, targets::metal),
    ("neon_smoke", true, targets::neon_smoke),
    ("ports_smoke", true, targets::ports_smoke),
    ("doc", true, host::doc),
    ("api", true, host::api),
    ("peers", true, host::peers),
    ("deny", true, host::deny),
    ("fuzz", true, host::fuzz),
    ("gates", true, gates::gates),
    ("proofs", true, gates::proofs),
    ("msrv", true, gates::msrv),
    ("device", true, gates::device),
    ("evm", true, host::evm),
    ("c", true, bindings::c),
    ("go", true, bindings::go),
    ("readme", true, host::readme),
    // On demand: emulation and repetition take long, and advisories change.
    ("quick", false, host::quick),
    ("advisories", false, host::advisories),
    ("neon", false, targets::neon),
    ("go_arm64", false, bindings::go_arm64),
    ("ports", false, targets::ports),
    ("levels", false, gates::levels),
    ("miri", false, gates::miri),
    ("loaded", false, gates::loaded),
];

/// Steps that may be not run in CI, each with the reason.
const MAY_NOT_RUN: [(&str, &str); 1] = [(
    "advisories",
    "the database of advisories is a git repository, which a machine without a network lacks",
)];

/// Runs the named steps, or all that are marked in [`STEPS`].
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let names = STEPS.map(|(name, ..)| name).join(" ");
    for argument in arguments {
        if !STEPS.iter().any(|(name, ..)| name == argument) {
            return Err(format!("no step `{argument}`; there are: {names}"));
        }
    }
    let strict = std::env::var("CI").is_ok_and(|value| value == "true");
    let begin = Instant::now();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut summary = Vec::new();
    for (name, unasked, step) in STEPS {
        let wanted = arguments.iter().any(|argument| argument == name);
        if !(wanted || unasked && arguments.is_empty()) {
            continue;
        }
        println!("\n===== {name}");
        let (started, before) = (Instant::now(), cpu_seconds());
        let verdict = match step() {
            Ok(()) => {
                passed += 1;
                "passed".into()
            }
            Err(Stop::NotRun(reason))
                if strict && !MAY_NOT_RUN.iter().any(|(of, _)| *of == name) =>
            {
                failed += 1;
                format!("FAILED, because CI has to run it: {reason}")
            }
            Err(Stop::NotRun(reason)) => {
                skipped += 1;
                format!("NOT RUN: {reason}")
            }
            Err(Stop::Failed(reason)) => {
                failed += 1;
                format!("FAILED: {reason}")
            }
        };
        let (seconds, cpu) = (started.elapsed().as_secs(), cpu_seconds() - before);
        println!("----- {name}: {verdict}, {seconds} s, {cpu} s of CPU");
        summary.push(format!(
            "{name:<12} {seconds:>5} s {cpu:>5} s of CPU  {verdict}"
        ));
    }
    println!("\n===== summary, {} s", begin.elapsed().as_secs());
    for line in summary {
        println!("{line}");
    }
    println!("steps: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 {
        Ok(())
    } else {
        Err("a step failed".into())
    }
}

/// The CPU time of all commands that have ended, in seconds. Other work on the machine changes
/// it less than the clock.
fn cpu_seconds() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets; fields 16 and 17 are of children, in hundredths of a second.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(13).take(2);
    times
        .filter_map(|time| time.parse::<u64>().ok())
        .sum::<u64>()
        / 100
}

#[cfg(test)]
mod tests {
    use super::STEPS;

    #[test]
    fn the_workflow_names_every_step() {
        let workflow = std::fs::read_to_string(crate::root().join(".github/workflows/ci.yml"));
        let workflow = workflow.expect("a workflow");
        let named: Vec<&str> = workflow.split_whitespace().collect();
        for (name, unasked, _) in STEPS {
            assert!(!unasked || named.contains(&name), "{name}");
        }
    }
}
