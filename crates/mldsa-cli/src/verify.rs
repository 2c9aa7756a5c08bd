//! `mldsa verify`.

use std::io::{self, Write};
use std::path::PathBuf;

use mldsa_core::{ParameterSet, VerifyError};

use crate::Status;
use crate::keyfile::{KeyFile, SetArg, unusable};
use crate::message::{MessageArgs, read_signature};
use crate::request::with_set;

/// Verify a signature
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// The public key (or the private one): PEM, DER, raw or hex
    #[arg(long, short, value_name = "FILE")]
    key: PathBuf,

    /// Parameter set, needed for a bare seed
    #[arg(long, value_enum)]
    set: Option<SetArg>,

    /// The signature: raw or hex
    #[arg(long, short, value_name = "FILE")]
    sig: PathBuf,

    #[command(flatten)]
    message: MessageArgs,

    /// The input is the 64-byte mu of the message, made by `mldsa mu`
    #[arg(long, conflicts_with_all = ["ctx", "ctx_hex", "prehash"])]
    mu: bool,
}

const HELP: &str = "\
Prints `valid`, or `invalid: ` and the first reason that applies, as in
`mldsa batch-verify`.

EXIT CODE  0 valid, 1 invalid, 2 key, signature or message could not be read.";

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let file = KeyFile::read(&args.key, args.set)?;
    let verdict = with_set!(file.set, P => verify::<P>(args, &file))?;
    let mut output = io::stdout().lock();
    match verdict {
        Ok(()) => writeln!(output, "valid")?,
        Err(reason) => writeln!(output, "invalid: {reason}")?,
    }
    Ok(if verdict.is_ok() {
        Status::Good
    } else {
        Status::Invalid
    })
}

fn verify<P: ParameterSet>(args: &Args, file: &KeyFile) -> io::Result<Result<(), &'static str>> {
    let key = file
        .verifying_key::<P>()
        .map_err(|why| unusable(&args.key, why))?;
    let signature = read_signature(&args.sig, P::SIG_LEN)?;
    let mu = if args.mu {
        args.message.read_mu()?
    } else {
        match args.message.mu(&key)? {
            Some(mu) => mu,
            None => return Ok(Err("context_too_long")),
        }
    };
    Ok(key.verify_mu(&mu, &signature).map_err(|error| match error {
        VerifyError::SignatureLength => "signature_length",
        VerifyError::HintEncoding => "hint_encoding",
        VerifyError::ResponseNorm => "response_norm",
        _ => "challenge_mismatch",
    }))
}
