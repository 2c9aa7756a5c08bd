//! Compiles the C part of the fuzz target `c`.

fn main() {
    let package = "../crates/mldsa-c";
    println!("cargo:rerun-if-changed={package}/tests/c/calls.c");
    println!("cargo:rerun-if-changed={package}/include/mldsa.h");
    cc::Build::new()
        .file(format!("{package}/tests/c/calls.c"))
        .include(format!("{package}/include"))
        .define("MLDSA_FUZZER", None)
        .compile("calls");
}
