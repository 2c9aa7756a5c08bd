//! The portable table with a counter, for the tests of wiping.

use core::cell::Cell;
use std::thread_local;

use super::kernels::{Kernels, counter};
use super::{Backend, portable};

thread_local! {
    static WIPES: Cell<usize> = const { Cell::new(0) };
}

/// Runs `act` on a backend that counts how often the registers are cleared, which
/// `ZeroizeKernelState` does together with the frames.
pub(crate) fn count_wipes<T>(act: impl FnOnce(Backend) -> T) -> (T, usize) {
    WIPES.set(0);
    let result = act(Backend(&KERNELS));
    (result, WIPES.get())
}

static KERNELS: Kernels = Kernels {
    name: "counting",
    dispatched: counter!(),
    clear_registers: || {
        WIPES.set(WIPES.get() + 1);
        (portable::KERNELS.clear_registers)();
    },
    ..portable::KERNELS
};
