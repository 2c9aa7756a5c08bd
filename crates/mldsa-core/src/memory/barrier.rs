//! The value barrier, which hides a value from the optimiser.
//!
//! From `a >> 31` a compiler concludes that the value is 0 or -1 and may turn what
//! uses it into a branch; CPUs without conditional instructions (Cortex-M0, RV32)
//! get one. `cargo run -p mldsa-gates -- trace` would show it.

#![allow(unsafe_code)]
// The register occurs in a comment only.
#![allow(asm_sub_register)]

/// `a`, of which the optimiser can assume nothing.
///
/// An empty instruction in a register, so that it costs no memory access; where
/// stable Rust has no inline assembler, the value passes through the stack.
#[inline(always)]
pub(crate) fn value_barrier(a: i32) -> i32 {
    #[cfg(all(
        not(miri),
        any(
            target_arch = "x86",
            target_arch = "x86_64",
            target_arch = "arm",
            target_arch = "aarch64",
            target_arch = "riscv32",
            target_arch = "riscv64"
        )
    ))]
    {
        let mut a = a;
        // SAFETY: the text is a comment; no instruction, no memory, no flags.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) a, options(pure, nomem, nostack, preserves_flags));
        }
        return a;
    }
    #[allow(
        unreachable_code,
        reason = "reached where there is no inline assembler"
    )]
    core::hint::black_box(a)
}
