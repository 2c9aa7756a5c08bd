//! Calls to the emulator ("Semihosting for AArch32 and AArch64", and its RISC-V
//! supplement): the same operations on both.

use core::arch::asm;

const WRITE0: usize = 0x04;
const EXIT: usize = 0x18;
const EXIT_EXTENDED: usize = 0x20;
/// ADP_Stopped_ApplicationExit.
const APPLICATION_EXIT: usize = 0x2_0026;

fn call(operation: usize, argument: *const ()) {
    // SAFETY: the emulator reads what `argument` points to, as long as the two
    // operations above ask for, and writes the result register.
    #[cfg(target_arch = "arm")]
    unsafe {
        asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument, options(nostack));
    }
    // SAFETY: as above; the three instructions must not be compressed and share a
    // page.
    #[cfg(target_arch = "riscv32")]
    unsafe {
        asm!(
            ".balign 16", ".option push", ".option norvc",
            "slli x0, x0, 0x1f", "ebreak", "srai x0, x0, 7",
            ".option pop",
            inout("a0") operation => _, in("a1") argument, options(nostack),
        );
    }
}

/// Prints text that ends with a zero byte.
pub(crate) fn print(text: &[u8]) {
    if text.last() == Some(&0) {
        call(WRITE0, text.as_ptr().cast());
    }
}

/// Ends the emulator, with status 0 for success.
pub(crate) fn exit(success: bool) -> ! {
    let block = [APPLICATION_EXIT, usize::from(!success)];
    call(EXIT_EXTENDED, block.as_ptr().cast());
    loop {
        call(EXIT, core::ptr::null());
    }
}
