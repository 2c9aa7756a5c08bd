//! Backends with a single fault in one of their kernels, for the tests of self-verification: what
//! the kernel returns is changed, or it is not called.

use core::cell::{Cell, RefCell};
use std::boxed::Box;
use std::{thread_local, vec::Vec};

use super::Backend;
use super::kernels::{Kernels, counter};
use crate::hash::xof::LaneHash;

/// Ways in which memory changes; the last is that the kernel is not called.
pub(crate) const KINDS: usize = 9;
pub(crate) const SKIP: usize = KINDS - 1;
pub(crate) const POINTS: usize = 17;

/// One fault: the kind, at one of the times at which the point is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) point: usize,
    pub(crate) occurrence: u32,
    pub(crate) kind: usize,
    pub(crate) seed: u64,
}

thread_local! {
    static BASE: Cell<&'static Kernels> = const { Cell::new(&super::portable::KERNELS) };
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
    static HITS: RefCell<[u32; POINTS]> = const { RefCell::new([0; POINTS]) };
}

/// Starts to count, and makes the fault when it is due.
pub(crate) fn arm(plan: Option<Plan>) {
    PLAN.set(plan);
    HITS.set([0; POINTS]);
}

/// Returns how often each point was reached.
pub(crate) fn hits() -> [u32; POINTS] {
    HITS.with_borrow(|hits| *hits)
}

/// Counts a point, and returns the fault that is due at it.
fn due(point: usize) -> Option<Plan> {
    let hits = HITS.with_borrow_mut(|hits| {
        hits[point] += 1;
        hits[point] - 1
    });
    PLAN.get()
        .filter(|plan| plan.point == point && plan.occurrence == hits)
}

/// A word of memory.
pub(crate) trait Word: Copy + Default {
    /// All ones.
    const ONES: Self;
    /// With another low bit. Coefficients stay within the bounds of the next kernel.
    fn flipped(self, seed: u64) -> Self;
}

macro_rules! word {
    ($($t:ident),+) => {$(
        impl Word for $t {
            const ONES: Self = !0;
            fn flipped(self, seed: u64) -> Self {
                self ^ 1 << (seed % 8)
            }
        }
    )+};
}
word!(u8, i32, u64);

/// Makes a change of a kind.
pub(crate) fn change<T: Word>(plan: Plan, memory: &mut [T]) {
    let (len, seed) = (memory.len(), plan.seed as usize);
    let at = seed % len.max(1);
    match plan.kind {
        0 => memory.fill(T::default()),
        1 => memory.fill(T::ONES),
        2 => memory[at] = memory[at].flipped(plan.seed >> 32),
        3 => memory[at] = T::default(),
        4 => memory[len / 2..].fill(T::default()),
        5 => memory[at / 64 * 64..]
            .iter_mut()
            .take(64)
            .for_each(|word| *word = T::default()),
        6 => memory.copy_within(..len - 1, 1),
        7 => memory.reverse(),
        _ => {}
    }
}

/// Calls a kernel and changes its result, or does not call it.
fn hook<T: Word>(point: usize, memory: &mut [T], kernel: impl FnOnce(&mut [T])) {
    let plan = due(point);
    if plan.is_none_or(|plan| plan.kind != SKIP) {
        kernel(memory);
    }
    if let Some(plan) = plan {
        change(plan, memory);
    }
}

/// A verdict, or the contrary of a rejection.
fn verdict(point: usize, within: bool) -> bool {
    due(point).is_some() || within
}

/// The kernels of a backend, with the fault that [`arm`] was given in this thread.
pub(crate) fn faulty(base: Backend) -> Backend {
    let base: &'static Kernels = base.0;
    BASE.set(base);
    Backend(Box::leak(Box::new(Kernels {
        name: "faulty",
        dispatched: counter!(),
        keccak_f1600: |state| {
            let plan = due(0);
            if plan.is_none_or(|plan| plan.kind != SKIP) {
                (BASE.get().keccak_f1600)(state);
            }
            if let Some(plan) = plan {
                change(plan, state);
            }
        },
        ntt: |poly, out| {
            let whole = &mut *out;
            (BASE.get().ntt)(poly, whole);
            hook(1, &mut out.0, |_| {});
        },
        expand_a: |rho, l, first, out| {
            (BASE.get().expand_a)(rho, l, first, out);
            out.iter_mut()
                .for_each(|entry| hook(2, &mut entry.0, |_| {}));
        },
        expand_masks: |seeds, len, out| {
            hook(3, out, |out| (BASE.get().expand_masks)(seeds, len, out));
        },
        unpack_mask_ntt: |bits, bytes, out| {
            let plan = due(4);
            if plan.is_none_or(|plan| plan.kind != SKIP) {
                (BASE.get().unpack_mask_ntt)(bits, bytes, out);
            }
            if let Some(plan) = plan {
                change(plan, &mut out.0);
            }
        },
        unpack_eta_ntt: |eta, bytes, out| {
            let valid = (BASE.get().unpack_eta_ntt)(eta, bytes, out);
            hook(5, &mut out.0, |_| {});
            valid
        },
        unpack_t0_ntt: |bytes, out| {
            (BASE.get().unpack_t0_ntt)(bytes, out);
            hook(6, &mut out.0, |_| {});
        },
        commit_row: |gamma2, a, y, w, w1| {
            let plan = due(7);
            if plan.is_none_or(|plan| plan.kind != SKIP) {
                (BASE.get().commit_row)(gamma2, a, y, w, w1);
            }
            if let Some(plan) = plan {
                change(plan, &mut w.0);
                w.0.iter_mut().for_each(|w| *w = (*w).max(0));
            }
            hook(8, w1, |_| {});
        },
        respond_row: |bits, bound, c, s1, y, out| {
            let within = (BASE.get().respond_row)(bits, bound, c, s1, y, out);
            hook(9, out, |_| {});
            verdict(10, within)
        },
        low_bits_row: |gamma2, bound, c, s2, w| {
            let within = (BASE.get().low_bits_row)(gamma2, bound, c, s2, w);
            hook(11, &mut w.0, |_| {});
            w.0.iter_mut().for_each(|w| *w = (*w).max(0));
            verdict(12, within)
        },
        hint_row: |gamma2, c, t0, w, out| {
            let within = (BASE.get().hint_row)(gamma2, c, t0, w, out);
            hook(13, out, |_| {});
            verdict(14, within)
        },
        shake256: base.shake256.map(|_| {
            let hooked: super::kernels::HashKernel = |items| {
                let mut items: Vec<_> = items.collect();
                let plan = due(15);
                if plan.is_none_or(|plan| plan.kind != SKIP) {
                    let mut again = items.iter_mut().map(|item| LaneHash {
                        input: item.input,
                        output: &mut *item.output,
                    });
                    if let Some(kernel) = BASE.get().shake256 {
                        kernel(&mut again);
                    }
                }
                let count = items.len().max(1);
                let item = items.get_mut(plan.map_or(0, |plan| plan.seed as usize >> 8) % count);
                if let (Some(plan), Some(item)) = (plan, item) {
                    change(plan, item.output);
                }
            };
            hooked
        }),
        verify: base.verify.map(|_| {
            let hooked: super::kernels::VerifyKernel = |p, job, results| {
                if let Some(kernel) = BASE.get().verify {
                    kernel(p, job, results);
                }
                if due(16).is_some() {
                    results.fill(Ok(()));
                }
            };
            hooked
        }),
        ..*base
    })))
}
