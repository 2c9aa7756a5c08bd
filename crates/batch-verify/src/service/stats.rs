//! Counters of a service.

use core::fmt;
use core::time::Duration;

use super::{ServiceError, Source};
use crate::RejectReason;

/// Origin of a rejected vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Submitted by a network peer.
    Peer,
    /// Submitted by the node itself.
    Own,
    /// Verified by a synchronous call.
    Synchronous,
}

impl Origin {
    const ALL: [(Self, &str); 3] = [
        (Self::Peer, "peer"),
        (Self::Own, "own"),
        (Self::Synchronous, "synchronous"),
    ];

    pub(super) fn of(source: Source) -> Self {
        match source.peer {
            Some(_) => Self::Peer,
            None => Self::Own,
        }
    }
}

pub(super) type Rejections = [[u64; RejectReason::ALL.len()]; 3];

/// Counters of a [`VerificationService`](crate::VerificationService) since it was built.
///
/// `Display` writes them in the text format of Prometheus, with the prefix `mldsa_verification_`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceStats {
    /// Votes that were submitted or verified synchronously.
    pub votes: u64,
    /// Votes that were answered from the cache.
    pub cache_hits: u64,
    /// Votes that were verified, because the cache did not have them.
    pub verified: u64,
    /// Verified votes that are invalid, and votes with a wrong length. See
    /// [`rejections`](Self::rejections).
    pub rejected: u64,
    /// Quorums that were submitted or verified synchronously. Their votes count in `verified`, `cache_hits` and
    /// `rejected`; quorums that were not queued or not counted, in the fields below.
    pub quorums: u64,
    /// Votes of an epoch that is not retained.
    pub other_epoch: u64,
    /// Votes and quorums for which the queue had no room.
    pub queue_full: u64,
    /// Votes and quorums that were evicted from the queue.
    pub evicted: u64,
    /// Votes and quorums above a limit.
    pub too_large: u64,
    /// Votes and quorums over the budget of their peer.
    pub peer_budget: u64,
    /// Votes and quorums that arrived or were queued at shutdown.
    pub shutting_down: u64,
    /// Votes whose workers are gone.
    pub abandoned: u64,
    /// Votes and quorums that were cancelled before their verification had ended.
    pub cancelled: u64,
    /// Panics of the rate limiter.
    pub hook_panics: u64,
    /// Batches of queued votes.
    pub batches: u64,
    /// Sum of the times that verified votes were queued.
    pub queued_time: Duration,
    /// Longest of these times.
    pub longest_queued_time: Duration,
    /// Votes in the queue.
    pub queued_votes: usize,
    /// Quorums in the queue, with those that are being freed, without those that a worker has.
    pub queued_quorums: usize,
    /// Bytes of both, with those of quorums that a worker has.
    pub queued_bytes: usize,
    /// Votes in the cache.
    pub cached_votes: usize,
    /// Bytes in the cache.
    pub cached_bytes: usize,
    pub(super) rejections: Rejections,
}

impl ServiceStats {
    /// Returns the number of rejected votes of an origin, by reason. The sum is `rejected`.
    pub fn rejections(&self, origin: Origin, reason: RejectReason) -> u64 {
        self.rejections[origin as usize][reason as usize]
    }

    /// Counts an answer that is no verdict.
    pub(super) fn count(&mut self, error: ServiceError) {
        match error {
            ServiceError::OtherEpoch => self.other_epoch += 1,
            ServiceError::QueueFull => self.queue_full += 1,
            ServiceError::Evicted => self.evicted += 1,
            ServiceError::TooLarge => self.too_large += 1,
            ServiceError::PeerBudget => self.peer_budget += 1,
            ServiceError::ShuttingDown => self.shutting_down += 1,
            ServiceError::Abandoned => self.abandoned += 1,
            // Counted when they happen.
            ServiceError::Rejected(_) | ServiceError::HookPanicked => {}
        }
    }
}

impl fmt::Display for ServiceStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIX: &str = "mldsa_verification_";
        let figures: [(&str, &dyn fmt::Display); 21] = [
            ("votes_total", &self.votes),
            ("cache_hits_total", &self.cache_hits),
            ("verified_total", &self.verified),
            ("rejected_total", &self.rejected),
            ("quorums_total", &self.quorums),
            ("other_epoch_total", &self.other_epoch),
            ("queue_full_total", &self.queue_full),
            ("evicted_total", &self.evicted),
            ("too_large_total", &self.too_large),
            ("peer_budget_total", &self.peer_budget),
            ("shutting_down_total", &self.shutting_down),
            ("abandoned_total", &self.abandoned),
            ("cancelled_total", &self.cancelled),
            ("hook_panics_total", &self.hook_panics),
            ("batches_total", &self.batches),
            ("queued_seconds_total", &self.queued_time.as_secs_f64()),
            ("queued_votes", &self.queued_votes),
            ("queued_quorums", &self.queued_quorums),
            ("queued_bytes", &self.queued_bytes),
            ("cached_votes", &self.cached_votes),
            ("cached_bytes", &self.cached_bytes),
        ];
        for (name, value) in figures {
            let is_counter = name.ends_with("_total");
            let kind = if is_counter { "counter" } else { "gauge" };
            writeln!(f, "# TYPE {PREFIX}{name} {kind}\n{PREFIX}{name} {value}")?;
        }
        writeln!(f, "# TYPE {PREFIX}rejections_total counter")?;
        for (origin, source) in Origin::ALL {
            for reason in RejectReason::ALL {
                let count = self.rejections(origin, *reason);
                if count > 0 {
                    let labels = format_args!("source=\"{source}\",reason=\"{reason}\"");
                    writeln!(f, "{PREFIX}rejections_total{{{labels}}} {count}")?;
                }
            }
        }
        Ok(())
    }
}
