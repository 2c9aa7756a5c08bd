//! A heap that shows what a program frees: while [`collect`] runs, freed blocks
//! are copied before they go.
#![allow(unsafe_code, reason = "an allocator")]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicBool, Ordering};
use std::alloc::System;
use std::sync::Mutex;

/// To be installed with `#[global_allocator]`.
#[derive(Debug)]
pub struct Heap;

static COLLECTING: AtomicBool = AtomicBool::new(false);
static FREED: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Runs `operation`, and returns the last contents of every block that was freed
/// meanwhile, in whatever thread.
pub fn collect<R>(operation: impl FnOnce() -> R) -> (Vec<Vec<u8>>, R) {
    COLLECTING.store(true, Ordering::SeqCst);
    let result = operation();
    COLLECTING.store(false, Ordering::SeqCst);
    let freed = FREED.lock().map(|mut freed| core::mem::take(&mut *freed));
    (freed.unwrap_or_default(), result)
}

/// # Safety
/// `block` has `len` bytes.
unsafe fn keep(block: *const u8, len: usize) {
    // Copying allocates and may free: not to be collected again.
    if COLLECTING.swap(false, Ordering::SeqCst) {
        // SAFETY: by the contract; all of them are initialised since `alloc`.
        let bytes = unsafe { core::slice::from_raw_parts(block, len) };
        if let Ok(mut freed) = FREED.lock() {
            freed.push(bytes.to_vec());
        }
        COLLECTING.store(true, Ordering::SeqCst);
    }
}

// SAFETY: the system's allocator does the work; blocks are only read.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract; `alloc` initialised every byte.
        unsafe {
            keep(block, layout.size());
            // Blocks that the test itself freed must not be found elsewhere.
            block.write_bytes(0, layout.size());
            core::hint::black_box(block);
            System.dealloc(block, layout);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract; a new block and a copy is what
        // growing may always be.
        unsafe {
            let new = Layout::from_size_align_unchecked(new_size, layout.align());
            let moved = self.alloc(new);
            if !moved.is_null() {
                core::ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
