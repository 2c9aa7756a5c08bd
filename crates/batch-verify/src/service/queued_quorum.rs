//! A quorum in the queue of a service.

use std::sync::Arc;

use mldsa_core::ParameterSet;

use super::Source;
use super::sync::AtomicBool;
use crate::quorum::Count;
use crate::{Committee, MemberId, QuorumError, QuorumReport, Vote};

/// A quorum that waits for its next slice.
pub(super) struct QueuedQuorum<P: ParameterSet> {
    pub(super) committee: Committee<P>,
    pub(super) message: Arc<[u8]>,
    pub(super) votes: Vec<(MemberId, Box<[u8]>)>,
    pub(super) count: Count,
    pub(super) source: Source,
    /// Bytes that it takes in the queue, for limits and budgets.
    pub(super) bytes: usize,
    pub(super) cancelled: Arc<AtomicBool>,
    pub(super) reply: oneshot::Sender<Result<QuorumReport, QuorumError>>,
    pub(super) generation: u64,
}

impl<P: ParameterSet> QueuedQuorum<P> {
    /// Returns the vote at an index.
    pub(super) fn vote(&self, vote: usize) -> Vote<'_> {
        let (member, signature) = &self.votes[vote];
        Vote::new(*member, &*self.message, signature)
    }
}
