//! Meter of calls on emulated boards: peak stack by paint and scan, and instructions by a counter
//! of the board. Output is printed by semihosting, so the programs need an emulator or a debugger.
#![no_std]

use core::arch::asm;
use core::cell::Cell;
use core::ptr::{read_volatile, write_volatile};

pub use semihosting::{println, process::exit};

/// Pattern of unused stack.
const PAINT: u32 = 0x5bd1_e995;
/// Bytes below the frame of [`paint`] that are not painted.
const OWN: usize = 256;

unsafe extern "C" {
    // The linker scripts of cortex-m-rt and riscv-rt call them the same; `build.rs` defines `_flash`
    // and `_ram`, the first addresses of both memories.
    static _flash: u8;
    static _ram: u8;
    static _stack_start: u8;
    static __sidata: u8;
    static __sdata: u8;
    static __edata: u8;
    static __ebss: u8;
}

/// Bytes of flash that the linked program takes.
pub fn flash() -> usize {
    (&raw const __sidata as usize) - (&raw const _flash as usize) + (&raw const __edata as usize)
        - (&raw const __sdata as usize)
}

/// Bytes of RAM that statics take.
pub fn statics() -> usize {
    (&raw const __ebss as usize) - (&raw const _ram as usize)
}

/// Resources that a call used.
#[derive(Clone, Copy, Default)]
pub struct Use {
    /// Bytes of stack below the caller.
    pub stack: usize,
    /// Instructions.
    pub instructions: u64,
}

/// A meter of calls.
pub struct Meter {
    ticks: fn() -> u32,
    /// Instructions in ticks, as a fraction.
    rate: (u64, u64),
    depth: usize,
    lowest: Cell<usize>,
}

/// Returns a register of a device.
#[cfg(target_arch = "arm")]
const fn register(address: usize) -> *mut u32 {
    address as *mut u32
}

impl Meter {
    /// Starts CMSDK timer 0 of the MPS2 boards, which counts down at 25 MHz. Under `-icount shift=0` an instruction
    /// takes 1 ns.
    #[cfg(target_arch = "arm")]
    pub fn mps2() -> Self {
        const CONTROL: *mut u32 = register(0x4000_0000);
        const VALUE: *mut u32 = register(0x4000_0004);
        const RELOAD: *mut u32 = register(0x4000_0008);
        // SAFETY: the timer's registers; nothing else uses it.
        unsafe {
            write_volatile(RELOAD, u32::MAX);
            write_volatile(VALUE, u32::MAX);
            write_volatile(CONTROL, 1);
        }
        // SAFETY: as above.
        let ticks = || !unsafe { read_volatile(VALUE) };
        // No call uses half a megabyte of stack.
        Self::new(ticks, (40, 1), 512 * 1024)
    }

    /// Starts TIMER0 of the nRF51 of a micro:bit, which ticks at 16 MHz: 125 instructions in two ticks.
    #[cfg(target_arch = "arm")]
    pub fn microbit() -> Self {
        const START: *mut u32 = register(0x4000_8000);
        const CAPTURE: *mut u32 = register(0x4000_8040);
        const BITMODE: *mut u32 = register(0x4000_8508);
        const PRESCALER: *mut u32 = register(0x4000_8510);
        const CC: *mut u32 = register(0x4000_8540);
        const BITS_32: u32 = 3;
        // SAFETY: the timer's registers; nothing else uses it.
        unsafe {
            write_volatile(BITMODE, BITS_32);
            write_volatile(PRESCALER, 0);
            write_volatile(START, 1);
        }
        let ticks = || {
            // SAFETY: as above.
            unsafe {
                write_volatile(CAPTURE, 1);
                read_volatile(CC)
            }
        };
        Self::new(ticks, (125, 2), usize::MAX)
    }

    /// Returns the meter of the FE310: the CPU's own counter of retired instructions.
    #[cfg(target_arch = "riscv32")]
    pub fn fe310() -> Self {
        let instructions = || {
            let count: u32;
            // SAFETY: reads a counter.
            unsafe { asm!("csrr {}, minstret", out(reg) count, options(nomem, nostack)) };
            count
        };
        Self::new(instructions, (1, 1), usize::MAX)
    }

    /// `ticks` reads a counter that counts up and wraps at 2^32; `rate.0` instructions
    /// take `rate.1` of its ticks. Calls use at most `depth` bytes of stack, or all
    /// down to the statics where that is less.
    const fn new(ticks: fn() -> u32, rate: (u64, u64), depth: usize) -> Self {
        Self {
            ticks,
            rate,
            depth,
            lowest: Cell::new(usize::MAX),
        }
    }

    /// Returns the meter for calls that use at most `depth` bytes of stack.
    pub const fn within(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Runs `work` and reports what it used.
    #[inline(never)]
    pub fn measure(&self, mut work: impl FnMut()) -> Use {
        let statics = (&raw const __ebss as usize).next_multiple_of(4);
        let bottom = stack_pointer().saturating_sub(self.depth).max(statics);
        paint(bottom);
        let (top, ticks) = self.call(&mut work);
        let lowest = lowest_used(bottom, top);
        self.lowest.set(self.lowest.get().min(lowest));
        Use {
            stack: top - lowest,
            instructions: u64::from(ticks) * self.rate.0 / self.rate.1,
        }
    }

    #[inline(never)]
    fn call(&self, work: &mut dyn FnMut()) -> (usize, u32) {
        let top = stack_pointer();
        let before = (self.ticks)();
        work();
        (top, (self.ticks)().wrapping_sub(before))
    }

    /// Bytes of stack from its start down to the deepest that a call reached.
    pub fn deepest(&self) -> usize {
        (&raw const _stack_start as usize).saturating_sub(self.lowest.get())
    }
}

#[inline(always)]
fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: copies a register.
    unsafe {
        #[cfg(target_arch = "arm")]
        asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "riscv32")]
        asm!("mv {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags));
    }
    sp
}

#[inline(never)]
fn paint(bottom: usize) {
    for at in (bottom..stack_pointer() - OWN).step_by(4) {
        // SAFETY: free stack: above the statics, and below every live frame.
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
