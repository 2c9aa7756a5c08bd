//! Verdicts from the device's answers: planted items, verification again, and the CPU alone.

use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use batch_verify::{Item, RejectReason};
use mldsa_core::{Context, Mu, ParameterSet, VerifyingKey};

use crate::error::GpuError;
use crate::job::{Again, Job, Outcome, Owner, Verdict};
use crate::layout::{Answer, MU_GIVEN};
use crate::options::CrossCheck;
use crate::probe::Random;
use crate::shared::{Counts, lock, read};

/// Jobs that are not settled. One thread settles them when the worker returns them or when their
/// deadline is over, whatever the worker does.
pub(crate) struct Watch<P: ParameterSet> {
    jobs: Mutex<Jobs<P>>,
    changed: Condvar,
}

struct Jobs<P: ParameterSet> {
    open: Vec<Arc<Job<P>>>,
    closed: bool,
}

impl<P: ParameterSet> Watch<P> {
    pub(crate) fn new() -> Self {
        let jobs = Jobs {
            open: Vec::new(),
            closed: false,
        };
        Self {
            jobs: Mutex::new(jobs),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn add(&self, job: Arc<Job<P>>) {
        lock(&self.jobs).open.push(job);
        self.changed.notify_all();
    }

    /// Says that a job may be settled. The lock orders this after a look at the jobs that has
    /// missed the change.
    pub(crate) fn wake(&self) {
        drop(lock(&self.jobs));
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        lock(&self.jobs).closed = true;
        self.changed.notify_all();
    }

    /// Settles jobs until the watch is closed.
    pub(crate) fn run(&self) {
        let mut jobs = lock(&self.jobs);
        while !jobs.closed {
            let now = Instant::now();
            let claims = |(n, job): (usize, &Arc<Job<P>>)| Some((n, job.claim(now)?));
            let claimed = jobs.open.iter().enumerate().find_map(claims);
            if let Some((n, outcome)) = claimed {
                let job = jobs.open.remove(n);
                drop(jobs);
                job.settle(outcome);
                // The last handle of a device may end here, which closes the watch.
                drop(job);
                jobs = lock(&self.jobs);
                continue;
            }
            // A caller that waited too long has settled its job itself.
            let settled = jobs.open.iter().position(|job| job.is_settled());
            if let Some(settled) = settled.map(|n| jobs.open.remove(n)) {
                drop(jobs);
                drop(settled);
                jobs = lock(&self.jobs);
                continue;
            }
            let next = jobs.open.iter().map(|job| job.deadline).min();
            let left = next.map_or(Duration::MAX, |next| next.saturating_duration_since(now));
            let left = left.clamp(Duration::from_millis(1), Duration::from_secs(3600));
            let waited = self.changed.wait_timeout(jobs, left);
            jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<P: ParameterSet> Job<P> {
    /// One verdict for each item.
    pub(crate) fn verdicts(&self, outcome: Outcome) -> Vec<Verdict> {
        self.count(|counts| {
            counts.batches += 1;
            counts.items += self.order.items as u64;
        });
        let mut verdicts = vec![Err(RejectReason::NotVerified); self.order.items];
        for &(item, reason) in &self.order.decided {
            verdicts[item] = Err(reason);
        }
        let checked = match outcome {
            Outcome::Returned(codes) => self.check(&codes, &mut verdicts),
            Outcome::NoDevice | Outcome::Deadline => Err(None),
        };
        if let Err(error) = checked {
            if let Some(error) = error {
                self.shared.give_up(&error);
            }
            self.count(|counts| counts.batches_without_device += 1);
            let items = self.slots_of_items().collect::<Vec<_>>();
            self.verify(&items, |item, verdict| verdicts[item] = verdict);
        }
        verdicts
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut lock(&self.shared.counts));
    }

    /// Slots of the items, each with the index of the item.
    fn slots_of_items(&self) -> impl Iterator<Item = (usize, usize)> {
        let owners = self.order.owners.iter().enumerate();
        owners.filter_map(|(slot, owner)| match owner {
            Owner::Item(item) => Some((slot, *item as usize)),
            Owner::Planted(_) => None,
        })
    }

    /// Takes over what the device says.
    ///
    /// # Errors
    /// The device is wrong, and nothing that it said counts.
    fn check(&self, codes: &[u8], verdicts: &mut [Verdict]) -> Result<(), Option<GpuError>> {
        const WRONG: Option<GpuError> = Some(GpuError::WrongVerdict);
        if codes.len() != self.order.owners.len() {
            return Err(WRONG);
        }
        let answers: Option<Vec<Answer>> = codes.iter().map(|code| Answer::of(*code)).collect();
        let answers = answers.ok_or(WRONG)?;
        for (answer, owner) in answers.iter().zip(&self.order.owners) {
            if let Owner::Planted(probe) = *owner
                && *answer != Answer::Verdict(self.shared.probes.all[probe as usize].verdict)
            {
                return Err(WRONG);
            }
        }
        let mut random = Random::new();
        let mut is_drawn = || match self.shared.options.cross_check {
            CrossCheck::Off => false,
            CrossCheck::OneIn(share) => random.below(share as usize) == 0,
        };
        let mut again = Vec::new();
        for (slot, item) in self.slots_of_items() {
            let by_request = match (answers[slot], self.order.again) {
                (Answer::Cpu, _) | (_, Again::All) => true,
                (Answer::Verdict(verdict), again) => verdict.is_err() && again == Again::Rejections,
            };
            match answers[slot] {
                Answer::Verdict(verdict) if !by_request && !is_drawn() => verdicts[item] = verdict,
                _ => again.push((slot, item)),
            }
        }
        self.count(|counts| counts.verified_again += again.len() as u64);
        let mut is_wrong = false;
        let slots: Vec<usize> = again.iter().map(|(slot, _)| *slot).collect();
        let mut slots = slots.into_iter();
        self.verify(&again, |item, verdict| {
            let said = slots.next().map(|slot| answers[slot]);
            is_wrong |=
                !matches!(said, Some(Answer::Cpu)) && said != Some(Answer::Verdict(verdict));
            verdicts[item] = verdict;
        });
        if is_wrong { Err(WRONG) } else { Ok(()) }
    }

    /// Verifies slots on the CPU and reports the verdict of each, in their order.
    fn verify(&self, slots: &[(usize, usize)], mut report: impl FnMut(usize, Verdict)) {
        let (order, layout) = (&self.order, self.shared.layout);
        #[allow(unsafe_code, reason = "page-locked memory")]
        // SAFETY: nobody writes to a block between submission and the end of its loan, which is
        // after this.
        let bytes = unsafe { order.block.bytes() };
        let slot =
            |index: usize| &bytes[order.block.bound + index * order.stride..][..order.stride];
        let meta = |slot: &[u8], n: usize| {
            let word = slot[layout.meta + 4 * n..].first_chunk();
            u32::from_le_bytes(*word.unwrap_or(&[0; 4]))
        };
        let mut keys: Vec<Option<Arc<VerifyingKey<P>>>> = vec![None; slots.len()];
        if let Some(table) = order.table {
            let registry = read(&self.shared.registry);
            for (key, (index, _)) in keys.iter_mut().zip(slots) {
                *key = registry.at(table, meta(slot(*index), 0));
            }
        }
        let message = |slot: &[u8]| {
            let start = order.block.bound - 8 * meta(slot, 1) as usize;
            match meta(slot, 2) {
                MU_GIVEN => &bytes[start..start + 64],
                len => &bytes[start..start + len as usize],
            }
        };
        let mus: Vec<Option<Mu>> = slots
            .iter()
            .map(|(index, _)| {
                let slot = slot(*index);
                let mu = *message(slot).first_chunk()?;
                (meta(slot, 2) == MU_GIVEN).then(|| Mu::from_bytes(mu))
            })
            .collect();
        let items = slots
            .iter()
            .zip(&keys)
            .zip(&mus)
            .map(|(((index, _), key), mu)| {
                let slot = slot(*index);
                let key: &[u8] = match key {
                    Some(key) => key.as_bytes().as_ref(),
                    None => slot.get(layout.slot..).unwrap_or_default(),
                };
                let signature = &slot[..P::SIG_LEN];
                match mu {
                    Some(mu) => Item::from_mu(key, mu, signature),
                    None => {
                        let (context, message) =
                            message(slot)[2..].split_at(message(slot)[1].into());
                        let context = Context::new(context).unwrap_or(Context::EMPTY);
                        Item::new(key, context, message, signature)
                    }
                }
            });
        let verdicts = self.shared.verifier.verify_batch(items);
        for ((_, item), verdict) in slots.iter().zip(verdicts.verdicts()) {
            report(*item, *verdict);
        }
    }
}
