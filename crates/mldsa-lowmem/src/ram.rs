//! RAM of operations, for a build to check.

use mldsa_core::ParameterSet;
use mldsa_core::internals::Permutation;

use crate::tier::{Tier, Workspace};

/// An operation whose RAM [`ram`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// [`SigningKey::keygen_into`](crate::SigningKey::keygen_into).
    Keygen,
    /// [`SigningKey::keygen_to_writers`](crate::SigningKey::keygen_to_writers) of a public key.
    KeygenToWriters,
    /// Verification of key and signature in memory.
    Verify,
    /// [`VerifyingKey::verify_mu_from`](crate::VerifyingKey::verify_mu_from) and `tr_from`.
    VerifyFrom,
    /// Signing from an [`ExpandedSigningKey`](crate::ExpandedSigningKey), whatever the checks.
    Sign,
    /// Signing from a [`SigningKey`](crate::SigningKey) on the stack, whatever the checks.
    SignFromSeed,
}

/// Returns the most bytes of RAM that an operation takes: stack below the call, and the workspace of the tier where
/// it signs. Buffers of key, message and signature, and the stack of a permutation of the program, are not counted.
///
/// It is a bound for release builds (opt-levels 2, 3, `s` and `z`) on 32-bit targets. Programs of `contrib/boards` measure
/// the stack on a Cortex-M4, Cortex-M0 and RV32, and fail where it is more.
///
/// ```
/// use mldsa_lowmem::{Minimal, MlDsa65, Operation, ram};
///
/// const _: () = assert!(ram::<MlDsa65, Minimal>(Operation::Sign) <= 4_100);
/// ```
#[must_use]
pub const fn ram<P: ParameterSet, T: Tier<P>>(operation: Operation) -> usize {
    let (stack, workspace) = match operation {
        Operation::Keygen => (2_450, 0),
        Operation::KeygenToWriters => (3_500, 0),
        Operation::Verify => (2_750, 0),
        Operation::VerifyFrom => (3_950, 0),
        Operation::Sign => (3_400, Workspace::<P, T>::LEN),
        Operation::SignFromSeed => (4_150, Workspace::<P, T>::LEN),
    };
    stack + Permutation::MORE_STACK + workspace
}
