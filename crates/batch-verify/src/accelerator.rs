//! Verification of whole batches by a device, such as a GPU.

use core::error::Error;

use mldsa_core::{Context, Mu, ParameterSet};

use crate::MemberId;

/// A device that verifies many signatures at once, for a verifier's
/// [`accelerator`](crate::VerifierBuilder::accelerator).
///
/// It only decides which signatures are valid. All others are verified by the CPU, which gives the
/// reason: reports are the same with and without it.
pub trait Accelerator<P: ParameterSet>: Send + Sync {
    /// Returns the least number of signatures for which a call is worthwhile.
    fn min_batch(&self) -> usize;

    /// Sets `answers[n]` to whether `jobs[n]` is valid, or leaves it to the CPU. Both lists have one
    /// length, and all answers are `None` before the call. Called on the thread that called the
    /// verifier, from several threads at once, with signatures that are no duplicates.
    ///
    /// # Errors
    /// The device's own, if it does not answer. The CPU then verifies the whole batch, whatever was
    /// written, as it does after a panic.
    fn verify(
        &self,
        jobs: &[AcceleratorJob<'_>],
        answers: &mut [Option<bool>],
    ) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Tells that the CPU has found a signature valid of which [`verify`](Self::verify) has said
    /// that it is not. The CPU verifies the whole batch then.
    fn on_wrong_rejection(&self) {}
}

/// A signature for an [`Accelerator`]: lengths are checked, encodings are not.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AcceleratorJob<'a> {
    /// The encoded public key, of `P::PK_LEN` bytes.
    pub key: &'a [u8],
    /// The member of a committee whose key it is, if any. Equal ids have equal keys.
    pub member: Option<MemberId>,
    /// The signed message.
    pub message: AcceleratorMessage<'a>,
    /// The encoded signature, of `P::SIG_LEN` bytes.
    pub signature: &'a [u8],
}

/// A message for an [`Accelerator`]. Messages in pieces and HashML-DSA are verified by the CPU.
#[derive(Clone, Copy, Debug)]
pub enum AcceleratorMessage<'a> {
    /// A message under a context, of pure ML-DSA (FIPS 204, algorithm 3).
    Pure {
        /// The context.
        context: Context<'a>,
        /// The message.
        message: &'a [u8],
    },
    /// The message representative (FIPS 204, algorithm 8, line 7).
    Mu(&'a Mu),
}
