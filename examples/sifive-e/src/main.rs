//! ML-DSA on a SiFive FE310, in its 16 kB of RAM.
#![no_std]
#![no_main]

use core::arch::asm;

use board::demo::{self, Limits, Part};
use board::meter::Meter;
use riscv_rt::entry;

/// The low half of the counter of retired instructions.
fn instructions() -> u32 {
    let count: u32;
    // SAFETY: reads a counter.
    unsafe { asm!("csrr {}, minstret", out(reg) count, options(nomem, nostack)) };
    count
}

#[entry]
fn main() -> ! {
    demo::run(&Part {
        name: "FE310",
        sizes: [12 * 1024 * 1024, 16 * 1024],
        meter: Meter::new(instructions, (1, 1), usize::MAX),
        limits: [LIMITS, LIMITS, LIMITS],
    })
}

const LIMITS: Limits = Limits {
    keygen: (4000, 1000),
    sign: (4000, 1000),
    verify: (4000, 1000),
};
