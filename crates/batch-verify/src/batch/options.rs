//! Options of a verifier.

use core::num::NonZeroUsize;

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

/// Options of a verifier but its threads and keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    /// Items that a worker verifies at once; chosen for each batch if there are none.
    pub(crate) batch_size: Option<NonZeroUsize>,
    pub(crate) inline_below: usize,
    pub(crate) allow_weak_prehash: bool,
}

impl Options {
    pub(crate) const DEFAULT: Self = Self {
        mode: Mode::Full,
        batch_size: None,
        inline_below: 9,
        allow_weak_prehash: false,
    };
}
