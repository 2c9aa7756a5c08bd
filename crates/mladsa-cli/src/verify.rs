//! `verify`: a certificate against a committee.

use std::io::{self, Write};
use std::path::PathBuf;

use mladsa_aggregate::AggregateCertificate;
use serde_json::json;

use crate::committee::{DecisionArgs, PAYLOAD};
use crate::{failed, files};

/// Verify the certificate of a decision against a committee
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    decision: DecisionArgs,
    /// Print one line of JSON: valid, and signers or reason
    #[arg(long)]
    json: bool,
    /// File of the certificate
    certificate: PathBuf,
}

pub(crate) fn run(args: &Args) -> io::Result<bool> {
    let (committee, task) = (args.decision.committee()?, args.decision.task()?);
    let limit = PAYLOAD + 7_000 * committee.len() as u64 + 10_000;
    let certificate = AggregateCertificate::from_bytes(&files::read(&args.certificate, limit)?);
    let certificate = certificate.map_err(failed)?;
    let verdict = certificate.verify(committee.view(), &task);
    let valid = verdict.is_ok();
    let line = match verdict {
        Ok(round) => {
            let signers: Vec<String> = round.ids().map(ToString::to_string).collect();
            match args.json {
                true => json!({ "valid": valid, "signers": signers }).to_string(),
                false => format!("valid, signed by {}", signers.join(" ")),
            }
        }
        Err(error) if args.json => {
            json!({ "valid": valid, "reason": error.to_string() }).to_string()
        }
        Err(error) => format!("invalid: {error}"),
    };
    writeln!(io::stdout(), "{line}")?;
    Ok(valid)
}
