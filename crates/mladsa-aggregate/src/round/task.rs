//! Signing tasks.

use alloc::sync::Arc;

use crate::wire::framing::hash_lp;

/// Framing of the payload of a task. A property of the domain: one domain must not use both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// The payload framed with the participants, the committee and the epoch.
    Decision = 0,
    /// The payload alone. The context contains the root over the participants' keys.
    Consensus = 1,
}

/// A signing task: what members are asked to sign in a slot, and what a verifier expects. All
/// attempts of a task sign the same payload. Cheap to clone.
///
/// The application gives every decision of an epoch a slot of its own, and consumes it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningTask {
    slot: u32,
    pub(crate) kind: TaskKind,
    payload: Arc<[u8]>,
}

impl SigningTask {
    /// Creates a task whose message is the payload framed with the participants, the committee and
    /// the epoch. The FIPS 204 context is the domain.
    pub fn decision(slot: u32, payload: &[u8]) -> Self {
        Self::new(slot, TaskKind::Decision, payload)
    }

    /// Creates a task whose message is the payload alone. The FIPS 204 context is the domain and
    /// the 32-byte root over the participants' keys.
    pub fn consensus(slot: u32, payload: &[u8]) -> Self {
        Self::new(slot, TaskKind::Consensus, payload)
    }

    pub(crate) fn new(slot: u32, kind: TaskKind, payload: &[u8]) -> Self {
        Self {
            slot,
            kind,
            payload: payload.into(),
        }
    }

    /// Returns the slot.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// Returns the payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Computes the digest that a journal stores: domain, kind and payload.
    pub(crate) fn digest(&self, domain: &[u8]) -> [u8; 32] {
        let kind = [self.kind as u8];
        hash_lp(&[], &[b"F.decided", domain, &kind, &self.payload])
    }
}
