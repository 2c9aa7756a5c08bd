//! The meter with the timer of the MPS2 boards.

use core::ptr::{read_volatile, write_volatile};

use board_meter::{Meter, Use};

/// CMSDK timer 0: control, value, reload. Counts down, at 25 MHz.
const TIMER: *mut u32 = 0x4000_0000 as *mut u32;
/// Under `-icount shift=0` an instruction takes 1 ns.
const INSTRUCTIONS_PER_TICK: u64 = 40;
/// Bytes of stack that the deepest call may use.
const DEPTH: usize = 512 * 1024;

/// Starts the timer.
pub fn start() {
    // SAFETY: the timer's registers; nothing else uses it.
    unsafe {
        write_volatile(TIMER.add(2), u32::MAX);
        write_volatile(TIMER.add(1), u32::MAX);
        write_volatile(TIMER, 1);
    }
}

fn ticks() -> u32 {
    // SAFETY: the timer's value register.
    !unsafe { read_volatile(TIMER.add(1)) }
}

/// Runs `work` and reports what it used.
pub fn measure(work: impl FnMut()) -> Use {
    Meter::new(ticks, (INSTRUCTIONS_PER_TICK, 1), DEPTH).measure(work)
}
