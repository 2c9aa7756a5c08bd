//! Page-locked memory of a batch: messages that grow downwards from `bound` and slots that grow
//! upwards from it, so that one copy moves all of them.
#![allow(unsafe_code, reason = "memory that a device reads and writes")]

use core::ptr::NonNull;

/// Memory of the host for one batch. Whoever holds the loan of it decides who may use it.
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
    /// Borrows the block to write it.
    ///
    /// # Safety
    /// Nobody else uses the block as long as the slice lives.
    pub(crate) unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: zeroed memory of that length, which lives as long as the worker; by the caller.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Borrows the codes that the device wrote.
    ///
    /// # Safety
    /// The block has so many slots, and the device has ended with it.
    pub(crate) unsafe fn codes<'a>(self, slots: usize) -> &'a [u8] {
        // SAFETY: zeroed memory that lives as long as the worker; by the caller.
        unsafe { core::slice::from_raw_parts(self.verdicts.as_ptr(), slots) }
    }
}
