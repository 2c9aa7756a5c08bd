//! Heap statistics by dhat, for the whole process. All zero in a binary whose global allocator is not
//! `dhat::Alloc`.

/// Statistics of one call.
///
/// # Panics
/// If `call` calls this function.
pub fn heap<T>(call: impl FnOnce() -> T) -> (T, dhat::HeapStats) {
    let profiler = dhat::Profiler::builder().testing().build();
    let value = call();
    let stats = dhat::HeapStats::get();
    drop(profiler);
    (value, stats)
}
