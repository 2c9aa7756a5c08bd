//! `mldsa pubkey`.

use std::io;
use std::path::PathBuf;

use crate::Status;
use crate::keyfile::{Format, KeyFile, SetArg, encode_public, unusable};
use crate::output::{OutputArgs, Readers};
use crate::request::with_set;

/// Write the public key of a key
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A private or public key: PEM, DER, raw or hex
    key: PathBuf,

    /// Parameter set, needed for a bare seed
    #[arg(long, value_enum)]
    set: Option<SetArg>,

    /// How the result holds the key
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let file = KeyFile::read(&args.key, args.set)?;
    let encoded = with_set!(file.set, P => file
        .verifying_key::<P>()
        .and_then(|key| encode_public(&key, args.format)))
    .map_err(|why| unusable(&args.key, why))?;
    args.output.write(&encoded, Readers::Anyone)?;
    Ok(Status::Good)
}
