//! The time-stamp counter where there is one, nanoseconds elsewhere.

#![allow(unsafe_code)]

/// What [`now`] counts: `"tsc"` or `"ns"`.
pub const UNIT: &str = if cfg!(target_arch = "x86_64") {
    "tsc"
} else {
    "ns"
};

/// The counter, read after every earlier instruction has finished and before
/// any later one starts.
#[cfg(target_arch = "x86_64")]
#[inline]
#[must_use]
pub fn now() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: LFENCE and RDTSC touch no memory; SSE2, which LFENCE needs, and
    // the counter belong to the x86-64 baseline.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Nanoseconds since the first call.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn now() -> u64 {
    use std::{sync::OnceLock, time::Instant};
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
