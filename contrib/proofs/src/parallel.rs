//! Independent pieces of work on the threads of the machine.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Results of `work` for each number below `count`, in order.
pub(crate) fn map<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, String> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            let run = || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        break;
                    }
                    let result = work(n);
                    if let Ok(mut done) = done.lock() {
                        done.insert(n, result);
                    }
                }
            };
            // Terms are deep: the recursion over them needs a large stack.
            let _ = std::thread::Builder::new()
                .stack_size(1 << 28)
                .spawn_scoped(scope, run);
        }
    });
    let done = done.into_inner().map_err(|_| "a thread stopped")?;
    if done.len() == count {
        Ok(done.into_values().collect())
    } else {
        Err("a thread stopped".into())
    }
}
