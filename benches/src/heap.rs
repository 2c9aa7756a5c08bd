//! Heap figures by dhat. They are of the whole process, and all zero in a binary whose
//! global allocator is not `dhat::Alloc`.

/// The figures of one call: what it held at most, what it took, what it left.
///
/// # Panics
/// If called inside a call that is measured.
pub fn heap<T>(call: impl FnOnce() -> T) -> (T, dhat::HeapStats) {
    let profiler = dhat::Profiler::builder().testing().build();
    let value = call();
    let stats = dhat::HeapStats::get();
    drop(profiler);
    (value, stats)
}

/// The bytes of a value: itself, and what it holds on the heap.
pub fn held<T>(make: impl FnOnce() -> T) -> usize {
    let (value, stats) = heap(make);
    size_of_val(&value) + stats.curr_bytes
}
