//! Command-line options common to the engine programs.

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use mldsa_core::Set;

use crate::Strategy;

/// Options of every engine program.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Verification strategies, one run and one row each (default: all that the engine supports)
    #[arg(long, value_enum, value_delimiter = ',')]
    pub strategy: Vec<Strategy>,
    /// ML-DSA parameter set
    #[arg(long, default_value = "ML-DSA-65")]
    pub set: Set,
    /// Number of validators
    #[arg(long, default_value_t = 16,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub validators: usize,
    /// Number of validators that send wrong signatures; must be below one third of all
    #[arg(long, default_value_t = 0)]
    pub byzantine: usize,
    /// Print JSON lines instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// The requested strategies, or `supported` if the command line names none.
    #[must_use]
    pub fn strategies(&self, supported: &[Strategy]) -> Vec<Strategy> {
        match &self.strategy[..] {
            [] => supported.to_vec(),
            named => named.to_vec(),
        }
    }
}

/// Checks that fewer than one third of the validators are faulty.
///
/// # Errors
/// A message with both numbers.
pub fn check_faulty(validators: usize, faulty: usize) -> anyhow::Result<()> {
    let tolerated = validators.saturating_sub(1) / 3;
    ensure!(
        faulty <= tolerated,
        "{validators} validators tolerate {tolerated} faulty ones, not {faulty}"
    );
    Ok(())
}

/// Time after which a run counts as hung: 600 s, or `MLDSA_TEST_HANG_SECONDS`.
///
/// A detector of deadlocks, never a measurement: it has to be far above the run time on a loaded
/// machine.
#[must_use]
pub fn hang_limit() -> Duration {
    let seconds = std::env::var("MLDSA_TEST_HANG_SECONDS");
    let seconds = seconds.ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(600))
}
