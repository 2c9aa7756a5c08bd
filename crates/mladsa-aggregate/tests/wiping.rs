//! Memory freed by `commit` and `respond` contains no secrets.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(unsafe_code, reason = "an allocator that inspects freed memory")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

use committee::*;
use mladsa_aggregate::steps::*;

/// Allocator that counts freed blocks of each number of polynomials, and the nonzero ones.
struct Watching;

/// Vectors have 7, 8 or 15 polynomials of 1,024 bytes.
static DIRTY: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
static FREED: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: forwards every call to the system allocator.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let polys = layout.size() / 1024;
        if layout.size().is_multiple_of(1024)
            && polys < 16
            && layout.align() == 64
            && WATCHING.get()
        {
            // SAFETY: the block is not freed yet and has `size` initialised bytes, because
            // vectors are created with zeros.
            let bytes = unsafe { core::slice::from_raw_parts(block, layout.size()) };
            FREED[polys].fetch_add(1, Relaxed);
            DIRTY[polys].fetch_add(usize::from(bytes.iter().any(|&byte| byte != 0)), Relaxed);
        }
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Runs `step` and returns the number of freed and of nonzero freed blocks of 7, 8 and 15
/// polynomials.
fn watched<T>(step: impl FnOnce() -> T) -> (T, [(usize, usize); 3]) {
    let count = || [7, 8, 15].map(|n: usize| (FREED[n].load(Relaxed), DIRTY[n].load(Relaxed)));
    let before = count();
    WATCHING.set(true);
    let result = step();
    WATCHING.set(false);
    let mut counts = count();
    for (after, before) in counts.iter_mut().zip(before) {
        after.0 -= before.0;
        after.1 -= before.1;
    }
    (result, counts)
}

#[test]
fn signer_steps_free_no_secrets() {
    let mut committee = Group::new(1);
    let round = committee.round(&[0], at(0, 0), b"payload");
    let (member, journal) = (&committee.members[0], &mut committee.journals[0]);

    // A set of commitments has no blocks of these sizes.
    let ((), counts) = watched(|| drop(CommitmentSet::new(&round)));
    assert_eq!(counts, [(0, 0); 3]);

    // 7: the nonce and its transform. 8: w and the offset low bits.
    let ((pending, hash), counts) = watched(|| member.commit(&round, journal).unwrap());
    assert_eq!(counts, [(2, 0), (2, 0), (0, 0)]);

    let mut set = CommitmentSet::new(&round);
    set.add(&hash).unwrap();
    let commitment = member.reveal(&pending, &set, journal).unwrap();
    set.add(&commitment).unwrap();
    let challenge = set.challenge().unwrap();
    // 7: y, s1 and its transform, and the transform of the published response. 8: the
    // published t.
    let (response, counts) = watched(|| member.respond(pending, &challenge, journal).unwrap());
    assert_eq!(counts, [(4, 1), (1, 1), (0, 0)]);
    let mut combiner = Combiner::new(&challenge);
    combiner.add(&response).unwrap();

    // Dropped without a response: nothing secret is kept.
    let pending = member.resume(&round, journal).unwrap();
    let ((), counts) = watched(|| drop(pending));
    assert_eq!(counts, [(0, 0); 3]);
}
