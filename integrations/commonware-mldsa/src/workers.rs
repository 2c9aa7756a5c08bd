//! The engine's pool, lent to a batch.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use batch_verify::Executor;
use commonware_parallel::Strategy;

/// An executor on the threads of a [`Strategy`].
pub(crate) struct Workers<S>(S);

impl<S: Strategy> Workers<S> {
    pub(crate) fn lent(strategy: &S) -> Arc<dyn Executor> {
        Arc::new(Self(strategy.clone()))
    }
}

impl<S: Strategy> Executor for Workers<S> {
    /// A strategy does not tell how many threads it has; more than the machine has are of no use.
    fn workers(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        fork(&self.0, 0..tasks, task);
    }
}

/// `join` alone runs on the pool without measuring again whether that is worth it.
fn fork<S: Strategy>(strategy: &S, tasks: Range<usize>, task: &(dyn Fn(usize) + Sync)) {
    let middle = tasks.start + tasks.len() / 2;
    if middle == tasks.start {
        tasks.for_each(task);
    } else {
        strategy.join(
            || fork(strategy, tasks.start..middle, task),
            || fork(strategy, middle..tasks.end, task),
        );
    }
}
