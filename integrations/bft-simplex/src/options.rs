//! What to run.

use std::fmt;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use commonware_utils::{Faults as _, N3f1};
use measure::{How, Set};

use crate::RunError;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Net {
    /// The deterministic simulator: virtual time, which does not pass while a CPU computes.
    Sim,
    /// TCP on localhost, all validators in one process.
    Tcp,
    /// TCP on localhost, one process a validator.
    Procs,
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sim => "sim",
            Self::Tcp => "tcp",
            Self::Procs => "procs",
        })
    }
}

/// commonware's simplex with ML-DSA votes.
#[derive(Clone, Debug, Parser)]
#[command(name = "bft-simplex", version, about)]
pub struct Options {
    /// What carries the messages.
    #[arg(long, value_enum, default_value_t = Net::Sim)]
    pub net: Net,
    /// Members of the committee.
    #[arg(long, default_value_t = 16)]
    pub validators: usize,
    /// The run ends when every honest member has finalised this view or a later one.
    #[arg(long, default_value_t = 50)]
    pub views: u64,
    /// ML-DSA-44, 65 or 87.
    #[arg(long, value_enum, default_value = "65")]
    pub set: Set,
    /// Who verifies: a run and a row for each.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "batched,one-by-one,cold,aws-lc"
    )]
    pub how: Vec<How>,
    /// Rows as lines of JSON.
    #[arg(long)]
    pub json: bool,
    /// Members that spoil every signature they make.
    #[arg(long, default_value_t = 0)]
    pub spoil: usize,
    /// Members that attack instead of voting: votes of the wrong kind, floods, malformed votes,
    /// unknown signers, replays, one kind each (sim).
    #[arg(long, default_value_t = 0)]
    pub hostile: usize,
    /// The last member crashes after a third of the views, and returns (sim, procs).
    #[arg(long)]
    pub crash: bool,
    /// A second epoch follows, with one member exchanged and all in a new order (sim).
    #[arg(long)]
    pub epoch: bool,
    /// Half of the members never start, and the others sign with fresh randomness: timeouts make
    /// them nullify again, and they block each other. With the same bytes each time they do not,
    /// which is run first (sim).
    #[arg(long)]
    pub hedged: bool,
    /// Bandwidth of each member, each way, in Mbit/s (sim).
    #[arg(long)]
    pub mbit: Option<u32>,
    /// Latency of each link in milliseconds (sim).
    #[arg(long, default_value_t = 10)]
    pub latency_ms: u64,
    /// Threads that verify. The figures a vote are those of the calling one (tcp, procs).
    #[arg(long, default_value_t = 1)]
    pub workers: usize,
    /// The first port (tcp, procs).
    #[arg(long, default_value_t = 41_000)]
    pub port: u16,
    /// After so many seconds, virtual ones in the simulator, a run has failed.
    #[arg(long, default_value_t = 600)]
    pub seconds: u64,
    /// Which validator this process is.
    #[arg(long, hide = true)]
    pub node: Option<usize>,
    /// Where this process keeps its journals.
    #[arg(long, hide = true)]
    pub storage: Option<PathBuf>,
}

impl Options {
    /// Members that do not do as they should.
    pub(crate) fn faulty(&self) -> usize {
        self.spoil.saturating_add(self.hostile)
    }

    /// One view of the same committee without faults.
    pub(crate) fn warm_up(&self) -> Self {
        Self {
            views: 1,
            spoil: 0,
            hostile: 0,
            crash: false,
            epoch: false,
            hedged: false,
            ..self.clone()
        }
    }

    /// Whether these options go together.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let range = |holds, option, range| match holds {
            true => Ok(()),
            false => Err(RunError::Range { option, range }),
        };
        // Ports, and the memory of whoever runs it, end about there.
        range(
            (1..=1_000).contains(&self.validators),
            "--validators",
            "1 to 1000",
        )?;
        range(
            (1..=1_000_000).contains(&self.views),
            "--views",
            "1 to 1000000",
        )?;
        range((1..=64).contains(&self.workers), "--workers", "1 to 64")?;
        range(
            (1..=1_000_000).contains(&self.seconds),
            "--seconds",
            "1 to 1000000",
        )?;
        range(self.latency_ms <= 60_000, "--latency-ms", "at most 60000")?;
        range(self.mbit != Some(0), "--mbit", "at least 1")?;
        let last = usize::from(self.port).saturating_add(self.validators);
        range(last <= 1 << 16, "--port", "low enough for all validators")?;
        let known = self.node.is_none_or(|node| node < self.validators);
        range(known, "--node", "a validator")?;

        let here = |asked: bool, option, nets: &[Net]| match asked && !nets.contains(&self.net) {
            true => Err(RunError::NotHere {
                option,
                net: self.net,
            }),
            false => Ok(()),
        };
        here(self.hostile > 0, "--hostile", &[Net::Sim])?;
        here(self.epoch, "--epoch", &[Net::Sim])?;
        here(self.hedged, "--hedged", &[Net::Sim])?;
        range(
            !self.hedged
                || self.validators >= 4 && !self.crash && !self.epoch && self.faulty() == 0,
            "--hedged",
            "with at least 4 validators and without other faults",
        )?;
        here(self.mbit.is_some(), "--mbit", &[Net::Sim])?;
        here(self.crash, "--crash", &[Net::Sim, Net::Procs])?;

        let asked = self.faulty().saturating_add(usize::from(self.crash));
        let limit = N3f1::max_faults(self.validators) as usize;
        if asked > limit {
            return Err(RunError::TooManyFaulty {
                validators: self.validators,
                limit,
                asked,
            });
        }
        Ok(())
    }
}
