//! Clock: the time-stamp counter on x86-64, nanoseconds elsewhere.

#![allow(unsafe_code)]

use core::time::Duration;
use std::{sync::OnceLock, thread, time::Instant};

/// CPU time of the current thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadTime(Duration);

impl ThreadTime {
    /// Reads the clock of the thread.
    ///
    /// # Panics
    /// On a system without such a clock.
    #[must_use]
    pub fn now() -> Self {
        let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
        Self(clock.now().expect("a clock of the thread").into())
    }

    /// Time since `self` was read, by the same thread.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().0 - self.0
    }
}

/// Unit of [`now`]: `"tsc"` or `"ns"`.
pub const UNIT: &str = if cfg!(target_arch = "x86_64") {
    "tsc"
} else {
    "ns"
};

/// Ticks of [`now`] in a second, measured at the first call.
#[must_use]
pub fn hz() -> f64 {
    static HZ: OnceLock<f64> = OnceLock::new();
    *HZ.get_or_init(|| {
        let (begin, ticks) = (Instant::now(), now());
        thread::sleep(Duration::from_millis(200));
        (now() - ticks) as f64 / begin.elapsed().as_secs_f64()
    })
}

/// Converts ticks of [`now`] to microseconds.
#[must_use]
pub fn us(ticks: f64) -> f64 {
    ticks / hz() * 1e6
}

/// Reads the counter after all earlier instructions have finished and before any later one starts.
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
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
