//! The program `mldsa`.

fn main() -> std::process::ExitCode {
    mldsa_cli::main()
}
