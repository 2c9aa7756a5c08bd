//! `mldsa sign`.

use std::io;

use mldsa_core::Randomness;

use crate::file::output::OutputArgs;
use crate::file::paths::Files;
use crate::file::text::encode_bytes;
use crate::key::format::Format;
use crate::message::MessageArgs;
use crate::random::random;
use crate::{Status, Task};

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

impl Task for Args {
    fn files(&self) -> Files<'_> {
        self.message.files().write([self.output.path()])
    }

    fn run(&self) -> io::Result<Status> {
        let format = match (self.hex, self.base64) {
            (true, _) => Format::Hex,
            (_, true) => Format::Base64,
            _ => Format::Raw,
        };
        let output = self.output.prepare(format.public_content())?;
        let file = self.message.key.read()?;
        let key = file.signing_key()?;
        let mu = if self.mu {
            self.message.read_mu()?
        } else {
            self.message.mu(&key.verifying_key())?
        };
        let signature = match self.deterministic {
            true => key.sign_mu(&mu, Randomness::Deterministic),
            false => key.sign_mu(&mu, Randomness::Hedged(&*random()?)),
        };
        let signature = signature.map_err(io::Error::other)?;
        output.write(&encode_bytes(&signature, format))?;
        Ok(Status::Good)
    }
}
