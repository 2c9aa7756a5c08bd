//! The portable table with counters, for the tests of `cost` and of wiping.

use core::cell::Cell;
use std::thread_local;

use super::kernels::{Kernels, counter};
use super::{Backend, portable};
use crate::cost::Operations;

thread_local! {
    static WIPES: Cell<usize> = const { Cell::new(0) };
    static COUNTS: Cell<Operations> = const { Cell::new(Operations::NONE) };
}

/// Runs `act` on a backend that counts.
pub(crate) fn count<T>(act: impl FnOnce(Backend) -> T) -> (T, Operations) {
    COUNTS.set(Operations::NONE);
    let result = act(Backend(&KERNELS));
    (result, COUNTS.get())
}

/// Runs `act` on a backend that counts how often the registers are cleared, which
/// `ZeroizeKernelState` does together with the frames.
pub(crate) fn count_wipes<T>(act: impl FnOnce(Backend) -> T) -> (T, usize) {
    WIPES.set(0);
    let result = act(Backend(&KERNELS));
    (result, WIPES.get())
}

fn add(change: impl FnOnce(&mut Operations)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}

static KERNELS: Kernels = Kernels {
    name: "counting",
    dispatched: counter!(),
    keccak_f1600: |state| {
        add(|counts| counts.keccak += 1);
        (portable::KERNELS.keccak_f1600)(state);
    },
    ntt: |src, dst| {
        add(|counts| counts.ntt += 1);
        (portable::KERNELS.ntt)(src, dst);
    },
    row_product: |a, b, out| {
        add(|counts| counts.products += a.len() as u64);
        (portable::KERNELS.row_product)(a, b, out);
    },
    expand_a: |rho, l, first, out| {
        add(|counts| counts.expanded += out.len() as u64);
        (portable::KERNELS.expand_a)(rho, l, first, out);
    },
    unpack_z_ntt: |gamma1_bits, bound, bytes, out| {
        add(|counts| {
            counts.ntt += 1;
            counts.unpacked += 1;
        });
        (portable::KERNELS.unpack_z_ntt)(gamma1_bits, bound, bytes, out)
    },
    inv_ntt_use_hint: |gamma2, w_hat, hint, w1| {
        add(|counts| counts.inv_ntt += 1);
        (portable::KERNELS.inv_ntt_use_hint)(gamma2, w_hat, hint, w1);
    },
    clear_registers: || {
        WIPES.set(WIPES.get() + 1);
        (portable::KERNELS.clear_registers)();
    },
    ..portable::KERNELS
};
