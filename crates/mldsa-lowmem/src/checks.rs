//! Fault checks of signing, selected by type: what is not selected is not linked.

mod sealed {
    pub trait Sealed {}
}

/// The fault checks that a signature passes before it is released.
pub trait Checks: sealed::Sealed + 'static {
    /// Whether y, and in the tiers with a second pass w1, is computed twice.
    #[doc(hidden)]
    const RECOMPUTES: bool;
    /// Whether the signature is verified, and the hash of the public key compared with `tr`.
    #[doc(hidden)]
    const VERIFIES: bool;
}

/// Both kinds of checks, the default.
#[derive(Clone, Copy, Debug)]
pub enum AllChecks {}

/// Masks and commitments are computed twice, but signatures are not verified: no code of
/// verification is linked. Does not detect a damaged key.
#[derive(Clone, Copy, Debug)]
pub enum Recomputation {}

/// No check. A key with a damaged `tr` gives signatures that do not verify.
#[derive(Clone, Copy, Debug)]
pub enum NoChecks {}

impl sealed::Sealed for AllChecks {}
impl sealed::Sealed for Recomputation {}
impl sealed::Sealed for NoChecks {}

impl Checks for AllChecks {
    const RECOMPUTES: bool = true;
    const VERIFIES: bool = true;
}

impl Checks for Recomputation {
    const RECOMPUTES: bool = true;
    const VERIFIES: bool = false;
}

impl Checks for NoChecks {
    const RECOMPUTES: bool = false;
    const VERIFIES: bool = false;
}
