//! `mldsa verify`.

use std::io;
use std::path::PathBuf;

use batch_verify::RejectReason;
use mldsa_core::{AnyVerifyingKey, Set, VerifyError};

use crate::file::paths::Files;
use crate::message::{MessageArgs, read_signature};
use crate::terminal::{complain, print};
use crate::{Status, Task};

/// Verify a signature
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// The signature: raw, hex or base64
    #[arg(long, short, value_name = "FILE")]
    pub(crate) sig: PathBuf,

    #[command(flatten)]
    pub(crate) message: MessageArgs,

    /// The input is the 64-byte mu of the message, made by `mldsa mu`
    #[arg(long, conflicts_with_all = ["ctx", "ctx_hex", "prehash"])]
    mu: bool,

    /// Print the verdict as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing; the exit code is the verdict
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
}

const HELP: &str = r#"Prints `valid`, or `invalid: ` and the first reason that applies, as in
`mldsa batch-verify`, with a sentence about it on standard error. With --json:
{"set":"ML-DSA-44","valid":true} or {"set":"..","valid":false,"reason":".."}, and
{"error":".."} for an error.

EXAMPLES
  Verify a file:
    mldsa verify --key public.pem --sig message.sig message
  Verify with a context, by the exit code only:
    mldsa verify -k public.pem -s message.sig --ctx app-1 --quiet message

EXIT CODE  0 valid, 1 invalid, 2 key, signature or message could not be read."#;

impl Task for Args {
    fn has_json_errors(&self) -> bool {
        self.json
    }

    fn files(&self) -> Files<'_> {
        self.message.files().read([&*self.sig]).print()
    }

    fn run(&self) -> io::Result<Status> {
        let file = self.message.key.read()?;
        let key = file.verifying_key()?;
        let set = key.set();
        let rejection = verify(self, &key)?.err();
        let text = match (&rejection, self.json) {
            (None, false) => "valid\n".into(),
            (Some(Rejection { reason, .. }), false) => format!("invalid: {reason}\n"),
            (None, true) => format!("{{\"set\":\"{set}\",\"valid\":true}}\n"),
            (Some(Rejection { reason, .. }), true) => {
                format!("{{\"set\":\"{set}\",\"valid\":false,\"reason\":\"{reason}\"}}\n")
            }
        };
        if !self.quiet {
            print(&text)?;
        }
        Ok(match rejection {
            None => Status::Good,
            Some(rejection) => {
                if !self.quiet {
                    complain(rejection.sentence);
                }
                Status::Invalid
            }
        })
    }
}

/// The reason for an invalid signature: a word for programs, a sentence for users.
struct Rejection {
    reason: &'static str,
    sentence: String,
}

impl Rejection {
    fn new(set: Set, error: VerifyError, signature: &[u8]) -> Self {
        let sentence = match error {
            VerifyError::SignatureLength => match Set::from_signature_len(signature.len()) {
                Some(other) => {
                    format!("this is as long as an {other} signature; the key is of {set}")
                }
                None => format!(
                    "a signature of {set} has {} bytes, not {}",
                    set.signature_len(),
                    signature.len()
                ),
            },
            VerifyError::HintEncoding | VerifyError::ResponseNorm => {
                "this is no signature of any message: damaged, or not made by ML-DSA".into()
            }
            _ => "the signature is for another message, context or key, or it is damaged".into(),
        };
        Self {
            reason: RejectReason::from(error).name(),
            sentence,
        }
    }
}

fn verify(args: &Args, key: &AnyVerifyingKey) -> io::Result<Result<(), Rejection>> {
    let signature = read_signature(&args.sig, key.set().signature_len())?;
    let mu = if args.mu {
        args.message.read_mu()?
    } else if args.message.context().is_none() {
        return Ok(Err(Rejection {
            reason: "context_too_long",
            sentence: "a context has 255 bytes at most".into(),
        }));
    } else {
        args.message.mu(key)?
    };
    Ok(key
        .verify_mu(&mu, &signature)
        .map_err(|error| Rejection::new(key.set(), error, &signature)))
}
