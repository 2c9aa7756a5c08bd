//! Steps of the interfaces for other languages.

use super::shell::{Outcome, has, install, line, not_run, run};

/// The C interface: header, examples, misuse under sanitizers and Valgrind, known answers.
pub(super) fn c() -> Outcome {
    if !install(&[("cc", "gcc"), ("c++", "g++")]) {
        return not_run("no C and C++ compiler");
    }
    install(&[("valgrind", "valgrind")]);
    run("cargo test --locked -p mldsa-c -- --nocapture")
}

/// The Go module in its three forms.
pub(super) fn go() -> Outcome {
    if !has("go") {
        return not_run("no Go");
    }
    if !install(&[("cc", "gcc")]) {
        return not_run("no C compiler");
    }
    for folder in ["go", "go/comet"] {
        if !line("go list -deps -test ./...").dir(folder).succeeds() {
            return not_run("the modules cannot be downloaded");
        }
    }
    // Without optimisation across crates: the tests need verdicts, not speed.
    line("go/build-native.sh")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .run()?;
    for tags in ["", "-tags=mldsa_cgo", "-tags=mldsa_purego"] {
        line(format!("go vet {tags} ./...")).dir("go").run()?;
    }
    line("go vet ./...").dir("go/comet").run()?;
    line("go test -tags=mldsa_cgo ./...")
        .dir("go/comet")
        .run()?;
    line("go test ./...").dir("go").run()?;
    line("go test -tags=mldsa_cgo ./...").dir("go").run()?;
    line("go test -tags=mldsa_purego ./...")
        .dir("go")
        .env("CGO_ENABLED", "0")
        .run()?;
    line("go test -tags=mldsa_cgo -race -run Concurrent|Committee ./...")
        .dir("go")
        .run()?;
    line("go test -tags=mldsa_cgo -run Batch|Committee|BadInput ./...")
        .dir("go")
        .env("GOEXPERIMENT", "cgocheck2")
        .run()
}
