//! `mldsa pubkey`.

use std::io;
use std::path::PathBuf;

use crate::Status;
use crate::input::unusable;
use crate::json_request::with_set;
use crate::key_format::Format;
use crate::keyfile::{KeyFile, KeyOptions, encode_public};
use crate::output::OutputArgs;
use crate::paths::Files;

/// Write the public key of a key
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A private or public key, or a certificate: PEM, DER, raw or hex; - is standard input
    key: PathBuf,

    #[command(flatten)]
    options: KeyOptions,

    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,

    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default()
            .read([&*self.key])
            .read(self.options.files())
            .write([self.output.path()])
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let output = args.output.prepare(args.format.public_content())?;
    let file = KeyFile::read(&args.key, &args.options)?;
    let encoded = with_set!(file.set, P => file
        .verifying_key::<P>()
        .and_then(|key| encode_public(&key, args.format)))
    .map_err(|why| unusable(&args.key, why))?;
    output.write(&encoded)?;
    Ok(Status::Good)
}
