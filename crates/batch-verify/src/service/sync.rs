//! Locks and atomics of the service. Unit tests take those of `shuttle`, which runs the code of
//! the service under many schedules (`tests/schedules`).

#[cfg(not(test))]
pub(super) use core::sync::atomic::{AtomicBool, AtomicU64};
#[cfg(test)]
pub(super) use shuttle::sync::{
    Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU64},
};
#[cfg(not(test))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, RwLock};
