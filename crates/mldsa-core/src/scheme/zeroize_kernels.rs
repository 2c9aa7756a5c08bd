//! Zeroization of registers and stack frames that kernels used.

use crate::backend::Backend;

/// Overwrites, when dropped, vector registers and the `FRAMES` bytes of stack below a frame
/// that computes on secrets: kernels leave spills and copies there that no destructor can
/// name. Declared first, so that it is dropped last, on return and on unwinding. `FRAMES` is
/// the most that the frames below take in optimised builds; in unoptimised ones the entries
/// of the kernel table overwrite their own frames.
pub(crate) struct ZeroizeKernelState<const FRAMES: usize>(pub(crate) Backend);

impl<const FRAMES: usize> Drop for ZeroizeKernelState<FRAMES> {
    fn drop(&mut self) {
        (self.0.kernels().clear_registers)();
        zeroize::zeroize_stack::<FRAMES>();
    }
}
