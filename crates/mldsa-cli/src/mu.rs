//! `mldsa mu`.

use std::io;
use std::path::PathBuf;

use crate::Status;
use crate::keyfile::{KeyFile, SetArg, encode_bytes, unusable};
use crate::message::MessageArgs;
use crate::output::{OutputArgs, Readers};
use crate::request::with_set;

/// Hash a message into mu, which `sign --mu` signs elsewhere
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// The public key (or the private one): PEM, DER, raw or hex
    #[arg(long, short, value_name = "FILE")]
    key: PathBuf,

    /// Parameter set, needed for a bare seed
    #[arg(long, value_enum)]
    set: Option<SetArg>,

    #[command(flatten)]
    message: MessageArgs,

    /// Write 64 bytes instead of 128 hexadecimal digits
    #[arg(long)]
    raw: bool,

    #[command(flatten)]
    output: OutputArgs,
}

const HELP: &str = "\
mu binds public key, context and message; the private key is not needed. Who
signs a mu trusts whoever made it.

EXIT CODE  0 written, 2 not.";

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let file = KeyFile::read(&args.key, args.set)?;
    let mu = with_set!(file.set, P => {
        let key = file
            .verifying_key::<P>()
            .map_err(|why| unusable(&args.key, why))?;
        args.message.mu(&key)?
    })
    .ok_or_else(|| io::Error::other("context longer than 255 bytes"))?;
    args.output
        .write(&encode_bytes(mu.as_bytes(), !args.raw), Readers::Anyone)?;
    Ok(Status::Good)
}
