//! The jobs that an intake gives to its executor: a batch each, so that whatever shares
//! the pool has its turn.

use core::cell::RefCell;
use core::mem;
use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::{IntakeError, Shared};
use crate::caught::caught;
use crate::executor::spawn;

/// Workers of intakes, at most, that step aside one after the other for other work.
/// There are more only while items come faster than that, and each starts one.
const MAX_YIELDS: usize = 256;

/// A job of the executor. Dropped instead of run, it says so.
pub(super) struct Worker<P: ParameterSet>(Option<Arc<Shared<P>>>);

impl<P: ParameterSet> Worker<P> {
    /// Hands one that counts already to the executor.
    pub(super) fn start(shared: &Arc<Shared<P>>) {
        let worker = Self(Some(Arc::clone(shared)));
        let verifier = shared.verifier.current();
        let work = move || {
            caught(move || worker.run());
        };
        spawn(&**verifier.executor(), Box::new(work));
    }

    fn run(self) {
        let Some(shared) = &self.0 else { return };
        let intake: Arc<dyn Resume> = Arc::<Shared<P>>::clone(shared);
        match Turn::take(intake) {
            Turn::First(first) => {
                self.batch();
                first.hand_on();
            }
            Turn::Batch => self.batch(),
            Turn::None => self.step_aside(),
        }
    }

    /// Verifies a batch. Nothing but a panic of the intake itself drops the worker.
    fn batch(mut self) {
        let Some(shared) = &self.0 else { return };
        let max = shared.limits.batch;
        let waiting = shared.cut(|state| state.queue.cut_or_retire(max));
        if waiting.is_empty() {
            self.0 = None;
            return;
        }
        with_stack(|stack| stack.batches += 1);
        caught(|| shared.run(None, waiting));
        with_stack(|stack| stack.batches -= 1);
        self.step_aside();
    }

    /// Ends; whoever is first on this thread starts another one if anything waits.
    fn step_aside(mut self) {
        if let Some(shared) = self.0.take()
            && shared.lock().queue.step_aside()
        {
            leave(shared);
        }
    }
}

impl<P: ParameterSet> Drop for Worker<P> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            let lost = shared.cut(|state| state.queue.lost_worker());
            shared.refuse_all(lost, IntakeError::Abandoned);
            let_go(shared);
        }
    }
}

/// An intake whose worker has stepped aside.
trait Resume: Send + Sync {
    /// Starts a worker again, if there is need of it.
    fn resume(self: Arc<Self>);

    /// Lets other work of its pool go first.
    fn yield_now(&self);
}

impl<P: ParameterSet> Resume for Shared<P> {
    fn resume(self: Arc<Self>) {
        if self.lock().queue.start(&self.limits) {
            Worker::start(&self);
        }
    }

    fn yield_now(&self) {
        caught(|| self.verifier.current().executor().yield_now());
    }
}

/// The last handle of an intake drops the caller's hooks, which may panic.
fn let_go<T>(handle: T) {
    caught(move || drop(handle));
}

thread_local! {
    /// What the first of the workers that stand on top of each other on this thread is
    /// at: a pool may run others within the calls of one.
    static STACK: RefCell<Option<Stack>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Stack {
    /// How many workers have begun on top of the first.
    nested: usize,
    /// Batches that they verify now, more than one only from hooks.
    batches: usize,
    /// Whose they were, if the last one has verified a batch since the first went on.
    served: Vec<Arc<dyn Resume>>,
    /// Whose workers have stepped aside.
    aside: Vec<Arc<dyn Resume>>,
}

/// Acts on the stack of this thread; `None` if there is none, or no thread any more.
fn with_stack<R>(act: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    let act = |stack: &RefCell<Option<Stack>>| stack.borrow_mut().as_mut().map(act);
    STACK.try_with(act).ok().flatten()
}

fn leave(intake: Arc<dyn Resume>) {
    let mut intake = Some(intake);
    with_stack(|stack| stack.aside.extend(intake.take()));
    if let Some(intake) = intake {
        intake.resume();
    }
}

/// What a worker does that begins.
enum Turn {
    /// A batch, and then what the first on a thread has to do.
    First(First),
    /// A batch.
    Batch,
    /// Nothing: its intake had the turn before on top of the first, and other work may
    /// not have had one.
    None,
}

impl Turn {
    fn take(intake: Arc<dyn Resume>) -> Self {
        let nested = with_stack(|stack| {
            stack.nested += 1;
            let served = |other: &Arc<dyn Resume>| Arc::ptr_eq(other, &intake);
            if let Some(at) = stack.served.iter().position(served) {
                if stack.batches == 0 {
                    // The next one has a turn again: the job below may stay. Not from a
                    // hook, whose batches would stand on top of each other.
                    stack.served.swap_remove(at);
                }
                return Self::None;
            }
            stack.served.push(Arc::clone(&intake));
            Self::Batch
        });
        nested.unwrap_or_else(|| {
            // A thread that is ending has no stack; what is left there goes on at once.
            let _ = STACK.try_with(|place| place.replace(Some(Stack::default())));
            Self::First(First)
        })
    }
}

/// The worker below all others on this thread.
struct First;

impl First {
    /// Lets others go first, then gives the executor the next jobs of all who have
    /// stepped aside. An executor that runs them at once, on this thread, comes back
    /// here after a batch of each: what its calls nest does not grow.
    fn hand_on(self) {
        let aside = || with_stack(|stack| mem::take(&mut stack.aside)).unwrap_or_default();
        let nested = || with_stack(|stack| stack.nested);
        loop {
            let mut waiting = aside();
            let Some(first) = waiting.first().cloned() else {
                return;
            };
            // If an intake went first, other work is still to come.
            for _ in 0..MAX_YIELDS {
                let before = nested();
                first.yield_now();
                waiting.extend(aside());
                if nested() == before {
                    break;
                }
            }
            drop(first);
            let served = with_stack(|stack| mem::take(&mut stack.served));
            served.into_iter().flatten().for_each(let_go);
            for intake in waiting {
                caught(|| intake.resume());
            }
        }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if let Some(stack) = STACK.try_with(RefCell::take).ok().flatten() {
            // Some are left after a panic only.
            for intake in stack.aside {
                caught(|| intake.resume());
            }
            stack.served.into_iter().for_each(let_go);
        }
    }
}
