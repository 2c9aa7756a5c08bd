//! Threads on a stack of the gate: painted before, readable afterwards. How deep an
//! operation went is where the paint ends; what it left is whatever is not paint.
#![allow(unsafe_code, reason = "a thread on a given stack is a pthread")]

use core::ffi::c_void;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Not zero, so that wiped memory counts as used, and no likely pointer.
const PAINT: u8 = 0xa5;
const PAGE: usize = 4096;

/// The memory of a thread that has ended.
#[derive(Debug)]
pub struct DeadStack {
    memory: Vec<u8>,
    first: usize,
}

impl DeadStack {
    /// The contents of the stack, lowest address first.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.first..]
    }

    /// Bytes below the address `top`, which lay on this stack, down to the deepest
    /// that was written.
    fn below(&self, top: usize) -> usize {
        let paint = self.bytes().iter().take_while(|&&byte| byte == PAINT);
        top - (self.bytes().as_ptr() as usize + paint.count())
    }

    /// Bytes between the deepest that was written and the top, the thread's own
    /// start included.
    pub fn depth(&self) -> usize {
        let paint = self.bytes().iter().take_while(|&&byte| byte == PAINT);
        self.bytes().len() - paint.count()
    }
}

struct Start<'a> {
    operation: Option<Box<dyn FnOnce() + Send + 'a>>,
    panicked: bool,
}

/// Runs `operation` on a stack of `size` bytes, rounded up to pages, and returns
/// the stack afterwards and whether the operation panicked.
///
/// # Panics
/// If the system makes no thread: a fault of the gate.
pub fn run(size: usize, operation: impl FnOnce() + Send) -> (DeadStack, bool) {
    let size = size.next_multiple_of(PAGE);
    let mut memory = vec![PAINT; size + PAGE];
    let first = memory.as_ptr().align_offset(PAGE);
    let mut start = Start {
        operation: Some(Box::new(operation)),
        panicked: false,
    };
    // SAFETY: `memory` is page-aligned from `first` on, has `size` bytes there and
    // lives until the thread was joined, as does `start`, which only the thread
    // touches in between; `begin` lets no panic out.
    let status = unsafe {
        let mut attributes = core::mem::zeroed::<libc::pthread_attr_t>();
        let mut thread = core::mem::zeroed::<libc::pthread_t>();
        let base = memory.as_mut_ptr().add(first).cast::<c_void>();
        let context = (&raw mut start).cast::<c_void>();
        libc::pthread_attr_init(&raw mut attributes)
            | libc::pthread_attr_setstack(&raw mut attributes, base, size)
            | libc::pthread_create(&raw mut thread, &raw const attributes, begin, context)
            | libc::pthread_join(thread, core::ptr::null_mut())
            | libc::pthread_attr_destroy(&raw mut attributes)
    };
    assert_eq!(status, 0, "no thread on a given stack");
    memory.truncate(first + size);
    (DeadStack { memory, first }, start.panicked)
}

extern "C" fn begin(context: *mut c_void) -> *mut c_void {
    // SAFETY: `run` passes its own `Start` and waits for this thread.
    let start = unsafe { &mut *context.cast::<Start<'_>>() };
    if let Some(operation) = start.operation.take() {
        start.panicked = catch_unwind(AssertUnwindSafe(operation)).is_err();
    }
    core::ptr::null_mut()
}

/// Bytes of stack that `operation` used below its call, in a thread of `size` bytes.
///
/// # Panics
/// If the operation does, or the system makes no thread.
pub fn depth_of(size: usize, mut operation: impl FnMut() + Send) -> usize {
    let mut top = 0;
    let (stack, panicked) = run(size, || top = call(&mut operation));
    assert!(!panicked, "the operation panicked");
    stack.below(top)
}

/// Calls `operation` and returns the position of the call on the stack.
#[inline(never)]
fn call(operation: &mut dyn FnMut()) -> usize {
    let here = 0u8;
    let top = core::hint::black_box(&raw const here) as usize;
    operation();
    top
}

/// The depth of a thread that does nothing: its start and thread-local memory.
pub fn empty_depth() -> usize {
    run(64 * 1024, || ()).0.depth()
}
