//! `verify`: a certificate against a committee.

use std::io::{self, Write};
use std::path::PathBuf;

use mladsa_aggregate::{Certificate, SigningTask};

use crate::{committee, failed, files};

/// Verify the certificate of a decision against a committee
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of the committee
    #[arg(long)]
    committee: PathBuf,
    /// Identity of the committee from a trusted source, in hex digits
    #[arg(long)]
    identity: Option<String>,
    /// Slot of the decision
    #[arg(long)]
    slot: u32,
    /// What was decided
    #[arg(long)]
    payload: PathBuf,
    /// File of the certificate
    certificate: PathBuf,
}

/// Greatest length of a payload.
pub(crate) const PAYLOAD: u64 = 1 << 24;

pub(crate) fn run(args: &Args) -> io::Result<bool> {
    let committee = committee::load(&args.committee, args.identity.as_deref())?;
    let task = SigningTask::decision(args.slot, &files::read(&args.payload, PAYLOAD)?);
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
