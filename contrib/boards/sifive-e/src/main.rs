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
                keygen: (3_500, 6),
                cache_w0: Some((6_100, 23)),
                minimal: (3_750, 33),
                verify: (2_800, 6),
            },
            Limits {
                keygen: (3_500, 12),
                cache_w0: Some((7_600, 63)),
                minimal: (3_800, 82),
                verify: (2_800, 10),
            },
            Limits {
                keygen: (3_500, 20),
                cache_w0: None,
                minimal: (3_850, 107),
                verify: (2_800, 17),
            },
        ],
    })
}
