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
        limits: [
            Limits {
                keygen: (3_850, 4),
                cache_w0: Some((6_550, 16)),
                minimal: (4_250, 22),
                verify: (3_150, 4),
            },
            Limits {
                keygen: (3_850, 7),
                cache_w0: Some((7_950, 41)),
                minimal: (4_250, 53),
                verify: (3_150, 6),
            },
            Limits {
                keygen: (3_850, 13),
                cache_w0: None,
                minimal: (4_250, 69),
                verify: (3_150, 11),
            },
        ],
    })
}
