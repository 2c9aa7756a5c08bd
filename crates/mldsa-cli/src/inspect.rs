//! `mldsa inspect`.

use core::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use base16ct::lower::encode_string;
use mldsa_core::PrivateKeyForm;

use crate::Status;
use crate::keyfile::{Content, KeyFile, SetOption, name};
use crate::output::{Files, print};
use crate::request::with_set;

/// Say what a key file holds and whether its parts belong together
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// A private or public key: PEM, DER, raw or hex; - is standard input
    key: PathBuf,

    #[command(flatten)]
    set: SetOption,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Prints kind, format, set and form, whether the key passed every check, a
fingerprint and the hash tr of the public key (SHAKE256, 64 bytes) of which it is
the first 16 bytes. Nothing secret. With --json one object with the same names,
all values strings but `consistent`.

EXIT CODE  0 a good key, 1 its parts do not belong together or are out of range,
2 no key could be read.";

impl Args {
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default().read([&*self.key]).print()
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let file = KeyFile::read(&args.key, args.set.set)?;
    let (kind, form) = match &file.content {
        Content::Public(_) => ("public key", None),
        Content::Private(form, _) => ("private key", Some(form)),
    };
    let form = form.map(|form| match form {
        PrivateKeyForm::Seed => "seed",
        PrivateKeyForm::Expanded => "expanded",
        PrivateKeyForm::Both => "both",
    });
    let tr = with_set!(file.set, P => file.verifying_key::<P>().map(|key| *key.tr()));
    let hash = tr.as_ref().ok().map(|tr| encode_string(tr));
    let facts = [
        ("kind", Some(kind)),
        ("format", Some(file.format.name())),
        ("set", Some(name(file.set))),
        ("form", form),
        ("problem", tr.err()),
        ("fingerprint", hash.as_deref().map(|hash| &hash[..32])),
        ("tr", hash.as_deref()),
    ];
    let consistent = tr.is_ok();
    let mut text = String::new();
    if args.json {
        text.push('{');
        for (fact, value) in facts {
            if let Some(value) = value {
                // No fact has anything to escape.
                let _ = write!(text, "\"{fact}\":\"{value}\",");
            }
        }
        let _ = writeln!(text, "\"consistent\":{consistent}}}");
    } else {
        for (fact, value) in facts {
            match (fact, value) {
                ("problem", None) => text.push_str("consistent:  yes\n"),
                ("problem", Some(why)) => {
                    let _ = writeln!(text, "consistent:  no: {why}");
                }
                (fact, Some(value)) => {
                    let _ = writeln!(text, "{:<12} {value}", format!("{fact}:"));
                }
                (_, None) => {}
            }
        }
    }
    print(&text)?;
    Ok(if consistent {
        Status::Good
    } else {
        Status::Invalid
    })
}
