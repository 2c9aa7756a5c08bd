//! The tests on one loaded core: their verdicts may depend on logic only.
//!
//! Everything is built once. Then the process moves to one core, four of its threads keep that
//! core busy, and the tests run in parallel with them, several programs at a time: those of the
//! crates with threads and processes several times, those of every default member once. One more
//! pass without load has `RAYON_NUM_THREADS=1`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::root;

/// The crates that run several times.
const REPEATED: [&str; 3] = ["batch-verify", "mladsa-aggregate", "mldsa-cli"];
const BUSY_THREADS: usize = 4;
/// Programs that run at a time on the loaded core: more load for each, less time for all.
const AT_A_TIME: usize = 4;

/// A test program as cargo built it.
struct Program {
    /// The folder of its package, in which cargo would run it.
    package: PathBuf,
    path: PathBuf,
}

/// Results of the runs of one program.
#[derive(Default)]
struct Runs {
    passed: usize,
    failed: usize,
    tests: usize,
    slowest: u64,
}

/// `--times N`: number of runs of the crates of [`REPEATED`], by default 10. With names of packages
/// only their tests run, all of them several times.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (times, names) = match arguments {
        [option, times, names @ ..] if option == "--times" => {
            let times = times.parse();
            (times.map_err(|_| "`--times` takes a number")?, names)
        }
        // The process that was started on one core.
        [option, times, names @ ..] if option == "--here" => {
            return on_this_core(times.parse().map_err(|_| "a number")?, names);
        }
        names => (10, names),
    };
    if programs(names)?.is_empty() {
        return Err(format!("cargo built no tests of {names:?}"));
    }
    let core = last_core()?;
    println!("core {core}, {BUSY_THREADS} busy threads, {times} runs");
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let pinned = Command::new("taskset")
        .args(["--cpu-list", &core])
        .arg(itself)
        .args(["loaded", "--here", &times.to_string()])
        .args(names)
        .status()
        .map_err(|error| format!("taskset: {error}"))?;
    println!("\nRAYON_NUM_THREADS=1, no load");
    let single = pass(&programs(names)?, 1, &[("RAYON_NUM_THREADS", "1")]);
    if pinned.success() && single {
        Ok(())
    } else {
        Err("tests failed under load: their output is in target/loaded".into())
    }
}

fn on_this_core(times: usize, names: &[String]) -> Result<(), String> {
    let programs = programs(names)?;
    for _ in 0..BUSY_THREADS {
        // They end with the process.
        std::thread::spawn(|| {
            loop {
                core::hint::black_box(0);
            }
        });
    }
    let (repeated, once): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| {
        let name = program.package_name();
        !names.is_empty() || REPEATED.contains(&name.as_str())
    });
    let repeated = pass(&repeated, times, &[]);
    let once = once.is_empty() || pass(&once, 1, &[]);
    if repeated && once && (!names.is_empty() || documentation()) {
        Ok(())
    } else {
        Err("failures above".into())
    }
}

/// Runs the examples in the documentation.
fn documentation() -> bool {
    let begin = Instant::now();
    let passed = cargo(&["test", "--locked", "--quiet", "--doc"])
        .status()
        .is_ok_and(|status| status.success());
    let (verdict, seconds) = (
        if passed { "passed" } else { "FAILED" },
        begin.elapsed().as_secs(),
    );
    println!("| documentation | 1 {verdict} | - | {seconds} s |");
    passed
}

/// Runs each program `times` times and prints a table. Whether all passed.
fn pass(programs: &[Program], times: usize, settings: &[(&str, &str)]) -> bool {
    let runs: Vec<_> = programs.iter().map(|_| Mutex::default()).collect();
    let queue =
        Mutex::new((0..times).flat_map(|n| programs.iter().zip(&runs).map(move |job| (n, job))));
    let work = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((n, (program, runs))) = next() {
            program.run(n, settings, runs);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
    println!("| tests | runs | tests in a run | slowest run |\n|---|--:|--:|--:|");
    let mut all = true;
    for (program, runs) in programs.iter().zip(runs) {
        let runs: Runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        all &= runs.failed == 0;
        let failed = match runs.failed {
            0 => String::new(),
            failed => format!(", {failed} FAILED"),
        };
        println!(
            "| {} | {} passed{failed} | {} | {} s |",
            program.name(),
            runs.passed,
            runs.tests,
            runs.slowest
        );
    }
    all
}

impl Program {
    /// `package/program`, without the hash that cargo appends.
    fn name(&self) -> String {
        let program = file_name(&self.path);
        let program = program
            .rsplit_once('-')
            .map_or(program.as_str(), |(name, _)| name);
        format!("{}/{program}", self.package_name())
    }

    fn package_name(&self) -> String {
        file_name(&self.package)
    }

    fn run(&self, n: usize, settings: &[(&str, &str)], runs: &Mutex<Runs>) {
        let begin = Instant::now();
        let output = Command::new(&self.path)
            .current_dir(&self.package)
            .env("CARGO_MANIFEST_DIR", &self.package)
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .output();
        let seconds = begin.elapsed().as_secs();
        let (passed, text) = match output {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                (
                    output.status.success(),
                    String::from_utf8_lossy(&text).into_owned(),
                )
            }
            Err(error) => (false, error.to_string()),
        };
        let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.slowest = runs.slowest.max(seconds);
        if passed {
            runs.passed += 1;
            runs.tests = tests_in(&text);
            return;
        }
        runs.failed += 1;
        let folder = root().join("target/loaded");
        let file = folder.join(format!("{}-{n}.log", self.name().replace('/', "-")));
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, &text));
        println!("FAILED: {} ({})", self.name(), file.display());
        if written.is_err() {
            println!("{text}");
        }
    }
}

/// The number of tests that passed, from the last line of the harness.
pub(crate) fn tests_in(output: &str) -> usize {
    output
        .split_once("test result: ok. ")
        .and_then(|(_, rest)| rest.split_once(' ')?.0.parse().ok())
        .unwrap_or(0)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().display().to_string()
}

/// Builds the tests of the default members, examples included, and lists those of the packages in
/// `names`, or all.
fn programs(names: &[String]) -> Result<Vec<Program>, String> {
    let output = cargo(&["test", "--locked", "--no-run", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build".into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let tests = text.lines().filter(|line| is_test(line));
    let mut programs: Vec<Program> = tests
        .filter_map(|line| {
            let manifest = PathBuf::from(field(line, "manifest_path")?);
            Some(Program {
                package: manifest.parent()?.into(),
                path: field(line, "executable")?.into(),
            })
        })
        .collect();
    programs.retain(|program| names.is_empty() || names.contains(&program.package_name()));
    Ok(programs)
}

/// Whether a message of cargo is about a program that was built with the test harness.
fn is_test(line: &str) -> bool {
    line.starts_with(r#"{"reason":"compiler-artifact""#)
        && field(line, "executable").is_some()
        && line
            .split_once(r#""profile":{"#)
            .and_then(|(_, rest)| rest.split_once('}'))
            .is_some_and(|(profile, _)| profile.contains(r#""test":true"#))
}

/// A string of a JSON message. Paths that need escapes are not supported.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(arguments)
        .current_dir(root())
        .env("CARGO_INCREMENTAL", "0");
    cargo
}

/// The last core that this process may use.
fn last_core() -> Result<String, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .and_then(|list| list.rsplit([',', '-']).next())
        .map(|core| core.trim().to_owned())
        .ok_or_else(|| "no list of cores in /proc/self/status".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_and_the_test_harness_are_understood() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/a/Cargo.toml","target":{"test":true},"profile":{"opt_level":"2","test":true},"executable":"/a/target/b-1","fresh":true}"#;
        assert!(is_test(line));
        assert_eq!(field(line, "executable"), Some("/a/target/b-1"));
        assert!(!is_test(
            &line.replace(r#""2","test":true"#, r#""2","test":false"#)
        ));
        assert_eq!(tests_in("\ntest result: ok. 42 passed; 0 failed"), 42);
    }
}
