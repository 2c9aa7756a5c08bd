//! The choices of a verifier.

#[cfg(doc)]
use crate::Reason;

/// How far a batch is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything.
    #[default]
    Full,
    /// Up to the lowest failing index, whatever the scheduling: every item
    /// below it is `Valid`, every item above it is `Skipped`, also if a worker
    /// had verified it already.
    FirstInvalid,
    /// As little as possible once something failed. Which items are `Skipped`,
    /// and which of several failures is seen, depends on scheduling; whether
    /// there is a failure does not. Never build blame on it.
    AnyInvalid,
}

/// Items that a worker takes at once. Verdicts do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchSize {
    /// Chosen from the size of the batch: 8 to 32, four takes a worker.
    #[default]
    Auto,
    /// This many; zero is an error. Multiples of 8 fill the lanes.
    Fixed(usize),
}

/// What happens to items that repeat an earlier one of the batch: the same
/// signer, message, context and signature, in the same form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Verified once; repeats share the verdict and are listed in the report.
    /// In the modes that stop early, repeats far apart may go unnoticed.
    #[default]
    Once,
    /// Not looked for.
    Verify,
    /// Repeats are refused with [`Reason::Duplicate`].
    Reject,
}
