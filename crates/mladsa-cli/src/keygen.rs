//! `keygen`: the store of a member, and its registration for an epoch.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mladsa_aggregate::{Epoch, MemberName};
use mldsa_core::Randomness;

use crate::store::{Store, StoreArgs};
use crate::{failed, files};

/// Parameters of an epoch, the same for all members.
#[derive(clap::Args)]
pub(crate) struct EpochArgs {
    /// Domain, 0 to 223 bytes, which is a part of the context of every aggregate
    #[arg(long, default_value = "mladsa")]
    domain: String,
    /// Number of the epoch
    #[arg(long)]
    epoch: u64,
    /// Number of decisions in the epoch
    #[arg(long, default_value_t = 4)]
    slots: u32,
    /// Attempts at each decision, at most 64
    #[arg(long, default_value_t = 8)]
    attempts: u8,
}

impl EpochArgs {
    pub(crate) fn epoch(&self) -> io::Result<Arc<Epoch>> {
        let domain = self.domain.as_bytes();
        Epoch::new(domain, self.epoch, self.slots, self.attempts).map_err(failed)
    }
}

/// Create the store of a member, or move it to a later epoch, and write its registration
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Name of the member: 1 to 64 letters, digits, dots, hyphens and underscores
    #[arg(long)]
    id: String,
    #[command(flatten)]
    epoch: EpochArgs,
    /// File of the registration, which is public
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> io::Result<()> {
    let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !args.id.chars().all(valid) || args.id.starts_with('.') {
        return Err(io::Error::other(
            "a name has letters, digits, dots, hyphens and underscores",
        ));
    }
    let id = MemberName::new(args.id.as_bytes()).map_err(failed)?;
    let epoch = args.epoch.epoch()?;
    let store = if args.store.exists() {
        let mut store = Store::open(&args.store)?;
        if store.id != id {
            return Err(io::Error::other("the store belongs to another member"));
        }
        if store.epoch != epoch {
            store.advance(&epoch)?;
        }
        store
    } else {
        Store::create(&args.store, id, &epoch)?
    };
    let mut rnd = [0; 32];
    getrandom::fill(&mut rnd)?;
    let registration = store.member()?.register(Randomness::Hedged(&rnd));
    files::write(
        &args.out,
        &registration.map_err(failed)?.to_bytes(),
        true,
        true,
    )
}
