//! ML-DSA on a BBC micro:bit, in its 16 kB of RAM.
#![no_std]
#![no_main]

use core::ptr::{read_volatile, write_volatile};

use board::demo::{self, Limits, Part};
use board::meter::Meter;
use cortex_m_rt::entry;

/// TIMER0 of the nRF51. Under `-icount shift=0` an instruction takes 1 ns, and the
/// timer ticks at 16 MHz: 125 instructions in two ticks.
const TIMER: usize = 0x4000_8000;
const START: usize = 0x000;
const CAPTURE: usize = 0x040;
const BITMODE: usize = 0x508;
const PRESCALER: usize = 0x510;
const CC: usize = 0x540;

fn write(register: usize, value: u32) {
    // SAFETY: a register of the timer, which nothing else uses.
    unsafe { write_volatile((TIMER + register) as *mut u32, value) };
}

fn ticks() -> u32 {
    write(CAPTURE, 1);
    // SAFETY: as above.
    unsafe { read_volatile((TIMER + CC) as *const u32) }
}

#[entry]
fn main() -> ! {
    const BITS_32: u32 = 3;
    write(BITMODE, BITS_32);
    write(PRESCALER, 0);
    write(START, 1);
    demo::run(&Part {
        name: "micro:bit",
        sizes: [256 * 1024, 16 * 1024],
        meter: Meter::new(ticks, (125, 2), usize::MAX),
        limits: [
            Limits {
                keygen: (3_950, 7),
                cache_w0: Some((6_650, 30)),
                minimal: (4_350, 42),
                verify: (3_200, 7),
            },
            Limits {
                keygen: (3_950, 13),
                cache_w0: Some((8_100, 78)),
                minimal: (4_350, 102),
                verify: (3_200, 12),
            },
            Limits {
                keygen: (3_950, 23),
                cache_w0: None,
                minimal: (4_350, 133),
                verify: (3_200, 21),
            },
        ],
    })
}
