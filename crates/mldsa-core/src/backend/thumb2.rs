//! Code for ARMv7-M and its successors that takes few bytes of flash.

#![allow(unsafe_code)]

use core::arch::asm;

use crate::params::Q;
use crate::ring::field::Q_INV;

/// The round constants: bits of the odd word in their places, except that bit 4 is its highest one
/// and bit 2 the lowest of the even word. Bit 5 ends the loop.
#[cfg(mldsa_halves)]
static CONSTANTS: [u16; 24] = {
    let mut constants = [0; 24];
    let mut n = 0;
    while n < 24 {
        let lane = crate::hash::lane::stored(crate::hash::keccak::ROUND_CONSTANTS[n], [0, 0]);
        let (even, odd) = (lane as u16 & 1, (lane >> 32) as u32);
        let highest = (odd >> 31) as u16;
        constants[n] = odd as u16 & 0x808b | even << 2 | highest << 4 | ((n == 23) as u16) << 5;
        n += 1;
    }
    constants
};

/// Permutes; one round in the loop.
#[cfg(mldsa_halves)]
#[unsafe(naked)]
unsafe extern "C" fn keccak(state: *mut [u64; 25], constants: *const [u16; 24]) {
    core::arch::naked_asm!(include_str!("armv7m/keccak_small.s"), options(raw))
}

/// Keccak-f[1600] on lanes as [`stored`](crate::hash::lane::stored) makes them without rotations.
/// Constant time.
#[cfg(mldsa_halves)]
#[inline(always)]
pub(crate) fn permute(state: &mut [u64; 25]) {
    // SAFETY: the function reads and writes the 25 lanes, and reads the constants.
    unsafe { keccak(state, &CONSTANTS) }
}

/// [`crate::ring::field::montgomery_reduce`]: the compiler makes the product with q, a constant, of
/// more instructions.
#[inline(always)]
pub(crate) fn montgomery_reduce(a: i64) -> i32 {
    let out: i32;
    // SAFETY: registers only.
    unsafe {
        asm!(
            "mul {t}, {low}, {inverse}",
            "smlal {low}, {high}, {t}, {minus_q}",
            low = inout(reg) a as i32 => _,
            high = inout(reg) (a >> 32) as i32 => out,
            t = out(reg) _,
            inverse = in(reg) Q_INV,
            minus_q = in(reg) -Q,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    out
}
