//! `mldsa verify`.

use std::io;
use std::path::PathBuf;

use mldsa_core::{ParameterSet, VerifyError};

use crate::Status;
use crate::input::unusable;
use crate::keyfile::{KeyArgs, KeyFile};
use crate::message::{MessageArgs, read_signature};
use crate::output::{keep_apart, print};
use crate::request::with_set;

/// Verify a signature
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    key: KeyArgs,

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
    let inputs = [&args.key.path, &args.sig, args.message.path()];
    keep_apart(&inputs, &["-".as_ref()])?;
    let file = args.key.read()?;
    let verdict = with_set!(file.set, P => verify::<P>(args, &file))?;
    let text = match verdict {
        Ok(()) => "valid\n".into(),
        Err(reason) => format!("invalid: {reason}\n"),
    };
    print(&inputs, &text)?;
    Ok(if verdict.is_ok() {
        Status::Good
    } else {
        Status::Invalid
    })
}

fn verify<P: ParameterSet>(args: &Args, file: &KeyFile) -> io::Result<Result<(), &'static str>> {
    let key = file
        .verifying_key::<P>()
        .map_err(|why| unusable(&args.key.path, why))?;
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
