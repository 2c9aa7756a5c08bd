//! Options of a service, and the origin of votes.

use core::fmt;
use std::thread;

use mldsa_core::ParameterSet;

use super::VerificationService;
use super::shared::Shared;
use crate::batch::{Lanes, Options, Scheduler};
use crate::executor::{Pool, catch};
use crate::{BuildError, Committee, RejectReason, Threads};

/// Sender and urgency of a submitted vote. When more is queued than a batch holds, votes of the
/// current round come first; one slot in eight is reserved for the next round, and one for
/// earlier heights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Source {
    pub(super) peer: Option<u64>,
    /// Index into the queues.
    pub(super) priority: u8,
}

impl Source {
    /// Names a vote of the current round that the network peer with this number has sent.
    pub const fn peer(peer: u64) -> Self {
        let (peer, priority) = (Some(peer), 0);
        Self { peer, priority }
    }

    /// Names a vote of the current round by the node itself: without budget, with a share of the
    /// queue of its own, and served in turn with the peers.
    pub const fn own() -> Self {
        let (peer, priority) = (None, 0);
        Self { peer, priority }
    }

    /// Returns the same sender of a vote of the next round.
    #[must_use]
    pub const fn next_round(mut self) -> Self {
        self.priority = 1;
        self
    }

    /// Returns the same sender of a vote of an earlier height, while a node catches up. Such votes
    /// leave the cache before those of the current height.
    #[must_use]
    pub const fn catch_up(mut self) -> Self {
        self.priority = 2;
        self
    }

    /// Returns whether the vote is of the current round or of the next.
    pub(super) const fn is_recent(self) -> bool {
        self.priority < 2
    }
}

/// Budgets by network peer, never by claimed signer: a forged vote is the fault of its sender.
///
/// Called on the submitting thread and on worker threads, without locks of the service. A
/// panic is an error of that vote alone. An implementation must not wait for the service.
pub trait RateLimiter: Send + Sync {
    /// Decides whether a vote or a quorum of so many bytes by this peer may be queued.
    fn try_acquire(&self, peer: u64, bytes: usize) -> bool;

    /// Reports the verdict on a vote by this peer, or on one of a quorum, that was verified: not on
    /// one that the cache answered, which any peer can replay.
    fn on_verdict(&self, _peer: u64, _verdict: Result<(), RejectReason>) {}

    /// Reports that a vote or quorum which was acquired has left the queue for any reason: once for
    /// each successful [`try_acquire`](Self::try_acquire), with the same bytes.
    fn release(&self, _peer: u64, _bytes: usize) {}
}

/// Starts a worker; the work ends at shutdown.
type Spawn = dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync;

/// Options of a [`VerificationService`].
#[must_use]
pub struct ServiceBuilder<P: ParameterSet> {
    committee: Committee<P>,
    threads: usize,
    spawn: Option<Box<Spawn>>,
    batch_threads: Threads,
    pub(super) queue_bytes: Option<usize>,
    pub(super) max_message_bytes: usize,
    pub(super) batch: usize,
    pub(super) cache_bytes: usize,
    pub(super) retained_committees: usize,
    pub(super) rate_limiter: Option<Box<dyn RateLimiter>>,
}

impl<P: ParameterSet> ServiceBuilder<P> {
    pub(super) fn new(committee: Committee<P>) -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Self {
            committee,
            threads: (cpus / 2).max(1),
            spawn: None,
            batch_threads: Threads::Inline,
            queue_bytes: None,
            max_message_bytes: 16 << 10,
            batch: 128,
            cache_bytes: 16 << 20,
            retained_committees: 1,
            rate_limiter: None,
        }
    }

    /// Sets the number of worker threads (half of the CPUs, at least 1). Zero is an error.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Starts worker threads in another way than `std::thread`, for example pinned to a CPU.
    /// Called once for each worker; the work blocks its thread until shutdown. If it is
    /// dropped instead, and with it the last worker, queued votes are answered
    /// [`ServiceError::Abandoned`](crate::ServiceError::Abandoned).
    pub fn spawn(self, spawn: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) -> Self {
        let spawn: Option<Box<Spawn>> = Some(Box::new(spawn));
        Self { spawn, ..self }
    }

    /// Sets the threads for synchronous batches (the calling thread alone).
    pub fn batch_threads(self, batch_threads: Threads) -> Self {
        Self {
            batch_threads,
            ..self
        }
    }

    /// Sets the upper bound on the queued bytes of peers for each priority, and of the node itself:
    /// message, signature and 640 bytes for each vote. Quorums have the same bounds again, with
    /// 1,024 bytes for each, 120 for each vote besides its signature, and 32 for each member;
    /// quorums that a worker has are counted. An eighth of the bound is the most that one vote or
    /// quorum of a peer may take.
    ///
    /// Without this option, 4,096 votes with 384 bytes of message, or eight quorums of all members
    /// of the first committee if that is more.
    pub fn queue_bytes(self, queue_bytes: usize) -> Self {
        let queue_bytes = Some(queue_bytes);
        Self {
            queue_bytes,
            ..self
        }
    }

    /// Sets the upper bound on the length of the message of a submitted vote or quorum (16 KiB):
    /// votes of one batch wait for the hash of its longest message. Sign the hash of longer
    /// messages.
    pub fn max_message_bytes(self, max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            ..self
        }
    }

    /// Sets the upper bound on the votes of a batch (128, at least 8). A batch also ends with the
    /// eighth vote of a peer.
    pub fn batch(self, votes: usize) -> Self {
        let batch = votes.max(8);
        Self { batch, ..self }
    }

    /// Sets the upper bound on the memory of the verdict cache (16 MiB), of which a vote takes an
    /// eighth at most. When it is full, the
    /// member with most bytes in it loses a vote of an earlier height, or else its least recently
    /// used one.
    pub fn cache_bytes(self, cache_bytes: usize) -> Self {
        Self {
            cache_bytes,
            ..self
        }
    }

    /// Sets the number of earlier committees whose votes are accepted besides those of the current
    /// one (1).
    pub fn retained_committees(self, retained_committees: usize) -> Self {
        Self {
            retained_committees,
            ..self
        }
    }

    /// Budgets of peers.
    pub fn rate_limiter(self, limiter: impl RateLimiter + 'static) -> Self {
        let rate_limiter: Option<Box<dyn RateLimiter>> = Some(Box::new(limiter));
        Self {
            rate_limiter,
            ..self
        }
    }

    /// Starts the service.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] for zero threads, or if a thread cannot be started.
    pub fn build(mut self) -> Result<VerificationService<P>, BuildError> {
        if self.threads == 0 {
            return Err(BuildError::ThreadPool);
        }
        let pool = Pool::new(core::mem::take(&mut self.batch_threads))?;
        let scheduler = Scheduler::new(Options::DEFAULT, pool, Lanes::without_cache());
        let (threads, spawn) = (self.threads, self.spawn.take());
        let committee = self.committee.clone();
        let service = VerificationService::new(Shared::new(self, scheduler, committee, threads));
        for n in 0..threads {
            let worker = service.worker();
            match &spawn {
                Some(spawn) => {
                    catch(|| spawn(Box::new(move || worker.run())));
                }
                None => {
                    let thread = thread::Builder::new().name(format!("verification-{n}"));
                    let thread = thread.spawn(move || worker.run());
                    thread.map_err(|_| BuildError::ThreadPool)?;
                }
            }
        }
        Ok(service)
    }
}

impl<P: ParameterSet> fmt::Debug for ServiceBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceBuilder")
            .field("committee", &self.committee)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
