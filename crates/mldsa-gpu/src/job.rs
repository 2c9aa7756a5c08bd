//! A batch on its way, and the handle that the caller waits for.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::{Context as TaskContext, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use batch_verify::RejectReason;
use mldsa_core::ParameterSet;

use crate::block::{Block, Loan};
use crate::error::GpuError;
use crate::registry::Table;
use crate::shared::{Shared, lock};
use crate::worker::Command;

/// Verdict on an item.
pub(crate) type Verdict = Result<(), RejectReason>;

/// To whom a slot belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The item at this index.
    Item(u32),
    /// The probe at this index.
    Planted(u32),
}

/// What the CPU verifies again besides the share of acceptances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Nothing,
    Rejections,
    All,
}

/// A batch as it was submitted.
pub(crate) struct Order {
    pub(crate) block: Block,
    pub(crate) table: Option<Table>,
    pub(crate) stride: usize,
    pub(crate) words: usize,
    pub(crate) owners: Vec<Owner>,
    pub(crate) decided: Vec<(usize, RejectReason)>,
    pub(crate) items: usize,
    pub(crate) again: Again,
}

enum State {
    /// With the worker.
    Device,
    /// Codes of all slots.
    Returned(Vec<u8>),
    /// To be verified by the CPU.
    Failed,
    /// With the thread that settles it.
    Settling,
    /// `None` when the verdicts were taken.
    Done(Option<Vec<Verdict>>),
}

/// What is known when a job is settled. Each job is settled once.
pub(crate) enum Outcome {
    Returned(Vec<u8>),
    NoDevice,
    Deadline,
}

pub(crate) struct Job<P: ParameterSet> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) order: Order,
    pub(crate) deadline: Instant,
    loan: Mutex<Option<Loan<P>>>,
    state: Mutex<(State, Option<Waker>)>,
    done: Condvar,
}

impl<P: ParameterSet> Job<P> {
    pub(crate) fn submit(loan: Loan<P>, order: Order) -> Pending<P> {
        let shared = loan.shared.clone();
        let state = match shared.fault.get() {
            Some(_) => State::Failed,
            None => State::Device,
        };
        let to_device = matches!(state, State::Device) && !order.owners.is_empty();
        let job = Arc::new(Self {
            deadline: Instant::now() + shared.options.deadline,
            shared: shared.clone(),
            order,
            loan: Mutex::new(Some(loan)),
            state: Mutex::new((state, None)),
            done: Condvar::new(),
        });
        if job.order.owners.is_empty() {
            job.settle(Outcome::Returned(Vec::new()));
            return Pending(job);
        }
        if to_device && shared.commands.send(Command::Run(job.clone())).is_err() {
            job.failed();
        }
        shared.watch.add(job.clone());
        Pending(job)
    }

    /// Takes the codes of all slots from the worker.
    pub(crate) fn returned(&self, codes: Vec<u8>) {
        self.replace(State::Returned(codes));
    }

    /// Leaves the batch to the CPU.
    pub(crate) fn failed(&self) {
        self.replace(State::Failed);
    }

    fn replace(&self, new: State) {
        let mut state = lock(&self.state);
        if matches!(state.0, State::Device) {
            state.0 = new;
        }
    }

    /// What there is to settle, for the first who asks.
    pub(crate) fn claim(&self, now: Instant) -> Option<Outcome> {
        let mut state = lock(&self.state);
        let outcome = match &mut state.0 {
            State::Returned(codes) => Outcome::Returned(core::mem::take(codes)),
            State::Failed => Outcome::NoDevice,
            State::Device if now >= self.deadline => Outcome::Deadline,
            _ => return None,
        };
        state.0 = State::Settling;
        Some(outcome)
    }

    pub(crate) fn is_settled(&self) -> bool {
        matches!(lock(&self.state).0, State::Done(_))
    }

    pub(crate) fn settle(&self, outcome: Outcome) {
        let lost = matches!(outcome, Outcome::Deadline);
        if lost {
            self.shared.give_up(&GpuError::Deadline);
        }
        let verdicts = self.verdicts(outcome);
        if let Some(loan) = lock(&self.loan).take() {
            loan.lost.store(lost, Ordering::Relaxed);
        }
        let mut state = lock(&self.state);
        state.0 = State::Done(Some(verdicts));
        let waker = state.1.take();
        drop(state);
        self.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Time after the deadline that the checker has before a waiting caller does its work.
const GRACE: Duration = Duration::from_millis(200);

/// A batch in flight. Dropping it loses its verdicts and nothing else.
#[must_use = "a batch without its verdicts was verified for nothing"]
pub struct Pending<P: ParameterSet>(Arc<Job<P>>);

impl<P: ParameterSet> Pending<P> {
    /// Waits for the verdicts, one for each item in the order of the batch.
    ///
    /// Comes to an end even if the driver never does: the CPU verifies after the deadline.
    #[must_use]
    pub fn wait(self) -> Vec<Result<(), RejectReason>> {
        let late = self.0.deadline + GRACE;
        let mut state = lock(&self.0.state);
        loop {
            if let State::Done(verdicts) = &mut state.0 {
                return verdicts.take().unwrap_or_default();
            }
            let left = late.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                if let Some(outcome) = self.0.claim(late) {
                    self.0.settle(outcome);
                }
                state = lock(&self.0.state);
            }
            if !matches!(state.0, State::Done(_)) {
                let waited = self.0.done.wait_timeout(state, left.max(GRACE));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Whether the verdicts are there.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_settled()
    }
}

impl<P: ParameterSet> Future for Pending<P> {
    type Output = Vec<Result<(), RejectReason>>;

    /// After the verdicts were taken: an empty list.
    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.0.state);
        match &mut state.0 {
            State::Done(verdicts) => Poll::Ready(verdicts.take().unwrap_or_default()),
            _ => {
                state.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<P: ParameterSet> fmt::Debug for Pending<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("set", &P::NAME)
            .field("items", &self.0.order.items)
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
