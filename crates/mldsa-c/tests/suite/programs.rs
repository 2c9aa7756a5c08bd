//! C and C++ programs, compiled against the header and linked with the static library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A compiled program.
pub(crate) struct Program(PathBuf);

/// The folder of the test executables, which has the libraries too.
fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test executable");
    test.parent().expect("a folder").to_path_buf()
}

/// Compiles a source file of the package. The first word of `compiler` is the program.
pub(crate) fn compile(compiler: &str, source: &str, suffix: &str) -> Program {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = package.join(source);
    let stem = source.file_stem().expect("a name").to_string_lossy();
    let program = folder().join(format!("mldsa_c_{stem}{suffix}"));
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().expect("a compiler"));
    command
        .args(words)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1"]);
    command.arg("-I").arg(package.join("include")).arg(&source);
    command
        .arg("-o")
        .arg(&program)
        .arg(folder().join("libmldsa_c.a"));
    command.args(["-lpthread", "-ldl", "-lm"]);
    let output = command.output().expect("a C compiler");
    assert!(
        output.status.success(),
        "{compiler} {stem}: {}",
        text(&output)
    );
    Program(program)
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

impl Program {
    /// Runs the program under `wrapper` with `input`; its output, if it succeeded.
    pub(crate) fn run(&self, wrapper: &[&str], input: &str) -> String {
        let mut words: Vec<&std::ffi::OsStr> = wrapper.iter().map(std::ffi::OsStr::new).collect();
        words.push(self.0.as_os_str());
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a program");
        let mut stdin = child.stdin.take().expect("an input");
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output().expect("an end")
        });
        assert!(
            output.status.success(),
            "{}: {}",
            output.status,
            text(&output)
        );
        text(&output)
    }
}

/// Whether `program` is in a folder of `PATH`; says so if not.
fn has(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("not run: no {program}");
    }
    found
}

const C: &str = "cc -std=c99";
const ASAN: &str = "cc -std=c99 -fsanitize=address,undefined -fno-sanitize-recover=all";
const VALGRIND: [&str; 4] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
];

#[test]
fn the_c_example_runs() {
    let output = compile(C, "examples/sign_verify.c", "").run(&[], "");
    assert_eq!(
        output,
        "valid, 3309 bytes\nanother message: challenge_mismatch\n"
    );
}

#[test]
fn the_cpp_example_runs() {
    if has("c++") {
        let output = compile("c++ -std=c++11", "examples/committee.cpp", "").run(&[], "");
        assert!(output.contains("vote 2: challenge_mismatch") && output.contains("weight 30"));
    }
}

#[test]
fn misuse_is_rejected() {
    println!("{}", compile(C, "tests/c/misuse.c", "").run(&[], ""));
}

#[test]
fn misuse_has_no_errors_of_memory_under_sanitizers() {
    println!(
        "{}",
        compile(ASAN, "tests/c/misuse.c", "_asan").run(&[], "")
    );
}

#[test]
fn misuse_has_no_errors_of_memory_under_valgrind() {
    if has("valgrind") {
        let program = compile(C, "tests/c/misuse.c", "_valgrind");
        println!("{}", program.run(&VALGRIND, ""));
    }
}

/// Every `.c` file is also C++.
#[test]
fn the_header_is_cpp() {
    if has("c++") {
        compile("c++ -std=c++11", "tests/c/header.cpp", "").run(&[], "");
    }
}
