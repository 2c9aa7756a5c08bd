//! Command line.

use std::fmt;

use anyhow::ensure;
use clap::{Parser, ValueEnum};
use harness::{Arguments, check_faulty};

/// Network that carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Net {
    /// Deterministic simulator. Its clock is virtual and does not advance while a CPU computes.
    Sim,
    /// TCP on localhost, all validators in one process.
    Tcp,
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sim => "sim",
            Self::Tcp => "tcp",
        })
    }
}

/// commonware's simplex with ML-DSA votes.
#[derive(Clone, Debug, Parser)]
#[command(name = "bft-simplex", version, about, args_override_self = true)]
pub struct Options {
    /// Options common to all engines
    #[command(flatten)]
    pub common: Arguments,
    /// Network that carries the messages
    #[arg(long, value_enum, default_value_t = Net::Sim)]
    pub net: Net,
    /// The run ends when every honest member has finalised this view or a later one
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub views: u64,
    /// Members that attack instead of voting, one kind of attack each: votes of the wrong kind,
    /// floods, malformed votes, unknown signers, replays (sim)
    #[arg(long, default_value_t = 0)]
    pub attackers: usize,
    /// Stop the last member after a third of the views and restart it from its journal (sim)
    #[arg(long)]
    pub crash: bool,
    /// Run a second epoch: one member leaves, one joins, the order changes (sim)
    #[arg(long)]
    pub epoch: bool,
    /// Start only half of the members and sign with fresh randomness: repeated nullify votes then
    /// differ, and honest members block each other. A run with deterministic votes, which must not
    /// block any member, precedes it (sim)
    #[arg(long, conflicts_with_all = ["attackers", "byzantine", "crash", "epoch"])]
    pub hedged: bool,
    /// Bandwidth of each member and direction in Mbit/s (sim)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub mbit: Option<u32>,
    /// Latency of each link in milliseconds (sim)
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=60_000))]
    pub latency_ms: u64,
    /// Verification threads; `us` columns show the calling thread only (tcp)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: u32,
    /// First port (tcp)
    #[arg(long, default_value_t = 41_000)]
    pub port: u16,
    /// Seconds after which a run has failed; virtual in the simulator
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seconds: u64,
}

impl Options {
    /// Members of the first epoch.
    pub(crate) fn validators(&self) -> usize {
        self.common.validators
    }

    /// Members that attack or send wrong signatures.
    pub(crate) fn faulty(&self) -> usize {
        self.common.byzantine.saturating_add(self.attackers)
    }

    /// One view of the same committee without faults.
    pub(crate) fn warm_up(&self) -> Self {
        let mut options = Self {
            views: 1,
            attackers: 0,
            crash: false,
            epoch: false,
            hedged: false,
            ..self.clone()
        };
        options.common.byzantine = 0;
        options
    }

    /// Checks options that depend on each other.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let validators = self.validators();
        let last_port = usize::from(self.port).saturating_add(validators);
        ensure!(
            last_port <= 1 << 16,
            "--port: no port is left for the last validator"
        );
        ensure!(
            !self.hedged || validators >= 4,
            "--hedged: needs at least 4 validators"
        );
        for (used, option) in [
            (self.attackers > 0, "--attackers"),
            (self.epoch, "--epoch"),
            (self.hedged, "--hedged"),
            (self.mbit.is_some(), "--mbit"),
            (self.crash, "--crash"),
        ] {
            ensure!(
                !used || self.net == Net::Sim,
                "{option} cannot be combined with --net {}",
                self.net
            );
        }
        let crashed = usize::from(self.crash);
        check_faulty(validators, self.faulty().saturating_add(crashed))
    }
}
