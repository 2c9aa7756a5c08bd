//! What kernels leave behind, which nobody can name to wipe it.

use crate::backend::Backend;

/// Wipes what the kernels of a backend leave below a frame that computes on secrets, and
/// in registers: copies and spills that compilers make, some of them at one level of
/// optimisation only. To be declared first, and so dropped last, on return and on
/// unwinding. `FRAMES` is what the frames below take at most where something is optimised;
/// entries see to themselves where nothing is.
pub(crate) struct ZeroizeKernelState<const FRAMES: usize>(pub(crate) Backend);

impl<const FRAMES: usize> Drop for ZeroizeKernelState<FRAMES> {
    fn drop(&mut self) {
        (self.0.kernels().clear_registers)();
        zeroize::zeroize_stack::<FRAMES>();
    }
}
