//! `mldsa inspect`.

use core::fmt::Write as _;
use std::io;

use base16ct::lower::encode_string;
use mldsa_core::PrivateKeyForm;
use serde_json::Value;

use crate::Status;
use crate::certificate::Claims;
use crate::json_request::with_set;
use crate::keyfile::{Content, KeyFileArgs};
use crate::paths::Files;
use crate::terminal::print;

/// Describe a key file and check that its parts belong together
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    key: KeyFileArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Prints kind, format, set and form, whether the key passed every check, a
fingerprint and the hash tr of the public key (SHAKE256, 64 bytes) of which it is
the first 16 bytes. Secrets are not printed. A certificate's fields are printed
too and are not verified: neither signature nor dates nor names. --json prints
one object with the same names; all values except `consistent` are strings.

EXIT CODE  0 a consistent key, 1 its parts do not belong together or are out of
range, 2 no key could be read.";

const UNCHECKED: &str = "signature, names, dates and extensions of the certificate";

impl Args {
    pub(crate) fn files(&self) -> Files<'_> {
        self.key.files().print()
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let file = args.key.read()?;
    let (kind, form) = match &file.content {
        Content::Public(_) if file.claims.is_some() => ("certificate", None),
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
    let claim = |claim: fn(&Claims) -> &String| file.claims.as_ref().map(|all| &**claim(all));
    let facts = [
        ("kind", Some(kind)),
        ("format", Some(file.format.name())),
        ("set", Some(file.set.name())),
        ("form", form),
        ("problem", tr.err()),
        ("fingerprint", hash.as_deref().map(|hash| &hash[..32])),
        ("tr", hash.as_deref()),
        ("subject", claim(|claims| &claims.subject)),
        ("issuer", claim(|claims| &claims.issuer)),
        ("not_before", claim(|claims| &claims.not_before)),
        ("not_after", claim(|claims| &claims.not_after)),
        ("unchecked", file.claims.as_ref().map(|_| UNCHECKED)),
    ];
    let consistent = tr.is_ok();
    let mut text = String::new();
    if args.json {
        text.push('{');
        for (fact, value) in facts {
            if let Some(value) = value {
                let _ = write!(text, "\"{fact}\":{},", Value::from(value));
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
