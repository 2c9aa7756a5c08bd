//! A boot loader: runs an image from flash if it is signed by the key whose hash is in one-time programmable
//! memory, and is not older than an image that ran before. `boot.sh` is the side of the host. With the feature
//! `attacks` it tries images that must not run first.
#![no_std]
#![no_main]

use core::ptr::{read_volatile, write_volatile};

use boards::{Meter, exit, flash, println};
use cortex_m::peripheral::SCB;
use cortex_m_rt::entry;

#[cfg(feature = "attacks")]
mod attacks;
mod decision;

use decision::{Otp, Refusal, decide};

/// Flash for an image, after that of the boot loader.
const SLOT: u32 = 0x0020_0000;
const SLOT_LEN: usize = 0x0020_0000;
/// One-time programmable memory, which is RAM here.
const OTP: *mut Otp = 0x2100_0000 as *mut Otp;

#[entry]
fn main() -> ! {
    // SAFETY: memory of the board that nothing else uses; any bytes are a value.
    let otp = unsafe { read_volatile(OTP) };
    #[cfg(feature = "attacks")]
    {
        // SAFETY: as above. This reference ends before the next one begins.
        let slot = unsafe { core::slice::from_raw_parts_mut(SLOT as *mut u8, SLOT_LEN) };
        if !attacks::run(slot, SLOT, &otp) {
            exit(1);
        }
    }
    // SAFETY: as above; nothing writes to the slot while the boot loader runs.
    let slot = unsafe { core::slice::from_raw_parts(SLOT as *const u8, SLOT_LEN) };
    let mut verdict = Err(Refusal::Length);
    let used = Meter::mps2().measure(|| verdict = decide(slot, SLOT, &otp));
    println!(
        "{{\"flash\":{},\"stack\":{},\"instructions\":{}}}",
        flash(),
        used.stack,
        used.instructions
    );
    match verdict {
        Ok(image) => {
            println!(
                "{{\"image\":{},\"counter\":{}}}",
                image.bytes.len(),
                image.counter
            );
            // SAFETY: as for the first read. From now on no image with a smaller counter runs.
            unsafe { write_volatile(&raw mut (*OTP).counter, Otp::bits(image.counter)) };
            // SAFETY: as above. If the bits were not set, an older image could run later.
            if unsafe { read_volatile(OTP) }.least_counter() != image.counter {
                println!("{{\"refused\":\"Otp\"}}");
                exit(1)
            }
            let table = image.bytes.as_ptr().cast::<u32>();
            // SAFETY: the image is genuine, so its first words are stack and entry of a program.
            unsafe {
                (*SCB::PTR).vtor.write(table as u32);
                cortex_m::asm::bootload(table)
            }
        }
        Err(refusal) => {
            println!("{{\"refused\":\"{:?}\"}}", refusal);
            exit(1)
        }
    }
}
