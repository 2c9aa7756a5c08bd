//! Tokio's blocking threads at work for an intake.

use tokio::runtime::Handle;

use crate::{Executor, Threads};

/// The blocking threads of a tokio runtime, for nodes that have no other pool: every
/// batch of an [`Intake`](crate::Intake) is a blocking task, so that the threads which
/// poll are never held up.
///
/// A batch that is verified directly stays on the thread that asks: tokio lends no
/// threads to work that borrows. Use rayon's ([`Threads::Shared`]) for that.
///
/// Work given to a runtime that has shut down is answered as abandoned. A blocking task
/// that waits for an answer calls [`Pending::wait`](crate::Pending::wait), which does
/// the work itself if nobody else has begun it.
#[derive(Clone, Debug)]
pub struct BlockingPool {
    handle: Handle,
    workers: usize,
}

impl BlockingPool {
    /// The blocking threads of the runtime of `handle`, `workers` of them at once at
    /// most; one at least.
    #[must_use]
    pub fn new(handle: Handle, workers: usize) -> Self {
        let workers = workers.max(1);
        Self { handle, workers }
    }

    /// The choice of these threads.
    #[must_use]
    pub fn into_threads(self) -> Threads {
        Threads::Executor(std::sync::Arc::new(self))
    }
}

impl Executor for BlockingPool {
    fn workers(&self) -> usize {
        self.workers
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        drop(self.handle.spawn_blocking(work));
    }

    fn is_worker(&self) -> bool {
        false
    }
}
