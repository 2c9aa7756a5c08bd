//! `mldsa-archive`: verdicts on the signatures of columnar files.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    mldsa_archive::main()
}
