//! `mldsa pubkey`.

use std::io;

use crate::Status;
use crate::input::unusable;
use crate::json_request::with_set;
use crate::key_format::Format;
use crate::keyfile::{KeyFileArgs, encode_public};
use crate::output::OutputArgs;
use crate::paths::Files;

/// Write the public key of a key
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    key: KeyFileArgs,

    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,

    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    pub(crate) fn files(&self) -> Files<'_> {
        self.key.files().write([self.output.path()])
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let output = args.output.prepare(args.format.public_content())?;
    let file = args.key.read()?;
    let encoded = with_set!(file.set, P => file
        .verifying_key::<P>()
        .and_then(|key| encode_public(&key, args.format)))
    .map_err(|why| unusable(&args.key.path, why))?;
    output.write(&encoded)?;
    Ok(Status::Good)
}
