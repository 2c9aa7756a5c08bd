//! C and C++ programs, compiled against the header and linked with the static library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A compiled program.
pub(crate) struct Program(PathBuf);

/// The folder of the test executables, which has the libraries too.
pub(crate) fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test executable");
    test.parent().expect("a folder").to_path_buf()
}

/// The static library: the one that `MLDSA_C_ARCHIVE` names, or the one of the tests.
pub(crate) fn archive() -> PathBuf {
    let named = std::env::var_os("MLDSA_C_ARCHIVE").map(PathBuf::from);
    named.unwrap_or_else(|| folder().join("libmldsa_c.a"))
}

/// Compiles a source file of the package. The first word of `compiler` is the program.
pub(crate) fn compile(compiler: &str, source: &str, suffix: &str) -> Program {
    compile_with(compiler, source, suffix, &[&archive()])
}

/// [`compile`] with other archives.
pub(crate) fn compile_with(
    compiler: &str,
    source: &str,
    suffix: &str,
    archives: &[&PathBuf],
) -> Program {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = package.join(source);
    let stem = source.file_stem().expect("a name").to_string_lossy();
    let program = folder().join(format!("mldsa_c_{stem}{suffix}"));
    // A C compiler for another library, such as musl's.
    let named = std::env::var("MLDSA_C_COMPILER").ok();
    let named = named.filter(|_| compiler == C);
    let compiler = named.as_deref().unwrap_or(compiler);
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().expect("a compiler"));
    command
        .args(words)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1"]);
    command.arg("-I").arg(package.join("include")).arg(&source);
    command.arg("-o").arg(&program).args(archives);
    command.args(["-lpthread", "-ldl", "-lm"]);
    let output = command.output().expect("a C compiler");
    assert!(
        output.status.success(),
        "{compiler} {stem}: {}",
        text(&output)
    );
    Program(program)
}

pub(crate) fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

impl Program {
    /// Runs the program under `wrapper` with `input`; its output, if it succeeded.
    pub(crate) fn run(&self, wrapper: &[&str], input: &str) -> String {
        self.run_with(wrapper, input, &[])
    }

    /// [`Program::run`] with variables in the environment.
    pub(crate) fn run_with(
        &self,
        wrapper: &[&str],
        input: &str,
        variables: &[(&str, &str)],
    ) -> String {
        let mut words: Vec<&std::ffi::OsStr> = wrapper.iter().map(std::ffi::OsStr::new).collect();
        words.push(self.0.as_os_str());
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .envs(variables.iter().copied())
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
pub(crate) fn has(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("not run: no {program}");
    }
    found
}

pub(crate) const C: &str = "cc -std=c99";
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

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_bad_generator_is_an_error() {
    println!("{}", compile(C, "tests/c/random.c", "").run(&[], ""));
}

#[test]
fn misuse_is_rejected() {
    println!("{}", compile(C, "tests/c/misuse.c", "").run(&[], ""));
}

#[test]
fn outputs_after_errors_are_defined() {
    println!("{}", compile(ASAN, "tests/c/outputs.c", "").run(&[], ""));
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

#[test]
fn random_programs_of_calls_have_no_errors_of_memory() {
    println!("{}", compile(ASAN, "tests/c/calls.c", "_asan").run(&[], ""));
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn private_keys_are_wiped() {
    println!("{}", compile(C, "tests/c/wipe.c", "").run(&[], ""));
}

/// A Java that has the foreign function interface: in `JAVA_HOME`, `PATH` or the folder of Debian.
fn java() -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
    let installed = std::fs::read_dir("/usr/lib/jvm")
        .into_iter()
        .flatten()
        .flatten();
    let installed = installed.map(|folder| folder.path().join("bin/java"));
    let mut candidates = home.into_iter().chain(["java".into()]).chain(installed);
    candidates.find(|java| {
        // `java VERSION` and a date.
        let output = Command::new(java).arg("--version").output();
        let text = output.map(|output| text(&output)).unwrap_or_default();
        let version = text
            .split([' ', '.'])
            .nth(1)
            .and_then(|number| number.parse().ok());
        version.is_some_and(|version: u32| version >= 22)
    })
}

#[test]
fn the_java_example_runs() {
    let Some(java) = java() else {
        eprintln!("not run: no Java 22 or newer");
        return;
    };
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/VerifyBatch.java");
    let output = Command::new(java)
        .arg("--enable-native-access=ALL-UNNAMED")
        .args([example, folder().join("libmldsa_c.so")])
        .output()
        .expect("a Java program");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output), "20 of 21 valid; item 7: status 39\n");
}

/// A program that runs a C# file: `dotnet` from version 10 on, or Mono after a compilation.
fn csharp(example: &Path) -> Option<Command> {
    let version = Command::new("dotnet").arg("--version").output();
    let version = version.map(|output| text(&output)).unwrap_or_default();
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    if major.is_some_and(|major: u32| major >= 10) {
        let mut command = Command::new("dotnet");
        command.arg("run").arg(example);
        return Some(command);
    }
    let program = folder().join("VerifyBatch.exe");
    let mut compiler = Command::new("mcs");
    compiler
        .arg(format!("-out:{}", program.display()))
        .arg(example);
    let output = compiler.output().ok()?;
    assert!(output.status.success(), "{}", text(&output));
    let mut command = Command::new("mono");
    command.arg(program);
    Some(command)
}

#[test]
fn the_csharp_example_runs() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/VerifyBatch.cs");
    let Some(mut command) = csharp(&example) else {
        eprintln!("not run: no .NET 10 or newer and no Mono");
        return;
    };
    let output = command.env("LD_LIBRARY_PATH", folder()).output();
    let output = output.expect("a C# program");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output), "20 of 21 valid; item 7: status 39\n");
}

#[test]
fn the_header_is_cpp() {
    if has("c++") {
        compile("c++ -std=c++11", "tests/c/header.cpp", "").run(&[], "");
    }
}
