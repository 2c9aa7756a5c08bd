//! `verify`: a certificate against a committee.

use std::io::{self, Write};
use std::path::PathBuf;

use mladsa_aggregate::Certificate;

use crate::committee::{DecisionArgs, PAYLOAD};
use crate::{failed, files};

/// Verify the certificate of a decision against a committee
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    decision: DecisionArgs,
    /// File of the certificate
    certificate: PathBuf,
}

pub(crate) fn run(args: &Args) -> io::Result<bool> {
    let (committee, task) = (args.decision.committee()?, args.decision.task()?);
    let limit = PAYLOAD + 7_000 * committee.len() as u64 + 10_000;
    let certificate = Certificate::from_bytes(&files::read(&args.certificate, limit)?);
    let certificate = certificate.map_err(failed)?;
    match certificate.verify(committee.view(), &task) {
        Ok(round) => {
            let ids: Vec<String> = round.ids().map(ToString::to_string).collect();
            writeln!(io::stdout(), "valid, signed by {}", ids.join(" "))?;
            Ok(true)
        }
        Err(error) => {
            writeln!(io::stdout(), "invalid: {error}")?;
            Ok(false)
        }
    }
}
