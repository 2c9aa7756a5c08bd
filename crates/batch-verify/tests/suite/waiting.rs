//! Waiting for a future on this thread.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::thread::Thread;

/// Limit after which a test counts as hung: 600 s, or `MLDSA_TEST_HANG_SECONDS`.
pub(crate) fn hang_limit() -> Duration {
    let seconds = std::env::var("MLDSA_TEST_HANG_SECONDS").ok();
    Duration::from_secs(
        seconds.map_or(600, |seconds| seconds.parse().expect("a number of seconds")),
    )
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
