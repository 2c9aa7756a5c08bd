//! The program `mldsa`.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    mldsa_cli::main()
}
