//! `mldsa mu`.

use std::io;

use crate::file::output::OutputArgs;
use crate::file::paths::Files;
use crate::file::text::encode_bytes;
use crate::key::format::Format;
use crate::message::MessageArgs;
use crate::{Status, Task};

/// Hash a message into mu, which `sign --mu` signs elsewhere
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) message: MessageArgs,

    /// Write 64 bytes instead of 128 hexadecimal digits
    #[arg(long)]
    raw: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const HELP: &str = "\
mu binds public key, context and message; the private key is not needed. The
signer of mu has to trust the party that computed it.

EXAMPLES
  Hash here, sign where the key is:
    mldsa mu --key public.pem message > mu
    mldsa sign --key key.pem --mu --out message.sig mu

EXIT CODE  0 written, 2 not.";

impl Task for Args {
    fn files(&self) -> Files<'_> {
        self.message.files().write([self.output.path()])
    }

    fn run(&self) -> io::Result<Status> {
        let format = if self.raw { Format::Raw } else { Format::Hex };
        let output = self.output.prepare(format.public_content())?;
        let file = self.message.key.read()?;
        let mu = self.message.mu(&file.verifying_key()?)?;
        output.write(&encode_bytes(mu.as_bytes(), format))?;
        Ok(Status::Good)
    }
}
