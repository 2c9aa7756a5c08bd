//! The device behind `batch-verify`.

use core::error::Error;
use core::ops::Range;
use core::time::Duration;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use batch_verify::{Accelerator, AcceleratorJob, AcceleratorMessage, Item, MemberId, RejectReason};
use mldsa_core::{ParameterSet, VerifyingKey};

use crate::batch::{Batch, Key, Signed};
use crate::error::{GpuError, PushError};
use crate::gpu::Gpu;
use crate::job::Pending;
use crate::lock::lock;
use crate::probe::Random;
use crate::registry::{KeyId, Table};

/// Verdict on an item.
type Verdict = Result<(), RejectReason>;

/// Signatures that one thread copies.
const COPIED: usize = 2048;

/// Members of committees have prepared keys on the device as long as the table has room; other keys
/// go with their items. Items are verified again from the memory of their caller: rejections by
/// `batch-verify`, which tells this crate if one is wrong, and a share of all while the device works.
impl<P: ParameterSet> Accelerator<P> for Gpu<P> {
    fn min_batch(&self) -> usize {
        self.threshold()
    }

    fn verify(
        &self,
        jobs: &[AcceleratorJob<'_>],
        answers: &mut [Option<bool>],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Some(error) = self.fault() {
            return Err(error.clone().into());
        }
        let mut ids = self.member_ids(jobs);
        let patience = Instant::now() + self.shared.options.deadline;
        let mut flight: VecDeque<(usize, Pending<P>)> = VecDeque::new();
        let mut collect = |(start, pending): (usize, Pending<P>)| {
            let answers = &mut answers[start..];
            let drawn = self.draw(start..(start + pending.len()).min(jobs.len()));
            let again = self.verify_again(drawn.iter().map(|n| &jobs[*n]));
            let verdicts = pending.wait();
            let is_decided = |verdict: &Verdict| *verdict != Err(RejectReason::NotVerified);
            for (answer, verdict) in answers.iter_mut().zip(&verdicts) {
                *answer = is_decided(verdict).then_some(verdict.is_ok());
            }
            let mut pairs = drawn.iter().map(|n| verdicts[n - start]).zip(again);
            if pairs.any(|(verdict, own)| is_decided(&verdict) && verdict != own) {
                self.shared.give_up(&GpuError::WrongVerdict);
            }
        };
        let mut start = 0;
        while start < jobs.len() {
            let batch = Batch::new(&self.shared, ids.as_ref().map(|_| Table::Prepared));
            match (batch, flight.pop_front()) {
                (Ok(batch), oldest) => {
                    flight.extend(oldest);
                    let own = ids.as_ref().map(|ids| &ids[start..]);
                    let filled = fill(batch, &jobs[start..], own);
                    if own.is_some() && matches!(filled, Err(PushError::UnknownKey)) {
                        // Another call needed the places of these keys, which go with the items.
                        ids = None;
                        continue;
                    }
                    let batch = filled?;
                    let items = batch.len();
                    flight.push_back((start, batch.submit()));
                    start += items;
                }
                (Err(GpuError::Busy), Some(oldest)) => collect(oldest),
                // Other threads have all batches.
                (Err(GpuError::Busy), None) if Instant::now() < patience => {
                    thread::sleep(Duration::from_micros(100));
                }
                (Err(error), _) => return Err(error.into()),
            }
        }
        flight.into_iter().for_each(collect);
        // Nothing that a wrong device has said counts.
        self.fault()
            .map_or(Ok(()), |error| Err(error.clone().into()))
    }

    fn on_wrong_rejection(&self) {
        self.shared.give_up(&GpuError::WrongVerdict);
    }
}

/// Adds as many jobs as there is room for, at least one.
fn fill<P: ParameterSet>(
    mut batch: Batch<P>,
    jobs: &[AcceleratorJob<'_>],
    ids: Option<&[KeyId]>,
) -> Result<Batch<P>, PushError> {
    for (n, job) in jobs.iter().enumerate() {
        let key = ids.map_or(Key::Encoded(job.key), |ids| ids[n].into());
        let signed = match job.message {
            AcceleratorMessage::Pure { context, message } => Signed::Message(context, message),
            AcceleratorMessage::Mu(mu) => Signed::Mu(mu),
        };
        match batch.slot(key, signed) {
            Ok(_) => {}
            Err(PushError::Full) if n > 0 => break,
            Err(error) => return Err(error),
        }
    }
    // One thread copies 1.0 to 1.4 million signatures a second.
    let mut places: Vec<(&mut [u8], &[u8])> = batch
        .signatures_mut()
        .zip(jobs.iter().map(|job| job.signature))
        .collect();
    let threads = places.len().div_ceil(COPIED).min(8);
    let rest = Mutex::new(places.chunks_mut(COPIED));
    let copy = || {
        loop {
            let Some(chunk) = lock(&rest).next() else {
                return;
            };
            chunk
                .iter_mut()
                .for_each(|(place, signature)| place.copy_from_slice(signature));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // This thread does what a thread that does not start leaves undone.
            let _ = thread::Builder::new().spawn_scoped(scope, copy);
        }
        copy();
    });
    drop(places);
    Ok(batch)
}

impl<P: ParameterSet> Gpu<P> {
    /// Chooses the jobs that the CPU verifies whatever the device says: one at random of each share.
    fn draw(&self, jobs: Range<usize>) -> Vec<usize> {
        let Some(share) = self.shared.options.cross_check else {
            return Vec::new();
        };
        let (share, end) = (share.max(1) as usize, jobs.end);
        let mut random = Random::new();
        let drawn = jobs.step_by(share).map(|n| n + random.below(share));
        drawn.filter(|n| *n < end).collect()
    }

    /// Verifies jobs on the CPU.
    fn verify_again<'a>(&self, jobs: impl Iterator<Item = &'a AcceleratorJob<'a>>) -> Vec<Verdict> {
        let item = |job: &AcceleratorJob<'a>| match job.message {
            AcceleratorMessage::Pure { context, message } => {
                Item::new(job.key, message, context, job.signature)
            }
            AcceleratorMessage::Mu(mu) => Item::from_mu(job.key, mu, job.signature),
        };
        let verdicts = self.shared.verifier.verify_batch(jobs.map(item));
        let verdicts = verdicts.into_verdicts();
        lock(&self.shared.counts).verified_again += verdicts.len() as u64;
        verdicts
    }

    /// Returns the ids of the jobs' keys, if all are members' and the table has room for them.
    fn member_ids(&self, jobs: &[AcceleratorJob<'_>]) -> Option<Vec<KeyId>> {
        if jobs.iter().any(|job| job.member.is_none()) {
            return None;
        }
        let mut members = lock(&self.shared.members);
        if let Some(ids) = self.register_members(&mut members, jobs) {
            return Some(ids);
        }
        let distinct: HashSet<MemberId> = jobs.iter().filter_map(|job| job.member).collect();
        if distinct.len() > self.shared.options.prepared_keys {
            return None;
        }
        // Those of earlier committees go.
        let ids: Vec<KeyId> = members.drain().map(|(_, id)| id).collect();
        self.evict(&ids);
        self.register_members(&mut members, jobs)
    }

    fn register_members(
        &self,
        members: &mut HashMap<MemberId, KeyId>,
        jobs: &[AcceleratorJob<'_>],
    ) -> Option<Vec<KeyId>> {
        let mut new = HashMap::new();
        for job in jobs {
            let member = job.member?;
            if !members.contains_key(&member) {
                new.entry(member).or_insert(job.key);
            }
        }
        if !new.is_empty() {
            let keys: Result<Vec<_>, _> = new
                .values()
                .map(|key| VerifyingKey::from_bytes(key))
                .collect();
            let ids = self.register(Table::Prepared, &keys.ok()?).ok()?;
            members.extend(new.into_keys().zip(ids));
        }
        let id = |job: &AcceleratorJob<'_>| members.get(&job.member?).copied();
        jobs.iter().map(id).collect()
    }
}
