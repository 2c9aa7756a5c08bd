//! The vector registers of this backend.

use core::arch::x86_64::_mm256_zeroall;

/// Zeros to all sixteen registers: what a kernel leaves in them, a later call may spill.
#[target_feature(enable = "avx2")]
pub(super) fn clear_registers() {
    _mm256_zeroall();
}
