//! Stack and heap of a contender's calls.
//!
//! Stack is what a call uses below its caller, workspaces included, by painting and
//! scanning a thread's stack; the largest of all cases. Heap is what the call holds
//! at most, and the blocks it takes, counted by dhat. Keys, message and signature in
//! FIPS encoding are the caller's and not counted.
#![allow(unsafe_code, reason = "contenders go to a painted thread and back")]

use mldsa_gates::painted;

use crate::{Contender, heap};

/// More stack than any implementation needs.
pub const STACK: usize = 4 << 20;

/// What the calls of a contender need at most.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Bytes of stack.
    pub stack: usize,
    /// Bytes of heap held at once.
    pub heap: usize,
    /// Blocks taken from the heap by one call.
    pub blocks: u64,
}

impl Footprint {
    /// Of the cases `0..cases`.
    pub fn of(contender: &mut Contender, cases: usize) -> Self {
        let mut lent = Lent(contender);
        let stack = painted::depth_of(STACK, move || lent.call_all(cases));
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

/// Whether all of a contender's memory is seen: implementations in Rust.
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

/// A contender on its way to another thread.
struct Lent<'a>(&'a mut Contender);

// SAFETY: `painted::depth_of` waits for its thread, so one thread at a time touches
// the contender and what it shares; nothing in it belongs to the thread that made
// it.
unsafe impl Send for Lent<'_> {}

impl Lent<'_> {
    fn call_all(&mut self, cases: usize) {
        (0..cases).for_each(|i| self.0.call(i));
    }
}
