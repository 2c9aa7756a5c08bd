//! `mldsa inspect`.

use core::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use mldsa_core::PrivateKeyForm;

use crate::Status;
use crate::keyfile::{Content, KeyFile, SetOption, encode_bytes, name};
use crate::output::print;
use crate::request::with_set;

/// Say what a key file holds and whether its parts belong together
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// A private or public key: PEM, DER, raw or hex; - is standard input
    key: PathBuf,

    #[command(flatten)]
    set: SetOption,
}

const HELP: &str = "\
Prints kind, format, set and form, whether the key passed every check, and the
hash tr of the public key (SHAKE256, 64 bytes). Nothing secret.

EXIT CODE  0 a good key, 1 its parts do not belong together or are out of range,
2 no key could be read.";

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let file = KeyFile::read(&args.key, args.set.set)?;
    let (kind, form) = match &file.content {
        Content::Public(_) => ("public key", None),
        Content::Private(form, _) => ("private key", Some(form)),
    };
    let mut text = format!(
        "kind:       {kind}\nformat:     {}\nset:        {}\n",
        file.format.name(),
        name(file.set)
    );
    if let Some(form) = form {
        let form = match form {
            PrivateKeyForm::Seed => "seed",
            PrivateKeyForm::Expanded => "expanded",
            PrivateKeyForm::Both => "both",
        };
        let _ = writeln!(text, "form:       {form}");
    }
    let tr = with_set!(file.set, P => file.verifying_key::<P>().map(|key| *key.tr()));
    let status = match tr {
        Ok(tr) => {
            text.push_str("consistent: yes\ntr:         ");
            text.push_str(&String::from_utf8_lossy(&encode_bytes(&tr, true)));
            Status::Good
        }
        Err(why) => {
            let _ = writeln!(text, "consistent: no: {why}");
            Status::Invalid
        }
    };
    print(&[&args.key], &text)?;
    Ok(status)
}
