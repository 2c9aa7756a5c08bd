//! Peak stack by paint and scan, and instructions by the board's timer.

use core::arch::asm;
use core::ptr::{read_volatile, write_volatile};

/// What free stack is painted with.
const PAINT: u32 = 0x5bd1_e995;
/// How much of it.
const PAINTED: usize = 512 * 1024;
/// CMSDK timer 0 of the MPS2 boards: control, value, reload.
const TIMER: *mut u32 = 0x4000_0000 as *mut u32;
/// Under `-icount shift=0` an instruction takes 1 ns, and the 25 MHz timer ticks
/// once in 40.
const INSTRUCTIONS_PER_TICK: u64 = 40;

/// What a call used.
#[derive(Clone, Copy, Default)]
pub struct Use {
    /// Bytes of stack below the caller.
    pub stack: usize,
    /// Instructions.
    pub instructions: u64,
}

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
    unsafe { read_volatile(TIMER.add(1)) }
}

#[inline(always)]
fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: copies a register.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

#[inline(never)]
fn paint(bottom: usize) {
    for at in (bottom..bottom + PAINTED - 256).step_by(4) {
        // SAFETY: free stack: far above the statics, and below every live frame.
        unsafe { write_volatile(at as *mut u32, PAINT) };
    }
}

#[inline(never)]
fn lowest_used(bottom: usize, top: usize) -> usize {
    (bottom..top)
        .step_by(4)
        // SAFETY: as above.
        .find(|&at| unsafe { read_volatile(at as *const u32) } != PAINT)
        .unwrap_or(top)
}

#[inline(never)]
fn call(work: &mut dyn FnMut()) -> (usize, u32) {
    let top = stack_pointer();
    let before = ticks();
    work();
    (top, before.wrapping_sub(ticks()))
}

/// Runs `work` and reports what it used.
#[inline(never)]
pub fn measure(mut work: impl FnMut()) -> Use {
    let bottom = stack_pointer() - PAINTED;
    paint(bottom);
    let (top, ticks) = call(&mut work);
    Use {
        stack: top - lowest_used(bottom, top),
        instructions: u64::from(ticks) * INSTRUCTIONS_PER_TICK,
    }
}
