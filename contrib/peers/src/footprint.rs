//! Stack and heap of a contender's calls, the largest of all cases.
//!
//! Stack is measured below the caller, workspaces included, by painting and scanning the stack of a
//! thread. Heap is counted by dhat. Keys, message and signature in FIPS encoding belong to the caller
//! and are not counted.
#![allow(unsafe_code, reason = "a contender runs on a painted thread")]

use mldsa_gates::stack_watermark;

use crate::{Contender, heap};

/// Stack of the thread in bytes, more than any implementation needs.
const STACK: usize = 4 << 20;

/// Maximum memory of the calls of a contender.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Stack in bytes.
    pub stack: usize,
    /// Heap held at once, in bytes.
    pub heap: usize,
    /// Blocks allocated by one call.
    pub blocks: u64,
}

impl Footprint {
    /// Measures the cases `0..cases`.
    pub fn of(contender: &mut Contender, cases: usize) -> Self {
        let mut borrowed = BorrowedContender(contender);
        let stack = stack_watermark::depth_of(STACK, move || borrowed.call_all(cases));
        let (heap, blocks) = (0..cases).fold((0, 0), |(bytes, blocks), i| {
            let ((), stats) = heap(|| contender.call(i));
            (bytes.max(stats.max_bytes), blocks.max(stats.total_blocks))
        });
        Self {
            stack,
            heap,
            blocks,
        }
    }
}

/// Whether dhat counts all heap of a contender: implementations in Rust.
#[must_use]
pub fn in_rust(one: &Contender) -> bool {
    let names = [
        "ours",
        "mldsa-lowmem",
        "fips204",
        "ml-dsa",
        "libcrux-ml-dsa",
    ];
    names.contains(&one.peer)
}

/// A contender that is called on another thread.
struct BorrowedContender<'a>(&'a mut Contender);

// SAFETY: `stack_watermark::depth_of` waits for its thread, so one thread at a time touches
// the contender and what it shares; nothing in it belongs to the thread that made
// it.
unsafe impl Send for BorrowedContender<'_> {}

impl BorrowedContender<'_> {
    fn call_all(&mut self, cases: usize) {
        (0..cases).for_each(|i| self.0.call(i));
    }
}
