//! Keys, faults and limits that the engine programs share.

use std::time::Duration;

use anyhow::ensure;
use mldsa_core::{ParameterSet, SigningKey};
use rustix::time::{ClockId, clock_gettime};

/// Returns the signing key of validator `n`. The seed is fixed, so that runs are repeatable.
#[must_use]
pub fn signing_key<P: ParameterSet>(n: usize) -> SigningKey<P> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&(n as u64 + 1).to_le_bytes());
    SigningKey::from_seed(&seed)
}

/// Returns the signature with the lowest bit of its challenge flipped: well formed and invalid.
#[must_use]
pub fn flip_bit(signature: &[u8]) -> Vec<u8> {
    let mut bytes = signature.to_vec();
    if let Some(byte) = bytes.first_mut() {
        *byte ^= 1;
    }
    bytes
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

/// Returns the time after which a run counts as hung: 600 s, or `MLDSA_TEST_HANG_SECONDS`.
///
/// A detector of deadlocks, never a measurement: it has to be far above the run time on a loaded
/// machine.
#[must_use]
pub fn hang_limit() -> Duration {
    let seconds = std::env::var("MLDSA_TEST_HANG_SECONDS");
    let seconds = seconds.ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(600))
}

/// Returns CPU time of the current thread since it was started.
#[must_use]
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
