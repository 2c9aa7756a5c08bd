//! The image that the boot loader `boot` runs.
#![no_std]
#![no_main]

use boards::{exit, println};
use cortex_m_rt::entry;

#[entry]
fn main() -> ! {
    println!("the image runs");
    exit(0)
}
