//! `mldsa pubkey`.

use std::io;

use crate::file::output::OutputArgs;
use crate::file::paths::Files;
use crate::key::KeyFileArgs;
use crate::key::encode::encode_public;
use crate::key::format::Format;
use crate::{Status, Task};

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

impl Task for Args {
    fn files(&self) -> Files<'_> {
        self.key.files().write([self.output.path()])
    }

    fn run(&self) -> io::Result<Status> {
        let output = self.output.prepare(self.format.public_content())?;
        let file = self.key.read()?;
        let encoded = encode_public(&file.verifying_key()?, self.format)?;
        output.write(&encoded)?;
        Ok(Status::Good)
    }
}
