//! Options of a verifier.

/// Extent of the verification of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every item.
    #[default]
    Full,
    /// Up to the lowest failing index, for any scheduling: every item below it is
    /// valid, every item above it is `NotVerified`, also if a worker had verified it already.
    FirstInvalid,
    /// As little as possible after a failure. Which items are `NotVerified`, and which of several
    /// failures is reported, depends on scheduling; whether there is a failure does not.
    /// Never penalise a signer because of it.
    AnyInvalid,
}
