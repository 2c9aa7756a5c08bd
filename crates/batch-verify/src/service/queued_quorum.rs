//! Quorums in the queue of the service.

use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::Source;
use super::sync::AtomicBool;
use crate::quorum::Count;
use crate::{Committee, MemberId, QuorumError, QuorumReport, Vote};

/// A quorum that waits for its next slice, or for the end of its memory.
pub(super) struct QueuedQuorum<P: ParameterSet> {
    pub(super) committee: Committee<P>,
    pub(super) message: Arc<[u8]>,
    pub(super) votes: Vec<(MemberId, Box<[u8]>)>,
    pub(super) source: Source,
    /// Bytes that it takes in the queue, for limits and budgets.
    pub(super) bytes: usize,
    pub(super) cancelled: Arc<AtomicBool>,
    /// `None` once it has ended: then its votes are freed, and nobody waits for it.
    pub(super) open: Option<OpenCount>,
    pub(super) generation: u64,
}

pub(super) struct OpenCount {
    pub(super) count: Box<dyn Count>,
    pub(super) reply: oneshot::Sender<Result<QuorumReport, QuorumError>>,
}

/// Bytes of a queued quorum without its votes, and of each vote without its signature, with the
/// tables of its count.
const QUORUM_BYTES: usize = 1024;
const VOTE_BYTES: usize = 120;
const MEMBER_BYTES: usize = 32;

/// Returns the bytes that a quorum takes in the queue, for limits and budgets.
pub(super) fn quorum_bytes<P: ParameterSet>(
    committee: &Committee<P>,
    message: usize,
    votes: usize,
    signatures: usize,
) -> usize {
    let of_votes = votes.saturating_mul(VOTE_BYTES).saturating_add(signatures);
    let of_members = committee.len() * MEMBER_BYTES;
    of_votes.saturating_add(QUORUM_BYTES + message + of_members)
}

impl<P: ParameterSet> QueuedQuorum<P> {
    /// Returns whether it waits for an answer.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn vote(&self, vote: usize) -> Vote<'_> {
        let (member, signature) = &self.votes[vote];
        Vote::new(*member, &*self.message, signature)
    }
}
