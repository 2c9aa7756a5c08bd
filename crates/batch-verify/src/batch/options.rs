//! Options of a verifier.

#[cfg(doc)]
use crate::RejectReason;

/// Extent of the verification of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every item.
    #[default]
    Full,
    /// Up to the lowest failing index, for any scheduling: every item below it is `Valid`,
    /// every item above it is `Skipped`, also if a worker had verified it already.
    FirstInvalid,
    /// As little as possible after a failure. Which items are `Skipped`, and which of several
    /// failures is reported, depends on scheduling; whether there is a failure does not.
    /// Never penalise a signer because of it.
    AnyInvalid,
}

/// Number of items that a worker verifies at once. Verdicts do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchSize {
    /// Chosen from the size of the batch: 8 to 32, four chunks a worker.
    #[default]
    Auto,
    /// This many; zero is an error. Multiples of 8 fill the lanes.
    Fixed(usize),
}

/// Treatment of items that equal an earlier one of the batch: the same signer, message,
/// context and signature, in the same form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Verified once; duplicates share the verdict and are listed in the report. In the
    /// modes that stop early, duplicates far apart may go unnoticed.
    #[default]
    Once,
    /// Not detected; each is verified.
    Verify,
    /// Rejected with [`RejectReason::Duplicate`].
    Reject,
}
