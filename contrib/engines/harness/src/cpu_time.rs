//! Clocks of CPU time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Reads a clock that counts from the start of a thread or process, so never below zero.
fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

macro_rules! clocks {
    ($($(#[$doc:meta])* $name:ident: $clock:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(Duration);

        impl $name {
            /// Reads the clock.
            #[must_use]
            pub fn now() -> Self {
                Self(read(ClockId::$clock))
            }

            /// CPU time since `self` was read.
            #[must_use]
            pub fn elapsed(&self) -> Duration {
                Self::now().0 - self.0
            }
        }
    )+};
}
clocks! {
    /// CPU time of the current thread.
    ThreadTime: ThreadCPUTime;
    /// CPU time of the process.
    ProcessTime: ProcessCPUTime;
}
