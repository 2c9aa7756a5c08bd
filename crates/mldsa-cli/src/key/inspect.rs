//! `mldsa inspect`.

use core::fmt::Write as _;
use std::io;

use base16ct::lower::encode_string;
use mldsa_core::{KeyError, PrivateKeyForm};
use serde_json::Value;

use crate::file::paths::Files;
use crate::key::parts::KeyContent;
use crate::key::{KeyFile, KeyFileArgs};
use crate::terminal::print;
use crate::{Status, Task};

/// Describe a key file and check that its parts belong together
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) key: KeyFileArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = r#"Prints kind, format, set and form, whether the key passed every check, a
fingerprint and the hash tr of the public key (SHAKE256, 64 bytes) of which it is
the first 16 bytes. Secrets are not printed. A certificate's fields are printed
too and are not verified: neither signature nor dates nor names. --json prints
one object with the same names; all values except `consistent` are strings. With
--json an error is {"error":".."} on standard output.

EXAMPLES
  Describe a key:
    mldsa inspect key.pem
  Get the fingerprint of a certificate's key:
    mldsa inspect --json node.crt | jq -r .fingerprint

EXIT CODE  0 a consistent key, 1 its parts do not belong together or are out of
range, 2 no key could be read."#;

const UNCHECKED: &str = "signature, names, dates and extensions of the certificate";

impl Task for Args {
    fn has_json_errors(&self) -> bool {
        self.json
    }

    fn files(&self) -> Files<'_> {
        self.key.files().print()
    }

    fn run(&self) -> io::Result<Status> {
        let file = self.key.read()?;
        let key = file.check().map(|key| *key.tr());
        let facts = facts(&file, key);
        let consistent = key.is_ok();
        let text = if self.json {
            json(&facts, consistent)
        } else {
            lines(&facts, consistent)
        };
        print(&text)?;
        Ok(if consistent {
            Status::Good
        } else {
            Status::Invalid
        })
    }
}

type Fact = (&'static str, String);

/// Collects what is known about a key whose hash is `tr`, or which is rejected for a reason.
fn facts(file: &KeyFile, tr: Result<[u8; 64], KeyError>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name, value: &str| facts.push((name, value.to_owned()));
    add(
        "kind",
        match (&file.content, &file.claims) {
            (KeyContent::Private(_), _) => "private key",
            (KeyContent::Public(_), None) => "public key",
            (KeyContent::Public(_), Some(_)) => "certificate",
        },
    );
    add("format", file.format.name());
    add("set", file.content.set().name());
    if let KeyContent::Private(parts) = &file.content {
        add(
            "form",
            match parts.form {
                PrivateKeyForm::Seed => "seed",
                PrivateKeyForm::Expanded => "expanded",
                PrivateKeyForm::Both => "both",
            },
        );
        if let Some(name) = parts.older_form {
            add("older_form", name);
        }
    }
    match tr {
        Err(why) => add("problem", &why.to_string()),
        Ok(tr) => {
            let hash = encode_string(&tr);
            add("fingerprint", &hash[..32]);
            add("tr", &hash);
        }
    }
    if let Some(claims) = &file.claims {
        add("subject", &claims.subject);
        add("issuer", &claims.issuer);
        add("not_before", &claims.not_before);
        add("not_after", &claims.not_after);
        add("unchecked", UNCHECKED);
    }
    facts
}

fn json(facts: &[Fact], consistent: bool) -> String {
    let mut text = String::from("{");
    for (name, value) in facts {
        let _ = write!(text, "\"{name}\":{},", Value::from(&**value));
    }
    let _ = writeln!(text, "\"consistent\":{consistent}}}");
    text
}

/// Formats the facts one a line; whether the key is consistent comes before its hash.
fn lines(facts: &[Fact], consistent: bool) -> String {
    let mut text = String::new();
    for (name, value) in facts {
        match *name {
            "problem" => {
                let _ = writeln!(text, "consistent:  no: {value}");
                continue;
            }
            "fingerprint" if consistent => text.push_str("consistent:  yes\n"),
            _ => {}
        }
        let _ = writeln!(text, "{:<12} {value}", format!("{name}:"));
    }
    text
}
