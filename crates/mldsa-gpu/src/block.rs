//! Page-locked memory of a batch: messages that grow downwards from `bound` and slots that grow
//! upwards from it, so that one copy moves all of them.
#![allow(unsafe_code, reason = "memory that a device reads")]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use mldsa_core::ParameterSet;

use crate::shared::{Shared, lock, write};

/// Memory of the host for one batch. Whoever holds the [`Loan`] of it decides who may use it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) index: usize,
    pub(crate) start: NonNull<u8>,
    pub(crate) len: usize,
    pub(crate) bound: usize,
    /// One byte for each slot, into which the device writes.
    pub(crate) verdicts: NonNull<u8>,
}

// SAFETY: the memory is no thread's own, and access follows the loan.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// # Safety
    /// Nobody writes to the block as long as the slice lives.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: zeroed memory of that length, which lives as long as the worker; by the caller.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// # Safety
    /// Nobody else uses the block as long as the slice lives.
    pub(crate) unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// The right to a block and to the keys that its items name. Ends when it is dropped.
pub(crate) struct Loan<P: ParameterSet> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) block: Block,
    /// Number of the batch in the registry.
    pub(crate) batch: u64,
    /// Set if the device may still use the block: it is not lent again.
    pub(crate) lost: AtomicBool,
}

impl<P: ParameterSet> Drop for Loan<P> {
    fn drop(&mut self) {
        if !self.lost.load(Ordering::Relaxed) {
            write(&self.shared.registry).end(self.batch);
            lock(&self.shared.free).push(self.block);
        }
    }
}
