//! Steps of the interfaces for other languages.

use super::shell::{ARM_TOOLS, Outcome, has, install, install_targets, line, not_run, run};
use crate::root;

/// The C interface: header, examples, misuse under sanitizers and Valgrind, known answers, wiping.
pub(super) fn c() -> Outcome {
    if !install(&[("cc", "gcc"), ("c++", "g++")]) {
        return not_run("no C and C++ compiler");
    }
    install(&[("valgrind", "valgrind"), ("mcs", "mono-mcs")]);
    install(&[("mono", "mono-runtime")]);
    run("cargo test --locked -p mldsa-c -- --nocapture")?;
    // A library that ends the process after a panic passes the programs that provoke errors.
    let folder = root().join("target/c-abort");
    line("cargo build --locked --quiet -p mldsa-c --target-dir target/c-abort")
        .env("CARGO_PROFILE_DEV_PANIC", "abort")
        .run()?;
    line("cargo test --locked -p mldsa-c --test suite -- --nocapture misuse_is random_programs")
        .env("MLDSA_C_ARCHIVE", folder.join("debug/libmldsa_c.a"))
        .run()
}

/// Settings of a build for tests: without optimisation across crates, because they need verdicts
/// and not speed.
const QUICK: [(&str, &str); 2] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
];

fn build_native(target: &str) -> Outcome {
    let mut build = line(format!("go/build-native.sh {target}"));
    for (name, value) in QUICK {
        build = build.env(name, value);
    }
    build.run()
}

/// The shared library that `build_native` made.
fn shared(architecture: &str) -> std::path::PathBuf {
    let architecture = match architecture {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    root().join(format!(
        "go/native/linux_{architecture}/lib/libmldsa_c.so.1"
    ))
}

/// The Go module in its three forms.
pub(super) fn go() -> Outcome {
    if !has("go") {
        return not_run("no Go");
    }
    if !install(&[("cc", "gcc")]) {
        return not_run("no C compiler");
    }
    for folder in ["go", "contrib/comet"] {
        if !line("go list -deps -test ./...").dir(folder).succeeds() {
            return not_run("the modules cannot be downloaded");
        }
    }
    build_native("")?;
    for tags in ["", "-tags=mldsa_cgo", "-tags=mldsa_purego"] {
        line(format!("go vet {tags} ./...")).dir("go").run()?;
    }
    line("go vet ./...").dir("contrib/comet").run()?;
    line("go test -tags=mldsa_cgo ./...")
        .dir("contrib/comet")
        .run()?;
    line("go test ./...").dir("go").run()?;
    line("go test -tags=mldsa_cgo ./...").dir("go").run()?;
    line("go test -tags=mldsa_purego ./...")
        .dir("go")
        .env("CGO_ENABLED", "0")
        .env("MLDSA_LIBRARY", shared(std::env::consts::ARCH))
        .run()?;
    line("go test -tags=mldsa_cgo -race -run Concurrent|Committee|Fuzz ./...")
        .dir("go")
        .run()?;
    line("go test -tags=mldsa_cgo ./...")
        .dir("go")
        .env("GOEXPERIMENT", "cgocheck2")
        .run()
}

/// The Go module for arm64 under an emulator.
pub(super) fn go_arm64() -> Outcome {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    if !has("go") {
        return not_run("no Go");
    }
    if !install_targets(&[TARGET]) || !install(&ARM_TOOLS) {
        return not_run("no Rust target, emulator or C compiler for arm64");
    }
    build_native(TARGET)?;
    for (tags, cgo) in [("mldsa_cgo", "1"), ("mldsa_purego", "0")] {
        line(format!("go test -exec=qemu-aarch64 -tags={tags} ./..."))
            .dir("go")
            .env("GOARCH", "arm64")
            .env("CGO_ENABLED", cgo)
            .env("CC", "aarch64-linux-gnu-gcc")
            .env("MLDSA_LIBRARY", shared("aarch64"))
            .env("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu")
            .run()?;
    }
    Ok(())
}
