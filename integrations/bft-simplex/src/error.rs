//! Why a run failed.

use std::path::PathBuf;

use commonware_mldsa::{CommitteeError, NotAMember};
use thiserror::Error;

use crate::Net;

/// Why a run failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// A committee of this size does not stand so many faults.
    #[error("{validators} validators stand {limit} faulty ones, not {asked}")]
    TooManyFaulty {
        /// Its size.
        validators: usize,
        /// What it stands.
        limit: usize,
        /// What was asked for.
        asked: usize,
    },
    /// An option that this network does not have.
    #[error("{option} does not go with --net {net}")]
    NotHere {
        /// The option.
        option: &'static str,
        /// The network.
        net: Net,
    },
    /// An option out of its range.
    #[error("{option} must be {range}")]
    Range {
        /// The option.
        option: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// The committee could not be made.
    #[error(transparent)]
    Committee(#[from] CommitteeError),
    /// A member's key is not in the committee.
    #[error(transparent)]
    Member(#[from] NotAMember),
    /// The network of the simulator refused a channel, a link or a limit.
    #[error("the simulated network: {0}")]
    Network(#[from] commonware_p2p::simulated::Error),
    /// A port that somebody else listens on.
    #[error("port {port}: {source}; --port chooses others")]
    Port {
        /// Which.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// Journals that another process writes.
    #[error("another process keeps its journals in {0}")]
    InUse(PathBuf),
    /// It took too long.
    #[error("after {seconds} s still waiting for {waiting_for}")]
    OutOfTime {
        /// The limit.
        seconds: u64,
        /// What did not happen.
        waiting_for: String,
    },
    /// What the run claims did not hold.
    #[error("not so: {0}")]
    Claim(String),
    /// A validator's process ended badly.
    #[error("validator {node} ended with {status}")]
    Process {
        /// Which.
        node: usize,
        /// How.
        status: String,
    },
    /// Files, processes.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A row that could not be written or read.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl RunError {
    /// `Ok` if `holds`, else the claim.
    pub(crate) fn unless(holds: bool, claim: impl FnOnce() -> String) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self::Claim(claim()))
        }
    }
}
