//! A batch on its way: planted items, the deadline, and the caller's handle.

use core::fmt;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use batch_verify::RejectReason;
use mldsa_core::ParameterSet;

use crate::error::GpuError;
use crate::layout::Answer;
use crate::lock::lock;
use crate::state::{Counts, Loan, Shared};
use crate::watch::Watched;
use crate::worker::{Command, Launch, Launched};

/// Verdict of the device on an item, [`RejectReason::NotVerified`] if it has none.
type Verdict = Result<(), RejectReason>;

/// To whom a slot belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The item at this index.
    Item(u32),
    /// The probe at this index.
    Planted(u32),
}

/// A batch as it was submitted.
pub(crate) struct Order {
    pub(crate) launch: Launch,
    pub(crate) owners: Vec<Owner>,
    pub(crate) decided: Vec<(usize, RejectReason)>,
    pub(crate) items: usize,
}

enum State {
    /// With the worker.
    Device,
    Ended(Outcome),
    /// With the thread that settles it.
    Settling,
    /// `None` when the verdicts were taken.
    Done(Option<Vec<Verdict>>),
}

/// What is known when a job is settled. Each job is settled once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The codes of all slots are there.
    Returned,
    /// The device was given up before.
    NoDevice,
    /// The device may still use the block.
    Lost,
}

struct Progress {
    state: State,
    /// Whether a thread waits, which then settles the job itself.
    is_awaited: bool,
}

pub(crate) struct Job<P: ParameterSet> {
    shared: Arc<Shared<P>>,
    order: Order,
    deadline: Instant,
    loan: Mutex<Option<Loan<P>>>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl<P: ParameterSet> Job<P> {
    pub(crate) fn submit(loan: Loan<P>, order: Order) -> Pending<P> {
        let shared = loan.shared.clone();
        let state = match (shared.fault(), order.owners.is_empty()) {
            (Some(_), _) => State::Ended(Outcome::NoDevice),
            (None, true) => State::Ended(Outcome::Returned),
            (None, false) => State::Device,
        };
        let is_for_device = matches!(state, State::Device);
        let job = Arc::new(Self {
            deadline: Instant::now() + shared.options.deadline,
            shared: shared.clone(),
            order,
            loan: Mutex::new(Some(loan)),
            progress: Mutex::new(Progress {
                state,
                is_awaited: false,
            }),
            changed: Condvar::new(),
        });
        if shared.fault() == Some(&GpuError::Forked) {
            // The thread that settles batches is not here.
            job.settle_as(Outcome::NoDevice);
            return Pending(job);
        }
        if is_for_device && shared.commands.send(Command::Run(job.clone())).is_err() {
            job.ended(Err(GpuError::Threads));
        }
        shared.watch.add(job.clone());
        Pending(job)
    }

    /// Returns what there is to settle to the first caller.
    fn claim(&self, now: Instant) -> Option<Outcome> {
        let mut progress = lock(&self.progress);
        let outcome = match progress.state {
            State::Ended(outcome) => outcome,
            State::Device if now >= self.deadline => Outcome::Lost,
            _ => return None,
        };
        progress.state = State::Settling;
        Some(outcome)
    }

    fn settle_as(&self, outcome: Outcome) {
        let is_late = outcome == Outcome::Lost && self.shared.fault().is_none();
        if is_late {
            self.shared.give_up(&GpuError::Deadline);
        }
        let verdicts = self.verdicts(outcome);
        if let Some(loan) = lock(&self.loan).take() {
            loan.lost.store(outcome == Outcome::Lost, Ordering::Relaxed);
        }
        let mut progress = lock(&self.progress);
        progress.state = State::Done(Some(verdicts));
        drop(progress);
        self.changed.notify_all();
    }

    /// Returns one verdict for each item. None counts once the device is given up.
    fn verdicts(&self, outcome: Outcome) -> Vec<Verdict> {
        let order = &self.order;
        let is_right = outcome == Outcome::Returned && self.shared.fault().is_none();
        let checked = is_right.then(|| self.check());
        if checked == Some(None) {
            self.shared.give_up(&GpuError::WrongVerdict);
        }
        let verdicts = checked.flatten();
        self.count(|counts| {
            counts.batches += 1;
            counts.items += order.items as u64;
            counts.batches_without_device += u64::from(verdicts.is_none());
        });
        let none = || vec![Err(RejectReason::NotVerified); order.items];
        let mut verdicts = verdicts.unwrap_or_else(none);
        for &(item, reason) in &order.decided {
            verdicts[item] = Err(reason);
        }
        verdicts
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        if !self.shared.is_forked() {
            change(&mut lock(&self.shared.counts));
        }
    }

    /// Returns the verdicts of the device; `None` if it is wrong about a planted item or gives an
    /// answer that does not exist, and nothing that it said counts.
    fn check(&self) -> Option<Vec<Verdict>> {
        let owners = &self.order.owners;
        #[allow(unsafe_code, reason = "page-locked memory")]
        // SAFETY: the launch had so many slots and has ended; the loan is this job's.
        let codes = unsafe { self.order.launch.block.codes(owners.len()) };
        let mut verdicts = vec![Ok(()); self.order.items];
        let mut is_right = true;
        for (&code, owner) in codes.iter().zip(owners) {
            match (*owner, Answer::of(code)?) {
                (Owner::Planted(probe), answer) => {
                    let known = self.shared.probes.all[probe as usize].verdict;
                    is_right &= answer == Answer::Verdict(known);
                }
                (Owner::Item(item), Answer::Verdict(verdict)) => verdicts[item as usize] = verdict,
                (Owner::Item(item), Answer::Cpu) => {
                    verdicts[item as usize] = Err(RejectReason::NotVerified);
                }
            }
        }
        is_right.then_some(verdicts)
    }
}

impl<P: ParameterSet> Launched for Job<P> {
    fn launch(&self) -> Launch {
        self.order.launch
    }

    fn is_wanted(&self) -> bool {
        self.shared.fault().is_none()
    }

    fn ended(&self, result: Result<(), GpuError>) {
        let outcome = match result {
            Ok(()) => Outcome::Returned,
            Err(error) => {
                self.shared.give_up(&error);
                Outcome::Lost
            }
        };
        let mut progress = lock(&self.progress);
        if matches!(progress.state, State::Device) {
            progress.state = State::Ended(outcome);
        }
        let is_awaited = progress.is_awaited;
        drop(progress);
        match is_awaited {
            true => self.changed.notify_all(),
            false => self.shared.watch.wake(),
        }
    }
}

impl<P: ParameterSet> Watched for Job<P> {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_due(&self, now: Instant) -> bool {
        match lock(&self.progress).state {
            State::Device => now >= self.deadline,
            State::Ended(_) => true,
            State::Settling | State::Done(_) => false,
        }
    }

    fn settle(&self, now: Instant) {
        if let Some(outcome) = self.claim(now) {
            self.settle_as(outcome);
        }
    }
}

/// Time for which a caller that waits looks again and again.
const SPIN: Duration = Duration::from_micros(300);

/// A batch in flight. Dropping it loses its verdicts and nothing else.
#[must_use = "a batch without its verdicts was verified for nothing"]
pub(crate) struct Pending<P: ParameterSet>(Arc<Job<P>>);

impl<P: ParameterSet> Pending<P> {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.0.order.items
    }

    /// Waits for the verdicts of the device, one for each item in the order of the batch.
    ///
    /// Comes to an end even if the driver never does: after the deadline, and in a child made by
    /// `fork`, no item is verified.
    #[must_use]
    pub(crate) fn wait(self) -> Vec<Result<(), RejectReason>> {
        let (job, start) = (&self.0, Instant::now());
        if job.shared.is_forked() {
            // Threads that are not here may have held the locks.
            return job.verdicts(Outcome::NoDevice);
        }
        loop {
            let now = Instant::now();
            let mut progress = lock(&job.progress);
            if let State::Done(verdicts) = &mut progress.state {
                return verdicts.take().unwrap_or_default();
            }
            progress.is_awaited = true;
            if matches!(progress.state, State::Ended(_)) || now >= job.deadline {
                drop(progress);
                if let Some(outcome) = job.claim(now) {
                    job.shared.watch.remove(&**job);
                    job.settle_as(outcome);
                    continue;
                }
                progress = lock(&job.progress);
            }
            match progress.state {
                State::Device if now < start + SPIN => {
                    drop(progress);
                    thread::yield_now();
                }
                State::Device | State::Settling => {
                    let left = job.deadline.saturating_duration_since(now);
                    let left = left.max(Duration::from_millis(1));
                    let waited = job.changed.wait_timeout(progress, left);
                    drop(waited.unwrap_or_else(PoisonError::into_inner));
                }
                State::Ended(_) | State::Done(_) => {}
            }
        }
    }
}

impl<P: ParameterSet> fmt::Debug for Pending<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = matches!(lock(&self.0.progress).state, State::Done(_));
        f.debug_struct("Pending")
            .field("set", &P::NAME)
            .field("items", &self.0.order.items)
            .field("done", &is_done)
            .finish_non_exhaustive()
    }
}
