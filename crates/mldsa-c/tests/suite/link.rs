//! How programs and the library fit together: results that are ignored, other Rust archives, CMake.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{C, archive, compile_with, folder, has, text};

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A status that is dropped does not compile with warnings as errors; one that is used does.
#[test]
fn a_result_that_is_ignored_is_a_warning() {
    let languages = [
        "cc -std=c99 -xc",
        "cc -std=gnu2x -xc",
        "c++ -std=c++11 -xc++",
        "c++ -std=c++17 -xc++",
    ];
    for compiler in languages {
        let mut words = compiler.split_whitespace();
        let program = words.next().expect("a compiler");
        if !has(program) {
            continue;
        }
        let words: Vec<&str> = words.collect();
        for (body, works) in [
            ("mldsa_verify(0, 0, 0, 0, 0, 0, 0);", false),
            ("mldsa_sign(0, 0, 0, 0, 0, 0, 0, 0);", false),
            ("mldsa_batch_verify(0, 0, 0, 0, 0, 0);", false),
            ("mldsa_self_test();", false),
            ("return mldsa_self_test() != 0;", true),
            ("mldsa_public_key_free(0);", true),
        ] {
            let source = folder().join("mldsa_c_ignored.c");
            let code = format!("#include \"mldsa.h\"\nint main(void) {{ {body} return 0; }}\n");
            std::fs::write(&source, code).expect("a source file");
            let mut command = Command::new(program);
            command
                .args(&words)
                .args(["-Wall", "-Werror", "-c", "-o", "/dev/null", "-I"]);
            let output = command.arg(package().join("include")).arg(&source).output();
            let output = output.expect("a compiler");
            assert_eq!(
                output.status.success(),
                works,
                "{compiler}: {body} {}",
                text(&output)
            );
        }
    }
}

/// The archive as it is installed: only the functions of the header are visible.
fn installed() -> PathBuf {
    if std::env::var_os("MLDSA_C_ARCHIVE").is_some() {
        return archive();
    }
    let out = folder().join("mldsa_c_localised.a");
    let script = package().join("localise.sh");
    let output = Command::new(script).arg(&out).arg(archive()).output();
    let output = output.expect("a script");
    assert!(output.status.success(), "{}", text(&output));
    out
}

/// With an archive of this compiler with link-time optimisation, whose standard library has
/// unversioned symbols of the same names, and with one of another compiler, in both orders.
#[cfg(target_os = "linux")]
#[test]
fn the_archive_links_beside_another_rust_archive() {
    let ours = installed();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut compilers = vec![(rustc, None)];
    // Another one than ours, wherever rustup has it.
    for toolchain in ["+nightly", "+beta", "+1.89"] {
        let version = Command::new("rustc")
            .args([toolchain, "--version"])
            .output();
        if version.is_ok_and(|output| output.status.success()) {
            compilers.push(("rustc".into(), Some(toolchain)));
            break;
        }
    }
    if compilers.len() == 1 {
        eprintln!("not run: no other Rust compiler");
    }
    for (n, (rustc, toolchain)) in compilers.into_iter().enumerate() {
        let other = folder().join(format!("mldsa_c_other_{n}.a"));
        let output = Command::new(rustc)
            .args(toolchain)
            .args([
                "--edition=2024",
                "--crate-type=staticlib",
                "-O",
                "-Clto=fat",
                "-o",
            ])
            .args([&other, &package().join("tests/c/other.rs")])
            .output()
            .expect("rustc");
        assert!(output.status.success(), "{}", text(&output));
        for (order, archives) in [[&ours, &other], [&other, &ours]].into_iter().enumerate() {
            let program = compile_with(C, "tests/c/two.c", &format!("_{n}_{order}"), &archives);
            assert_eq!(program.run(&[], ""), "both\n", "{toolchain:?} {order}");
        }
    }
}
