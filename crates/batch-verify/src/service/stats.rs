//! Counters of a service.

use core::fmt;
use core::time::Duration;

/// Counters of a [`VerificationService`](crate::VerificationService) since it was built.
///
/// `Display` writes them in the text format of Prometheus, with the prefix
/// `mldsa_verification_`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceStats {
    /// Votes that were submitted or verified synchronously.
    pub votes: u64,
    /// Votes that were answered from the cache.
    pub cache_hits: u64,
    /// Votes that were verified, because the cache did not have them.
    pub verified: u64,
    /// Verified votes that are invalid, and votes with a wrong length.
    pub rejected: u64,
    /// Votes of an epoch that is not retained.
    pub other_epoch: u64,
    /// Votes for which the queue had no room.
    pub queue_full: u64,
    /// Votes that were evicted from the queue.
    pub evicted: u64,
    /// Votes with messages above the limit.
    pub too_large: u64,
    /// Votes over the budget of their peer.
    pub peer_budget: u64,
    /// Votes that arrived or were queued at shutdown.
    pub shutting_down: u64,
    /// Votes whose workers are gone.
    pub abandoned: u64,
    /// Votes that were cancelled before verification.
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
    /// Bytes in the queue.
    pub queued_bytes: usize,
    /// Votes in the cache.
    pub cached_votes: usize,
    /// Bytes in the cache.
    pub cached_bytes: usize,
}

impl fmt::Display for ServiceStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIX: &str = "mldsa_verification_";
        let figures: [(&str, &dyn fmt::Display); 19] = [
            ("votes_total", &self.votes),
            ("cache_hits_total", &self.cache_hits),
            ("verified_total", &self.verified),
            ("rejected_total", &self.rejected),
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
            ("queued_bytes", &self.queued_bytes),
            ("cached_votes", &self.cached_votes),
            ("cached_bytes", &self.cached_bytes),
        ];
        for (name, value) in figures {
            let is_counter = name.ends_with("_total");
            let kind = if is_counter { "counter" } else { "gauge" };
            writeln!(f, "# TYPE {PREFIX}{name} {kind}\n{PREFIX}{name} {value}")?;
        }
        Ok(())
    }
}
