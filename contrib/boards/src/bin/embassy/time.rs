//! A driver of time for Embassy: one interrupt of SysTick every million instructions.

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Waker;

use cortex_m::peripheral::SYST;
use cortex_m_rt::exception;
use critical_section::Mutex;
use embassy_time_driver::{Driver, time_driver_impl};
use embassy_time_queue_utils::Queue;

/// Ticks of the 25 MHz clock, in which 40 instructions are executed each.
const RELOAD: u32 = 25_000 - 1;

struct SysTickDriver {
    /// Interrupts since the start: enough for 49 days.
    now: AtomicU32,
    queue: Mutex<RefCell<Queue>>,
}

time_driver_impl!(static DRIVER: SysTickDriver = SysTickDriver {
    now: AtomicU32::new(0),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

impl Driver for SysTickDriver {
    fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed).into()
    }

    // The next interrupt looks at the queue.
    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| self.queue.borrow_ref_mut(cs).schedule_wake(at, waker));
    }
}

#[exception]
fn SysTick() {
    let now = DRIVER.now.load(Ordering::Relaxed) + 1;
    DRIVER.now.store(now, Ordering::Relaxed);
    critical_section::with(|cs| DRIVER.queue.borrow_ref_mut(cs).next_expiration(now.into()));
}

/// Starts the interrupts.
pub fn start() {
    // SAFETY: the only use of SysTick.
    unsafe {
        (*SYST::PTR).rvr.write(RELOAD);
        (*SYST::PTR).cvr.write(0);
        // The clock of the CPU, interrupts, on.
        (*SYST::PTR).csr.write(0b111);
    }
}

/// Returns the instructions since the last interrupt was due.
pub fn instructions_since_tick() -> u32 {
    40 * (RELOAD - SYST::get_current())
}
