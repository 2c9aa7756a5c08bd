//! `mldsa pubkey`.

use std::io;

use crate::Status;
use crate::input::unusable;
use crate::json_request::with_set;
use crate::key_format::Format;
use crate::key_output::encode_public;
use crate::keyfile::KeyFileArgs;
use crate::output::OutputArgs;

/// Write the public key of a key
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) key: KeyFileArgs,

    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const HELP: &str = "\
EXAMPLES
  Write the public key of a private key:
    mldsa pubkey key.pem --out public.pem
  Take the public key out of a certificate:
    mldsa pubkey node.crt --format hex

EXIT CODE  0 the key is written, 2 it is not.";

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let output = args.output.prepare(args.format.public_content())?;
    let file = args.key.read()?;
    let encoded = with_set!(file.set, P => {
        let key = file.verifying_key::<P>();
        encode_public(&key.map_err(|why| unusable(&args.key.path, why))?, args.format)?
    });
    output.write(&encoded)?;
    Ok(Status::Good)
}
