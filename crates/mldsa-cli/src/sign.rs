//! `mldsa sign`.

use std::io;

use mldsa_core::{ParameterSet, Randomness};

use crate::Status;
use crate::input::unusable;
use crate::json_request::with_set;
use crate::key_format::Format;
use crate::keyfile::KeyFile;
use crate::message::MessageArgs;
use crate::output::OutputArgs;
use crate::random::random;
use crate::text::encode_bytes;

/// Sign a message
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) message: MessageArgs,

    /// The input is the 64-byte mu of the message, made by `mldsa mu`
    #[arg(long, conflicts_with_all = ["ctx", "ctx_hex", "prehash"])]
    mu: bool,

    /// Sign without fresh randomness: the same signature every time
    #[arg(long)]
    deterministic: bool,

    /// Write the signature in hexadecimal digits
    #[arg(long)]
    hex: bool,

    /// Write the signature in base64
    #[arg(long, conflicts_with = "hex")]
    base64: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const HELP: &str = "\
The message is streamed: any length, from standard input too. The signature is
verified before it is written.

EXAMPLES
  Sign a file:
    mldsa sign --key key.pem --out message.sig message
  Sign text from standard input with a context:
    printf 'pay 5' | mldsa sign -k key.pem --ctx app-1 --base64

EXIT CODE  0 signed, 2 not.";

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let format = match (args.hex, args.base64) {
        (true, _) => Format::Hex,
        (_, true) => Format::Base64,
        _ => Format::Raw,
    };
    let output = args.output.prepare(format.public_content())?;
    let file = args.message.key.read()?;
    let signature = with_set!(file.set, P => sign::<P>(args, &file))?;
    output.write(&encode_bytes(&signature, format))?;
    Ok(Status::Good)
}

fn sign<P: ParameterSet>(args: &Args, file: &KeyFile) -> io::Result<Vec<u8>> {
    let key = file
        .signing_key::<P>()
        .map_err(|why| unusable(&args.message.key.path, why))?;
    let mu = if args.mu {
        args.message.read_mu()?
    } else {
        args.message.mu(key.verifying_key())?
    };
    let signature = match args.deterministic {
        true => key.sign_mu(&mu, Randomness::Deterministic),
        false => key.sign_mu(&mu, Randomness::Hedged(&*random()?)),
    };
    Ok(signature.map_err(io::Error::other)?.as_ref().to_vec())
}
