//! Counters shared by all validators of a process.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Message kind that carries signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Single votes from the network.
    Vote,
    /// Votes inside a certificate.
    Certificate,
    /// Signed proposals.
    Proposal,
}

/// Counters of one message kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounters {
    /// Verification calls.
    pub calls: u64,
    /// Signatures verified.
    pub votes: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Signatures in the largest call.
    pub largest_call: u64,
    /// Signatures rejected.
    pub invalid: u64,
    /// CPU time including decoding, lists and cache lookups.
    pub total: Duration,
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// By [`Kind`], in its order.
    pub kinds: [KindCounters; 3],
    /// CPU time inside the verification library, all kinds.
    pub library: Duration,
    /// Signatures made.
    pub signatures: u64,
    /// CPU time of signing, including the verification of the own signature.
    pub signing: Duration,
}

impl Counters {
    /// Signatures rejected, all kinds.
    #[must_use]
    pub fn invalid(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.invalid).sum()
    }
}

/// Thread-safe [`Counters`].
#[derive(Debug, Default)]
pub struct Meter(Mutex<Counters>);

impl Meter {
    /// Current counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call that verified `votes` signatures of `bytes` bytes, `invalid` of them
    /// rejected, in `library` CPU time.
    pub fn record_call(
        &self,
        kind: Kind,
        votes: usize,
        bytes: usize,
        invalid: usize,
        library: Duration,
    ) {
        self.update(|counters| {
            let of_kind = &mut counters.kinds[kind as usize];
            of_kind.calls += 1;
            of_kind.votes += votes as u64;
            of_kind.bytes += bytes as u64;
            of_kind.largest_call = of_kind.largest_call.max(votes as u64);
            of_kind.invalid += invalid as u64;
            counters.library += library;
        });
    }

    /// Adds CPU time to the total of a kind.
    pub fn record_total(&self, kind: Kind, time: Duration) {
        self.update(|counters| counters.kinds[kind as usize].total += time);
    }

    /// Records one signature made in `time` of CPU.
    pub fn record_signature(&self, time: Duration) {
        self.update(|counters| {
            counters.signatures += 1;
            counters.signing += time;
        });
    }

    fn update(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
