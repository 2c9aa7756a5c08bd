//! `committee`: assembles a committee from registrations, or shows one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use mladsa_aggregate::{Registration, SigningCommittee, SigningTask};

use crate::keygen::EpochArgs;
use crate::{failed, files};

/// Greatest length of the file of a committee.
const LIMIT: u64 = 1 << 26;
/// Greatest length of a payload.
pub(crate) const PAYLOAD: u64 = 1 << 24;

/// Assemble a committee from registrations and print its identity
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    epoch: EpochArgs,
    /// Smallest weight of the signers; more than two thirds of the sum if it is absent
    #[arg(long)]
    threshold: Option<u64>,
    /// File of the committee
    #[arg(long)]
    out: PathBuf,
    /// Files of registrations; FILE=WEIGHT gives a weight other than one
    #[arg(required = true)]
    registrations: Vec<String>,
}

pub(crate) fn run(args: &Args) -> io::Result<()> {
    let mut members = Vec::new();
    for argument in &args.registrations {
        let (file, weight) = match argument.rsplit_once('=') {
            Some((file, weight)) => (file, weight.parse().map_err(io::Error::other)?),
            None => (argument.as_str(), 1),
        };
        let bytes = files::read(Path::new(file), 1 << 14)?;
        members.push((Registration::from_bytes(&bytes).map_err(failed)?, weight));
    }
    let total = members
        .iter()
        .fold(0u64, |sum, (_, weight)| sum.saturating_add(*weight));
    let threshold = args
        .threshold
        .unwrap_or(SigningCommittee::two_thirds(total));
    let committee =
        SigningCommittee::new(&args.epoch.epoch()?, members, threshold).map_err(failed)?;
    files::write(&args.out, &committee.to_bytes(), true, true)?;
    show(&committee)
}

fn show(committee: &SigningCommittee) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "identity: {}", encode_string(committee.identity()))?;
    for (id, weight) in committee.members() {
        writeln!(out, "member: {id} weight {weight}")?;
    }
    writeln!(out, "threshold: {}", committee.view().threshold())
}

/// A decision of a committee.
#[derive(clap::Args)]
pub(crate) struct DecisionArgs {
    /// File of the committee
    #[arg(long)]
    committee: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// Slot of the decision, which is signed once in an epoch
    #[arg(long)]
    slot: u32,
    /// File with what is decided
    #[arg(long, value_name = "FILE")]
    payload: PathBuf,
}

/// Why the committee is trusted.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct TrustArgs {
    /// Identity of the committee from a trusted source, in hex digits
    #[arg(long)]
    identity: Option<String>,
    /// Trust the committee in the file: whoever wrote it decides what is valid
    #[arg(long)]
    trust_committee: bool,
}

impl DecisionArgs {
    /// Reads the committee. The identity decides what is trusted, so it is compared, or shown to a
    /// user who trusts the file.
    pub(crate) fn committee(&self) -> io::Result<Arc<SigningCommittee>> {
        let bytes = files::read(&self.committee, LIMIT)?;
        let committee = SigningCommittee::from_bytes(&bytes).map_err(failed)?;
        let own = encode_string(committee.identity());
        match &self.trust.identity {
            Some(expected) if *expected != own => {
                let why = format!("the committee has the identity {own}");
                return Err(io::Error::other(why));
            }
            Some(_) => {}
            None => eprintln!("mladsa: trusting the committee {own}"),
        }
        Ok(committee)
    }

    pub(crate) fn task(&self) -> io::Result<SigningTask> {
        let payload = files::read(&self.payload, PAYLOAD)?;
        Ok(SigningTask::decision(self.slot, &payload))
    }
}
