//! Workers: batches of queued votes, and slices of quorums.

use core::mem;
use core::sync::atomic::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use mldsa_core::ParameterSet;

use super::queued_quorum::{OpenCount, QueuedQuorum};
use super::shared::Shared;
use super::state::{BATCH_MESSAGE_BYTES, QueuedVote};
use super::stats::Origin;
use super::{ServiceError, Source};
use crate::RejectReason;
use crate::batch::{LANES, Mode, Resolved, RunOptions};
use crate::executor::catch;
use crate::quorum::Count;

/// Votes of an ended quorum that are freed at once, which takes less time than a batch: an
/// allocator needs a millisecond for the megabytes of a large quorum.
const PIECE: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Cancelled,
    Cached,
    Fresh,
}

/// Treatment and answer of a vote of a batch.
type Answered = (Treatment, Result<(), ServiceError>);

/// Returns the verdict on a vote that was verified.
fn verdict((treatment, answer): &Answered) -> Option<Result<(), RejectReason>> {
    match (treatment, answer) {
        (Treatment::Fresh, Ok(())) => Some(Ok(())),
        (Treatment::Fresh, Err(ServiceError::Rejected(reason))) => Some(Err(*reason)),
        _ => None,
    }
}

struct Slice {
    verdicts: Vec<Result<(), RejectReason>>,
    /// Indices of the votes that were verified, with their places in `verdicts`.
    verified: Vec<(usize, usize)>,
}

/// A worker before and while it runs. If the last one is dropped, queued work is abandoned.
pub(super) struct Worker<P: ParameterSet>(pub(super) Arc<Shared<P>>);

/// Work that a worker does without the lock.
enum Task<P: ParameterSet> {
    Quorum(Box<QueuedQuorum<P>>),
    Batch(VecDeque<Box<QueuedVote<P>>>),
}

impl<P: ParameterSet> Worker<P> {
    pub(super) fn run(self) {
        while let Some(task) = self.next() {
            match task {
                Task::Quorum(quorum) => self.run_quorum(quorum),
                Task::Batch(mut entries) => {
                    catch(|| self.verify_batch(&mut entries));
                    // None are left, unless there was a panic, before which none was counted.
                    self.count_abandoned(&entries);
                    let abandoned = |entry| (entry, Err(ServiceError::Abandoned));
                    self.0.answer(entries.into_iter().map(abandoned));
                }
            }
        }
    }

    fn next(&self) -> Option<Task<P>> {
        let shared = &*self.0;
        let mut state = shared.lock();
        loop {
            let is_turn_of_votes = mem::take(&mut state.is_turn_of_votes);
            if !is_turn_of_votes && let Some(quorum) = state.next_quorum() {
                return Some(Task::Quorum(quorum));
            }
            let batch = state.next_batch(shared.batch);
            if !batch.is_empty() {
                return Some(Task::Batch(batch));
            }
            if is_turn_of_votes && let Some(quorum) = state.next_quorum() {
                return Some(Task::Quorum(quorum));
            }
            if state.closed {
                return None;
            }
            let woken = shared.work.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn verify_batch(&self, entries: &mut VecDeque<Box<QueuedVote<P>>>) {
        let plan: Vec<Treatment> = entries.iter().map(|entry| self.treatment(entry)).collect();
        let mut verdicts = self.verify_fresh(entries, &plan).into_iter();
        let plan = plan.into_iter().map(|treatment| match treatment {
            Treatment::Cancelled => (treatment, Err(ServiceError::Abandoned)),
            Treatment::Cached => (treatment, Ok(())),
            Treatment::Fresh => {
                let verdict = verdicts.next().unwrap_or(Err(RejectReason::NotVerified));
                (treatment, verdict.map_err(Into::into))
            }
        });
        let answers: Vec<Answered> = plan.collect();
        for (entry, answered) in entries.iter().zip(&answers) {
            let Some(verdict) = verdict(answered) else {
                continue;
            };
            if verdict.is_ok() {
                let vote = entry.vote.as_vote();
                self.0.cache.insert(entry.committees(), &vote, entry.source);
            }
            self.0.limit(entry.source.peer, |limiter, peer| {
                limiter.on_verdict(peer, verdict);
            });
        }
        #[cfg(test)]
        self.planted_fault();
        self.count_batch(entries, &answers);
        let answers = mem::take(entries).into_iter().zip(answers);
        self.0
            .answer(answers.map(|(entry, (_, answer))| (entry, answer)));
    }

    fn treatment(&self, entry: &QueuedVote<P>) -> Treatment {
        if entry.cancelled.load(Ordering::Relaxed) {
            return Treatment::Cancelled;
        }
        // An equal vote may have been verified since this one was submitted.
        let vote = entry.vote.as_vote();
        match self.0.cache.get(entry.committees(), &vote, entry.source) {
            true => Treatment::Cached,
            false => Treatment::Fresh,
        }
    }

    fn verify_fresh(
        &self,
        entries: &VecDeque<Box<QueuedVote<P>>>,
        plan: &[Treatment],
    ) -> Vec<Result<(), RejectReason>> {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("batch", votes = entries.len()).entered();
        let request = RunOptions {
            alone: true,
            mode: Mode::Full,
        };
        let fresh = entries.iter().zip(plan);
        let fresh = fresh.filter(|(_, treatment)| **treatment == Treatment::Fresh);
        let report = self.0.scheduler.report(request, fresh, |(entry, _)| {
            Resolved::vote(entry.committees(), &entry.vote.as_vote(), false)
        });
        report.verdicts
    }

    #[cfg(test)]
    fn planted_fault(&self) {
        let panics = self.0.panics.swap(false, Ordering::Relaxed);
        assert!(!panics, "a planted fault");
    }

    /// Records a batch and its senders, each vote once: after what may panic.
    fn count_batch(&self, entries: &VecDeque<Box<QueuedVote<P>>>, answers: &[Answered]) {
        let now = Instant::now();
        let mut state = self.0.lock();
        state.stats.batches += 1;
        for (entry, answered) in entries.iter().zip(answers) {
            let stats = &mut state.stats;
            if answered.0 == Treatment::Cancelled {
                stats.cancelled += 1;
                continue;
            }
            let time = now.saturating_duration_since(entry.since);
            stats.queued_time += time;
            stats.longest_queued_time = stats.longest_queued_time.max(time);
            if let Some(verdict) = verdict(answered) {
                state.on_verdict(entry.source.peer, verdict.is_ok());
                self.0.count_verified(Origin::of(entry.source), [verdict]);
            } else if answered.0 == Treatment::Fresh {
                stats.abandoned += 1;
            }
        }
    }

    /// Records the votes of a batch that has no answers.
    fn count_abandoned(&self, entries: &VecDeque<Box<QueuedVote<P>>>) {
        let flags = entries.iter().map(|entry| &entry.cancelled);
        let cancelled = flags.filter(|flag| flag.load(Ordering::Relaxed)).count() as u64;
        let stats = &mut self.0.lock().stats;
        stats.cancelled += cancelled;
        stats.abandoned += entries.len() as u64 - cancelled;
    }

    /// Verifies a slice of a quorum, and answers it if its count ends. Frees a piece of one that
    /// has ended. Puts the rest back into the queue.
    fn run_quorum(&self, mut quorum: Box<QueuedQuorum<P>>) {
        let is_cancelled = quorum.cancelled.load(Ordering::Relaxed);
        let mut is_counted = false;
        if let Some(mut open) = quorum.open.take() {
            // A panic leaves the quorum without an answer.
            let count = || self.count_slice(&quorum, &mut *open.count);
            is_counted = !is_cancelled && catch(count).is_some();
            let is_open = is_counted && !open.count.wanted().is_empty();
            quorum.open = Some(open);
            if is_open {
                return self.put_back(quorum);
            }
        }
        let kept = quorum.votes.len().saturating_sub(PIECE);
        if kept == 0 {
            // Before the answer, after which the caller may look at the figures.
            self.0.lock().quorums.end(quorum.source.peer, quorum.bytes);
        }
        if let Some(OpenCount { count, reply }) = quorum.open.take() {
            self.0.lock().stats.cancelled += u64::from(is_cancelled);
            self.0.end_quorum(&quorum, || match is_counted {
                true => drop(reply.send(count.answer())),
                false => drop(reply),
            });
        }
        quorum.votes.truncate(kept);
        if kept > 0 {
            self.put_back(quorum);
        }
    }

    /// Puts a quorum back into the queue: one that has ended behind the others of its peer, so that
    /// they do not wait for its memory. After shutdown it ends here.
    fn put_back(&self, quorum: Box<QueuedQuorum<P>>) {
        let mut state = self.0.lock();
        if state.closed {
            drop(state);
            return self.0.end_quorums([quorum]);
        }
        let (peer, bytes, is_first) = (quorum.source.peer, quorum.bytes, quorum.is_open());
        state.quorums.put_back(peer, bytes, quorum, is_first);
    }

    /// Verifies the next slice of a quorum and counts its verdicts.
    fn count_slice(&self, quorum: &QueuedQuorum<P>, count: &mut dyn Count) {
        let slice = self.slice(quorum, count);
        #[cfg(test)]
        self.planted_fault();
        let Source { peer, .. } = quorum.source;
        for &(vote, place) in &slice.verified {
            let verdict = slice.verdicts[place];
            if verdict.is_ok() {
                let committees = core::slice::from_ref(&quorum.committee);
                self.0
                    .cache
                    .insert(committees, &quorum.vote(vote), quorum.source);
            }
            self.0
                .limit(peer, |limiter, peer| limiter.on_verdict(peer, verdict));
        }
        let verdicts = slice.verified.iter().map(|(_, at)| slice.verdicts[*at]);
        self.0
            .count_verified(Origin::of(quorum.source), verdicts.clone());
        count.take(&slice.verdicts);
        let mut state = self.0.lock();
        verdicts.for_each(|verdict| state.on_verdict(peer, verdict.is_ok()));
    }

    /// Verifies the next votes of a quorum that are not cached: as many as fill the lanes, or
    /// as their messages allow.
    fn slice(&self, quorum: &QueuedQuorum<P>, count: &dyn Count) -> Slice {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!("quorum", votes = quorum.votes.len()).entered();
        let committees = core::slice::from_ref(&quorum.committee);
        let most = (BATCH_MESSAGE_BYTES / quorum.message.len().max(1)).clamp(1, LANES);
        let (mut verdicts, mut fresh) = (Vec::new(), Vec::new());
        for &vote in count.wanted().iter().take(self.0.batch) {
            let is_cached = self
                .0
                .cache
                .get(committees, &quorum.vote(vote), quorum.source);
            if !is_cached {
                if fresh.len() == most {
                    break;
                }
                fresh.push((vote, verdicts.len()));
            }
            verdicts.push(Ok(()));
        }
        let request = RunOptions {
            alone: true,
            mode: count.mode(),
        };
        let report = self.0.scheduler.report(request, &fresh, |(vote, _)| {
            Resolved::vote(committees, &quorum.vote(*vote), false)
        });
        for ((_, place), verdict) in fresh.iter().zip(&report.verdicts) {
            verdicts[*place] = *verdict;
        }
        let skipped = Err(RejectReason::NotVerified);
        fresh.retain(|(_, place)| verdicts[*place] != skipped);
        Slice {
            verdicts,
            verified: fresh,
        }
    }
}

impl<P: ParameterSet> Drop for Worker<P> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.workers -= 1;
        let last = state.workers == 0;
        let closed = state.closed;
        drop(state);
        if last && !closed {
            self.0.abandon(ServiceError::Abandoned, false);
        }
    }
}
