//! One operation on a secret, on an emulated device: QEMU loads the input to
//! [`INPUT`], and the digest of the result is printed.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use mldsa_core::internals::Zeroed;
use mldsa_lowmem::{Balanced, CacheMatrix, CacheW0, Minimal, ParameterSet, Tier};

mod operations;
mod semihosting;

use operations::{HEADER_LEN, Input, Operation, perform};

/// The first byte above the stack of `thumb.x` and `riscv32.x`.
#[cfg(target_arch = "arm")]
const INPUT: *const u8 = 0x2010_0000 as *const u8;
#[cfg(target_arch = "riscv32")]
const INPUT: *const u8 = 0x8010_0000 as *const u8;

#[cfg(target_arch = "arm")]
core::arch::global_asm!(
    ".section .vectors, \"a\"",
    ".word stack_top",
    ".word start",
    ".rept 14",
    ".word fault",
    ".endr",
    ".text",
);

#[cfg(target_arch = "riscv32")]
core::arch::global_asm!(
    ".section .start, \"ax\"",
    ".globl start",
    "start:",
    "la t0, fault",
    "csrw mtvec, t0",
    "la sp, stack_top",
    "j main",
    ".text",
);

#[cfg(target_arch = "arm")]
#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    main()
}

#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    semihosting::exit(false)
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    // SAFETY: RAM that this program uses for nothing else; QEMU has filled it.
    let (header, rest) =
        unsafe { core::slice::from_raw_parts(INPUT, 0x1_0000) }.split_at(HEADER_LEN);
    match header[0] {
        #[cfg(feature = "ml-dsa-44")]
        44 => tier::<mldsa_lowmem::MlDsa44>(header, rest),
        #[cfg(feature = "ml-dsa-65")]
        65 => tier::<mldsa_lowmem::MlDsa65>(header, rest),
        #[cfg(feature = "ml-dsa-87")]
        87 => tier::<mldsa_lowmem::MlDsa87>(header, rest),
        _ => semihosting::exit(false),
    }
}

fn tier<P: ParameterSet>(header: &[u8], rest: &[u8]) -> !
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let operation = Operation::numbered(header[2]);
    let Some(input) = operation.and_then(|operation| Input::<P>::new(operation, header, rest))
    else {
        semihosting::exit(false)
    };
    let mut digest = <[u8; 32]>::zeroed();
    match header[1] {
        0 => perform::<P, Minimal>(&input, &mut digest),
        1 => perform::<P, CacheW0>(&input, &mut digest),
        2 => perform::<P, Balanced>(&input, &mut digest),
        _ => perform::<P, CacheMatrix>(&input, &mut digest),
    }
    report(&digest)
}

/// Prints the digest in hexadecimal. Not compared: the result is public.
#[inline(never)]
fn report(digest: &[u8; 32]) -> ! {
    let mut text = [0; 66];
    for (text, byte) in text.chunks_exact_mut(2).zip(digest) {
        for (digit, half) in text.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = b"0123456789abcdef"[usize::from(half)];
        }
    }
    text[64] = b'\n';
    semihosting::print(&text);
    semihosting::exit(true)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    semihosting::exit(false)
}
