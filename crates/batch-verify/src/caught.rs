//! Code of the caller's that may panic.

use core::mem;
use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::catch_unwind;

/// What `code` returns; `None` if it panics.
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Option<R> {
    let result = catch_unwind(AssertUnwindSafe(code));
    // Dropping the payload could panic again.
    result.map_err(mem::forget).ok()
}

/// Wakes, whatever the waker does when it wakes and when it goes.
pub(crate) fn wake(waker: Waker) {
    caught(|| waker.wake_by_ref());
    caught(move || drop(waker));
}
