//! The thread that settles what nobody waits for, and what the device keeps too long.

use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::lock::lock;

/// Work that is out.
pub(crate) trait Watched: Send + Sync {
    /// Returns the latest time to settle it.
    fn deadline(&self) -> Instant;
    fn is_due(&self, now: Instant) -> bool;
    /// Settles it, if it is due and nobody else does.
    fn settle(&self, now: Instant);
}

#[derive(Default)]
pub(crate) struct Watch {
    open: Mutex<(Vec<Arc<dyn Watched>>, bool)>,
    changed: Condvar,
}

impl Watch {
    pub(crate) fn add(&self, work: Arc<dyn Watched>) {
        lock(&self.open).0.push(work);
        self.changed.notify_all();
    }

    /// Takes out work that was settled elsewhere.
    pub(crate) fn remove(&self, work: &dyn Watched) {
        let mut open = lock(&self.open);
        let at = open
            .0
            .iter()
            .position(|own| core::ptr::addr_eq(&**own, work));
        let removed = at.map(|at| open.0.swap_remove(at));
        drop(open);
        drop(removed);
    }

    /// Says that work may be due. The lock orders this after a look that has missed the change.
    pub(crate) fn wake(&self) {
        drop(lock(&self.open));
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        lock(&self.open).1 = true;
        self.changed.notify_all();
    }

    /// Settles work until the watch is closed.
    pub(crate) fn run(&self) {
        let mut open = lock(&self.open);
        while !open.1 {
            let now = Instant::now();
            if let Some(at) = open.0.iter().position(|work| work.is_due(now)) {
                let work = open.0.swap_remove(at);
                drop(open);
                work.settle(now);
                // The last handle of a device may end here, which closes the watch.
                drop(work);
                open = lock(&self.open);
                continue;
            }
            let next = open.0.iter().map(|work| work.deadline()).min();
            let left = next.map_or(Duration::MAX, |next| next.saturating_duration_since(now));
            let left = left.clamp(Duration::from_millis(1), Duration::from_secs(3600));
            let waited = self.changed.wait_timeout(open, left);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
