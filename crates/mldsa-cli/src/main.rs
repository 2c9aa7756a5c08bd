//! The `mldsa` command: ML-DSA (FIPS 204) signatures on the command line.
//!
//! One module per command. Commands over JSON lines share `batch` and `jsonl` (input),
//! `json_request` (one line) and `signer` (signing). Commands over files share `keyfile`
//! (with `key_format`, `certificate` and `encrypted`), `message`, `input`, `output`, `commit` and
//! `paths`.

#![forbid(unsafe_code)]

mod backends;
mod batch;
mod batch_sign;
mod batch_verify;
mod certificate;
mod commit;
mod cose;
mod encrypted;
#[cfg(feature = "gpu")]
mod gpu;
mod input;
mod inspect;
#[cfg(unix)]
mod interrupt;
mod json_request;
mod jsonl;
mod jwk;
mod key_format;
mod key_output;
mod key_parts;
mod keyfile;
mod keygen;
#[cfg(unix)]
mod leftovers;
mod man;
mod message;
mod mu;
mod output;
mod paths;
mod pbes2;
mod pubkey;
mod random;
mod sign;
mod signer;
mod terminal;
mod text;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::OnceLock;

use clap::{Parser, Subcommand};
use mldsa_core::{Backend, zeroize_stack};
use paths::Files;
use terminal::{complain, complain_of_arguments, output_error, print};

/// ML-DSA (FIPS 204) signatures
#[derive(Parser)]
#[command(name = "mldsa", version, long_version = long_version(), propagate_version = true)]
struct Cli {
    /// SIMD backend of keys, verifiers and signers; results do not depend on it
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", value_parser = backends::choice)]
    backend: Backend,

    #[command(subcommand)]
    command: Command,
}

/// Describes the version, and what this program uses on this CPU.
fn long_version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let names: Vec<_> = Backend::available().map(Backend::name).collect();
        format!(
            "{}\ntarget:   {}-{}\nbackend:  {} (of {})\nfeatures: encrypted keys, JWK, COSE",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::ARCH,
            std::env::consts::OS,
            Backend::detect().name(),
            names.join(", ")
        )
    })
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum Command {
    Keygen(keygen::Args),
    Convert(keygen::ConvertArgs),
    Pubkey(pubkey::Args),
    Inspect(inspect::Args),
    Sign(sign::Args),
    Verify(verify::Args),
    Mu(mu::Args),
    BatchVerify(batch_verify::Args),
    BatchSign(batch_sign::Args),
    /// List the SIMD backends of this program on this CPU
    Backends,
    Completions(man::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    /// Returns whether errors are answers in JSON on standard output.
    fn has_json_errors(&self) -> bool {
        match self {
            Self::Inspect(args) => args.json,
            Self::Verify(args) => args.json,
            _ => false,
        }
    }

    /// Lists the files that it reads and writes, checked before it runs.
    fn files(&self) -> Files<'_> {
        match self {
            Self::Keygen(args) => args.files(),
            Self::Convert(args) => args.files(),
            Self::Pubkey(args) => args.key.files().write([args.output.path()]),
            Self::Inspect(args) => args.key.files().print(),
            Self::Sign(args) => args.message.files().write([args.output.path()]),
            Self::Verify(args) => args.message.files().read([&*args.sig]).print(),
            Self::Mu(args) => args.message.files().write([args.output.path()]),
            Self::BatchVerify(args) => args.batch.files(),
            Self::BatchSign(args) => args.batch.files(),
            Self::Backends | Self::Completions(_) | Self::Man(_) => Files::default(),
        }
    }
}

enum Status {
    /// Exit code 0: all is done, or valid.
    Good,
    /// Exit code 1: a signature or key is invalid.
    Invalid,
    /// Exit code 2: a line, an argument or a file is unusable.
    Unusable,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Good => 0,
            Status::Invalid => 1,
            Status::Unusable => 2,
        })
    }
}

/// Bytes of stack that are overwritten after a command: above the deepest use of unoptimised
/// signing.
const COMMAND_STACK: usize = 256 << 10;

fn main() -> ExitCode {
    // A file above the size limit is an error of the write and does not end the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let result = match Cli::try_parse() {
        // Private keys are values on the stack, of which moves leave copies.
        Ok(cli) => zeroize_stack::<COMMAND_STACK, _>(|| run(cli)),
        // Help on request is a result: clap would ignore that it could not be written.
        Err(help) if !help.use_stderr() => help
            .print()
            .and_then(|()| io::stdout().flush())
            .map(|()| Status::Good)
            .map_err(|error| output_error(&error)),
        Err(error) => {
            complain_of_arguments(&error);
            Ok(Status::Unusable)
        }
    };
    result
        .unwrap_or_else(|error| {
            // Silent on EPIPE.
            if error.kind() != io::ErrorKind::BrokenPipe {
                complain(error);
            }
            Status::Unusable
        })
        .into()
}

fn run(cli: Cli) -> io::Result<Status> {
    let _ = backends::CHOSEN.set(cli.backend);
    let json = cli.command.has_json_errors();
    execute(cli.command).or_else(|error| {
        if !json || error.kind() == io::ErrorKind::BrokenPipe {
            return Err(error);
        }
        let error = serde_json::Value::from(error.to_string());
        print(format!("{{\"error\":{error}}}\n"))?;
        Ok(Status::Unusable)
    })
}

fn execute(command: Command) -> io::Result<Status> {
    command.files().check()?;
    match command {
        Command::Keygen(args) => keygen::run(&args),
        Command::Convert(args) => keygen::convert(&args),
        Command::Pubkey(args) => pubkey::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Mu(args) => mu::run(&args),
        Command::BatchVerify(args) => batch_verify::run(&args),
        Command::BatchSign(args) => batch_sign::run(&args),
        Command::Backends => backends::run(),
        Command::Completions(args) => man::completions(&args),
        Command::Man(args) => man::man(&args),
    }
}
