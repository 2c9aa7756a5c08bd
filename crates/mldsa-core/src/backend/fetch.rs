//! Keys and signatures that are not in the caches, on x86-64. Public data.
#![allow(unsafe_code)]

use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

use crate::coding::expansion::Expansion;

/// Bytes of a page, where the hardware prefetcher stops.
const PAGE: usize = 4096;
const LINE: usize = 64;
/// Lines to prefetch per page; the hardware prefetcher covers the rest.
const LINES: usize = 8;

/// Prefetches the beginning of every page of a key, which is read later and in order: without it
/// the first lines of each page, and its translation, are waited for. Prefetching the whole key
/// exceeds the buffers of outstanding loads, and gains less.
#[inline(always)]
pub(super) fn fetch_pages(rows: Expansion<'_>) {
    let (mut at, end) = match rows {
        Expansion::Wide(polys) => ends(polys),
        Expansion::Packed(polys) => ends(polys),
    };
    while at < end {
        for line in 0..LINES {
            prefetch(at.wrapping_add(LINE * line));
        }
        at = at.wrapping_add(PAGE - at.addr() % PAGE);
    }
}

#[inline(always)]
const fn ends<T>(polys: &[T]) -> (*const i8, *const i8) {
    let ends = polys.as_ptr_range();
    (ends.start.cast(), ends.end.cast())
}

/// Prefetches challenge and hint of a signature, which are at its ends.
#[inline(always)]
pub(super) fn fetch_ends(signature: &[u8]) {
    let (start, end) = ends(signature);
    for at in [start, end.wrapping_sub(LINE), end.wrapping_sub(1)] {
        prefetch(at);
    }
}

#[inline(always)]
fn prefetch(at: *const i8) {
    // SAFETY: every x86-64 has the instruction, which has no visible effect and
    // ignores unmapped addresses.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at) };
}
