//! Counters that all validators of a process share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What carries signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Votes, one by one from the network.
    Vote,
    /// Votes inside a certificate.
    Certificate,
    /// Proposals, where they are signed too.
    Proposal,
}

/// Signatures of one kind.
#[derive(Debug, Default)]
struct Verified {
    calls: AtomicU64,
    votes: AtomicU64,
    bytes: AtomicU64,
    largest: AtomicU64,
    invalid: AtomicU64,
    /// Nanoseconds of CPU in the whole of the scheme: decoding, lists, verification.
    around: AtomicU64,
}

/// What verification and signing cost, over all validators of a process.
#[derive(Debug, Default)]
pub struct Meter {
    kinds: [Verified; 3],
    /// Nanoseconds of CPU in the library's call alone, of all kinds.
    inside: AtomicU64,
    signed: AtomicU64,
    signing: AtomicU64,
}

impl Meter {
    /// A call that judged `votes` signatures, which came in `bytes` bytes, `invalid` of them
    /// refused, and took `around` of CPU time.
    pub fn verified(
        &self,
        kind: Kind,
        votes: usize,
        bytes: usize,
        invalid: usize,
        around: Duration,
    ) {
        let of = &self.kinds[kind as usize];
        of.calls.fetch_add(1, Relaxed);
        of.votes.fetch_add(votes as u64, Relaxed);
        of.bytes.fetch_add(bytes as u64, Relaxed);
        of.largest.fetch_max(votes as u64, Relaxed);
        of.invalid.fetch_add(invalid as u64, Relaxed);
        of.around.fetch_add(nanos(around), Relaxed);
    }

    /// CPU time spent around signatures that are counted elsewhere or were known already.
    pub fn beside(&self, kind: Kind, time: Duration) {
        let around = &self.kinds[kind as usize].around;
        around.fetch_add(nanos(time), Relaxed);
    }

    /// CPU time inside the library's verification.
    pub fn inside(&self, time: Duration) {
        self.inside.fetch_add(nanos(time), Relaxed);
    }

    /// A signature was made in `time` of CPU.
    pub fn signed(&self, time: Duration) {
        self.signed.fetch_add(1, Relaxed);
        self.signing.fetch_add(nanos(time), Relaxed);
    }

    /// Signatures that were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.total(Self::invalid)
    }

    pub(crate) fn total(&self, of: impl Fn(&Self, usize) -> u64) -> u64 {
        (0..self.kinds.len()).map(|kind| of(self, kind)).sum()
    }

    pub(crate) fn calls(&self, kind: usize) -> u64 {
        self.kinds[kind].calls.load(Relaxed)
    }

    pub(crate) fn votes(&self, kind: usize) -> u64 {
        self.kinds[kind].votes.load(Relaxed)
    }

    pub(crate) fn bytes(&self, kind: usize) -> u64 {
        self.kinds[kind].bytes.load(Relaxed)
    }

    pub(crate) fn largest(&self, kind: usize) -> u64 {
        self.kinds[kind].largest.load(Relaxed)
    }

    pub(crate) fn invalid(&self, kind: usize) -> u64 {
        self.kinds[kind].invalid.load(Relaxed)
    }

    pub(crate) fn around(&self, kind: usize) -> u64 {
        self.kinds[kind].around.load(Relaxed)
    }

    pub(crate) fn inside_nanos(&self) -> u64 {
        self.inside.load(Relaxed)
    }

    pub(crate) fn signatures(&self) -> u64 {
        self.signed.load(Relaxed)
    }

    pub(crate) fn signing_nanos(&self) -> u64 {
        self.signing.load(Relaxed)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
