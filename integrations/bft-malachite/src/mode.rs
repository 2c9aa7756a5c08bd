//! The ways to verify that are compared.

use clap::ValueEnum;
use harness::Strategy;

/// Who verifies, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// At the door, one call of a [`BatchVerifier`](batch_verify::BatchVerifier) for all that has
    /// arrived.
    Batched,
    /// At the door, by an [`Intake`](batch_verify::Intake), which remembers.
    Intake,
    /// Where the engine asks, with prepared keys.
    PerVote,
    /// Where the engine asks, the key expanded for each signature.
    ColdKeys,
    /// Where the engine asks, by `aws-lc-rs`.
    AwsLc,
}

impl Mode {
    /// As on the command line and in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            _ => self.how().name(),
        }
    }

    /// Which library verifies, and with which keys.
    #[must_use]
    pub fn how(self) -> Strategy {
        match self {
            Self::Batched | Self::Intake => Strategy::Batched,
            Self::PerVote => Strategy::PerVote,
            Self::ColdKeys => Strategy::ColdKeys,
            Self::AwsLc => Strategy::AwsLc,
        }
    }

    /// Whether all that arrives is verified before the engine sees it.
    #[must_use]
    pub fn verifies_on_arrival(self) -> bool {
        self.how() == Strategy::Batched
    }
}
