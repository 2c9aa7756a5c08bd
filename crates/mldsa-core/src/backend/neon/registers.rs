//! Registers and instructions by the names that the files of `four` use.

pub(super) use core::arch::aarch64::*;

/// [`shoup_quotient`] doubles a product before it takes the upper half.
pub(super) const QUOTIENT_BITS: u32 = 31;

/// `a b 2^-31`, rounded.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn shoup_quotient(a: int32x4_t, b: int32x4_t) -> int32x4_t {
    vqrdmulhq_s32(a, b)
}

/// Zeros to all 32 registers: what a kernel leaves in them, a later call may spill.
#[target_feature(enable = "neon")]
pub(super) fn clear_registers() {
    macro_rules! clear {
        ($($name:tt)*) => {
            // SAFETY: each instruction zeroes the register that is named as overwritten.
            unsafe {
                core::arch::asm!(
                    $(concat!("movi ", $name, ".2d, #0"),)*
                    $(out($name) _,)*
                    options(nomem, nostack, preserves_flags),
                );
            }
        };
    }
    clear!(
        "v0" "v1" "v2" "v3" "v4" "v5" "v6" "v7" "v8" "v9" "v10" "v11" "v12" "v13" "v14" "v15"
        "v16" "v17" "v18" "v19" "v20" "v21" "v22" "v23" "v24" "v25" "v26" "v27" "v28" "v29"
        "v30" "v31"
    );
}
