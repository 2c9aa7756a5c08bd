//! A batch on its way: planted items, verification again, the CPU alone, and the caller's handle.

use core::fmt;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use batch_verify::{Item, RejectReason};
use mldsa_core::{Context, Mu, ParameterSet, VerifyingKey};

use crate::error::GpuError;
use crate::layout::{Answer, MU_GIVEN};
use crate::lock::lock;
use crate::probe::Random;
use crate::state::{Counts, Loan, Shared};
use crate::watch::Watched;
use crate::worker::{Command, Launch, Launched};

/// Verdict on an item.
type Verdict = Result<(), RejectReason>;

/// To whom a slot belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The item at this index.
    Item(u32),
    /// The probe at this index.
    Planted(u32),
}

/// What the CPU verifies again besides the share that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Rejections; the share of acceptances too.
    Rejections,
    /// The share of acceptances: the caller verifies rejections, and tells which are wrong.
    Acceptances,
    All,
}

/// A batch as it was submitted.
pub(crate) struct Order {
    pub(crate) launch: Launch,
    pub(crate) owners: Vec<Owner>,
    pub(crate) decided: Vec<(usize, RejectReason)>,
    pub(crate) items: usize,
    pub(crate) again: Again,
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
    /// Slots that the CPU verifies while the device does, in increasing order.
    drawn: Vec<usize>,
    /// Its verdicts.
    drawn_verdicts: OnceLock<Vec<Verdict>>,
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
            drawn: if is_for_device {
                draw(shared.options.cross_check, &order)
            } else {
                Vec::new()
            },
            shared: shared.clone(),
            order,
            loan: Mutex::new(Some(loan)),
            progress: Mutex::new(Progress {
                state,
                is_awaited: false,
            }),
            changed: Condvar::new(),
            drawn_verdicts: OnceLock::new(),
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
        // Nobody reads the block once its loan has ended: this waits for a `prepare` that runs,
        // and leaves nothing to do for a later one.
        self.drawn_verdicts.get_or_init(Vec::new);
        if let Some(loan) = lock(&self.loan).take() {
            loan.lost.store(outcome == Outcome::Lost, Ordering::Relaxed);
        }
        let mut progress = lock(&self.progress);
        progress.state = State::Done(Some(verdicts));
        drop(progress);
        self.changed.notify_all();
    }

    /// Returns one verdict for each item.
    fn verdicts(&self, outcome: Outcome) -> Vec<Verdict> {
        let order = &self.order;
        let is_right = outcome == Outcome::Returned && self.shared.fault().is_none();
        let checked = if is_right { self.check() } else { Ok(None) };
        if let Err(error) = &checked {
            self.shared.give_up(error);
        }
        // The CPU took its time, and another batch may have shown meanwhile that the device is wrong.
        let is_right = |_: &Vec<Verdict>| self.shared.fault().is_none();
        let verdicts = checked.ok().flatten().filter(is_right);
        self.count(|counts| {
            counts.batches += 1;
            counts.items += order.items as u64;
            counts.batches_without_device += u64::from(verdicts.is_none());
        });
        let mut verdicts = verdicts.unwrap_or_else(|| {
            let slots = match self.shared.is_forked() {
                false => order.owners.len(),
                true => 0,
            };
            let all: Vec<usize> = (0..slots).collect();
            let mut verdicts = vec![Err(RejectReason::NotVerified); order.items];
            for (owner, verdict) in order.owners.iter().zip(self.verify(&all)) {
                if let Owner::Item(item) = *owner {
                    verdicts[item as usize] = verdict;
                }
            }
            verdicts
        });
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

    /// Returns the verdicts of the device, with those of the CPU where it verifies too.
    ///
    /// # Errors
    /// The device is wrong, and nothing that it said counts.
    fn check(&self) -> Result<Option<Vec<Verdict>>, GpuError> {
        const WRONG: GpuError = GpuError::WrongVerdict;
        let owners = &self.order.owners;
        #[allow(unsafe_code, reason = "page-locked memory")]
        // SAFETY: the launch had so many slots and has ended; the loan is this job's.
        let codes = unsafe { self.order.launch.block.codes(owners.len()) };
        let mut verdicts = vec![Ok(()); self.order.items];
        let mut planted = Vec::new();
        let mut rejected = Vec::new();
        for (slot, (&code, owner)) in codes.iter().zip(owners).enumerate() {
            match (*owner, Answer::of(code).ok_or(WRONG)?) {
                (Owner::Planted(probe), answer) => planted.push((probe, answer)),
                (Owner::Item(_), Answer::Verdict(Ok(()))) => {}
                (Owner::Item(item), answer) if self.order.again == Again::Acceptances => {
                    verdicts[item as usize] = match answer {
                        Answer::Verdict(verdict) => verdict,
                        Answer::Cpu => Err(RejectReason::NotVerified),
                    };
                }
                (Owner::Item(_), _) => rejected.push(slot),
            }
        }
        let is_right = |(probe, answer): &(u32, Answer)| {
            *answer == Answer::Verdict(self.shared.probes.all[*probe as usize].verdict)
        };
        if !planted.iter().all(is_right) {
            return Err(WRONG);
        }
        let drawn = self.drawn_verdicts.get_or_init(|| self.verify(&self.drawn));
        rejected.retain(|slot| self.drawn.binary_search(slot).is_err());
        let again = self.verify(&rejected);
        let by_cpu = self
            .drawn
            .iter()
            .zip(drawn)
            .chain(rejected.iter().zip(&again));
        let mut is_wrong = false;
        for (&slot, verdict) in by_cpu {
            let Owner::Item(item) = owners[slot] else {
                continue;
            };
            let answer = Answer::of(codes[slot]);
            is_wrong |= ![Some(Answer::Cpu), Some(Answer::Verdict(*verdict))].contains(&answer);
            verdicts[item as usize] = *verdict;
        }
        self.count(|counts| counts.verified_again += (drawn.len() + again.len()) as u64);
        if is_wrong {
            Err(WRONG)
        } else {
            Ok(Some(verdicts))
        }
    }

    /// Verifies slots on the CPU.
    fn verify(&self, slots: &[usize]) -> Vec<Verdict> {
        if slots.is_empty() {
            return Vec::new();
        }
        let (launch, layout) = (self.order.launch, self.shared.layout);
        #[allow(unsafe_code, reason = "page-locked memory")]
        // SAFETY: nobody writes to a block between submission and the end of its loan, which is
        // after this.
        let bytes = unsafe { launch.block.bytes() };
        let slot =
            |index: &usize| &bytes[launch.block.bound + index * launch.stride..][..launch.stride];
        let meta = |slot: &[u8], n: usize| {
            let word = slot[layout.meta + 4 * n..].first_chunk();
            u32::from_le_bytes(*word.unwrap_or(&[0; 4]))
        };
        let mut keys: HashMap<u32, Option<Arc<VerifyingKey<P>>>> = HashMap::new();
        if let Some(table) = launch.table {
            let registry = lock(&self.shared.registry);
            for index in slots.iter().map(|index| meta(slot(index), 0)) {
                keys.entry(index)
                    .or_insert_with(|| registry.at(table, index));
            }
        }
        let parts: Vec<(&[u8], &[u8], Option<Mu>)> = slots
            .iter()
            .map(|index| {
                let slot = slot(index);
                let message = &bytes[launch.block.bound - 8 * meta(slot, 1) as usize..];
                match (meta(slot, 2), message.first_chunk()) {
                    (MU_GIVEN, Some(mu)) => (slot, &[][..], Some(Mu::from_bytes(*mu))),
                    (len, _) => (slot, &message[..len as usize], None),
                }
            })
            .collect();
        let items = parts.iter().map(|(slot, message, mu)| {
            let key: &[u8] = match keys.get(&meta(slot, 0)) {
                Some(Some(key)) if launch.table.is_some() => key.as_bytes().as_ref(),
                _ => slot.get(layout.slot..).unwrap_or_default(),
            };
            let signature = &slot[..P::SIG_LEN];
            match mu {
                Some(mu) => Item::from_mu(key, mu, signature),
                None => {
                    let (context, message) = message[2..].split_at(message[1].into());
                    // Without a context nothing is verified, and an empty signature is rejected.
                    match Context::new(context) {
                        Ok(context) => Item::new(key, message, context, signature),
                        Err(_) => Item::new(key, &[], Context::EMPTY, &[]),
                    }
                }
            }
        });
        self.shared.verifier.verify_batch(items).verdicts().to_vec()
    }
}

/// Chooses the slots that are verified again whatever the device says: one at random of each share.
fn draw(cross_check: Option<u32>, order: &Order) -> Vec<usize> {
    let slots = order.owners.len();
    let share = match (order.again, cross_check) {
        (Again::All, _) => 1,
        (_, None) => return Vec::new(),
        (_, Some(share)) => share.max(1) as usize,
    };
    let mut random = Random::new();
    let starts = (0..slots).step_by(share);
    let drawn = starts.map(|start| start.saturating_add(random.below(share)));
    let is_item = |slot: &usize| matches!(order.owners.get(*slot), Some(Owner::Item(_)));
    drawn.filter(is_item).collect()
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

    fn prepare(&self) {
        self.drawn_verdicts.get_or_init(|| self.verify(&self.drawn));
    }

    fn is_prepared(&self) -> bool {
        self.drawn.is_empty() || self.drawn_verdicts.get().is_some()
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
    /// Waits for the verdicts, one for each item in the order of the batch.
    ///
    /// Comes to an end even if the driver never does: the CPU verifies after the deadline. In a
    /// child made by `fork` no item is verified.
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

    /// Returns whether the CPU has begun to check the answer of the device.
    #[cfg(test)]
    pub(crate) fn is_being_checked(&self) -> bool {
        self.0.drawn_verdicts.get().is_some()
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
