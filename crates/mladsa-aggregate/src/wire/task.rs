//! Signing tasks and their identifiers.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::EncodingError;
use crate::member_id::MemberId;
use crate::wire::framing::hash_lp;

/// Number of attempts that an attempt byte can express: 0 to 63.
pub(crate) const MAX_ATTEMPTS: u8 = 64;

impl MemberId {
    /// A name of 1 to 64 bytes.
    ///
    /// # Errors
    /// [`EncodingError::Length`].
    pub fn new(id: &[u8]) -> Result<Self, EncodingError> {
        Self::from_slice(id).ok_or(EncodingError::Length)
    }
}

/// Identifier of a signing task, 1 to 1,024 bytes; in derivations the *base label*. It must
/// never be used twice with one master seed, also not in another epoch, domain, registry or
/// mode: it contains everything that makes the task unique. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<[u8]>);

impl TaskId {
    /// An identifier of 1 to 1,024 bytes.
    ///
    /// # Errors
    /// [`EncodingError::Length`].
    pub fn new(id: &[u8]) -> Result<Self, EncodingError> {
        let valid = (1..=1024).contains(&id.len());
        valid.then(|| Self(id.into())).ok_or(EncodingError::Length)
    }

    /// The recommended identifier of a slot: a 32-byte hash of domain, epoch, slot and
    /// committee.
    #[must_use]
    pub fn for_slot(domain: &[u8], epoch: u64, slot: u64, committee: u32) -> Self {
        let (epoch, slot) = (epoch.to_be_bytes(), slot.to_be_bytes());
        let parts: [&[u8]; 5] = [b"F.label", domain, &epoch, &slot, &committee.to_be_bytes()];
        Self(Arc::new(hash_lp::<32>(&[], &parts)))
    }

    /// An identifier for one message only, as open commitments require.
    #[cfg(any(test, feature = "insecure-open-commitments"))]
    pub(crate) fn bound(
        &self,
        domain: &[u8],
        payload: &[u8],
        registry_root: &[u8; 32],
        epoch: u64,
    ) -> Self {
        let epoch = epoch.to_be_bytes();
        let parts: [&[u8]; 6] = [b"F.bound", &self.0, domain, payload, registry_root, &epoch];
        Self(Arc::new(hash_lp::<32>(&[], &parts)))
    }

    /// The identifier of one attempt, 0 to 63.
    ///
    /// # Errors
    /// [`EncodingError::Range`] above 63.
    pub fn attempt(&self, attempt: u8) -> Result<AttemptId, EncodingError> {
        if attempt >= MAX_ATTEMPTS {
            return Err(EncodingError::Range);
        }
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(attempt);
        Ok(AttemptId(bytes.into()))
    }

    /// The identifier as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Identifier of one attempt at a task: the task's identifier and an attempt byte; in
/// derivations the *content label*. Each has its own one-time key. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(Arc<[u8]>);

impl AttemptId {
    /// Decodes `task || attempt`.
    ///
    /// # Errors
    /// [`EncodingError::Length`], [`EncodingError::Range`] for an attempt above 63.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncodingError> {
        let (&attempt, task) = bytes.split_last().ok_or(EncodingError::Length)?;
        TaskId::new(task)?.attempt(attempt)
    }

    /// The bytes of the task's identifier.
    #[must_use]
    pub fn task(&self) -> &[u8] {
        self.0.split_last().map_or(&[], |(_, task)| task)
    }

    /// The number of the attempt, 0 to 63.
    #[must_use]
    pub fn attempt(&self) -> u8 {
        self.0.last().copied().unwrap_or(0)
    }

    /// The identifier of the next attempt.
    ///
    /// # Errors
    /// [`EncodingError::Range`] after 63.
    pub fn next(&self) -> Result<Self, EncodingError> {
        TaskId(self.task().into()).attempt(self.attempt() + 1)
    }

    /// The encoding `task || attempt`.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Framing of the payload of a task. A property of the domain: one domain must not use both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// The payload framed with the participants, the registry and the epoch.
    Decision,
    /// The payload alone. The context contains the root over the participants' keys.
    Consensus,
}

impl TaskKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Decision => 0,
            Self::Consensus => 1,
        }
    }
}

/// A signing task: what members are asked to sign and what a verifier expects. All attempts
/// of a task sign the same payload. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningTask {
    id: TaskId,
    kind: TaskKind,
    domain: Arc<[u8]>,
    payload: Arc<[u8]>,
}

impl SigningTask {
    /// A task whose message is the payload framed with the participants, the registry and
    /// the epoch. `domain` becomes the FIPS 204 context: 0 to 255 bytes.
    ///
    /// # Errors
    /// [`EncodingError::Length`] for a longer domain.
    pub fn decision(id: TaskId, domain: &[u8], payload: &[u8]) -> Result<Self, EncodingError> {
        Self::new(id, TaskKind::Decision, domain, payload)
    }

    /// A task whose message is the payload alone. The FIPS 204 context is `domain`, 0 to 223
    /// bytes, and the 32-byte root over the participants' keys.
    ///
    /// # Errors
    /// [`EncodingError::Length`] for a longer domain.
    pub fn consensus(id: TaskId, domain: &[u8], payload: &[u8]) -> Result<Self, EncodingError> {
        Self::new(id, TaskKind::Consensus, domain, payload)
    }

    pub(crate) fn new(
        id: TaskId,
        kind: TaskKind,
        domain: &[u8],
        payload: &[u8],
    ) -> Result<Self, EncodingError> {
        let longest = match kind {
            TaskKind::Decision => 255,
            TaskKind::Consensus => 223,
        };
        if domain.len() > longest {
            return Err(EncodingError::Length);
        }
        Ok(Self {
            id,
            kind,
            domain: domain.into(),
            payload: payload.into(),
        })
    }

    /// The identifier.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// The domain.
    #[must_use]
    pub fn domain(&self) -> &[u8] {
        &self.domain
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    pub(crate) fn kind(&self) -> TaskKind {
        self.kind
    }

    /// The digest that a journal stores: domain, kind and payload.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let kind = [self.kind.code()];
        hash_lp(&[], &[b"F.decided", &self.domain, &kind, &self.payload])
    }

    /// The task with an identifier for its payload only, as open commitments require.
    #[cfg(feature = "insecure-open-commitments")]
    pub(crate) fn bound(&self, registry_root: &[u8; 32], epoch: u64) -> Self {
        let (domain, payload) = (&self.domain, &self.payload);
        Self {
            id: self.id.bound(domain, payload, registry_root, epoch),
            ..self.clone()
        }
    }

    /// Whether domain, kind and payload are equal. The identifier is compared elsewhere.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.domain == other.domain && self.payload == other.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_bounded_lengths_and_a_total_order() {
        assert_eq!(MemberId::new(b""), Err(EncodingError::Length));
        assert_eq!(MemberId::new(&[1; 65]), Err(EncodingError::Length));
        assert!(MemberId::new(&[1; 64]).is_ok());
        let mut ids =
            [&b"b"[..], b"a\xff", b"ab", b"a", b"a\x00"].map(|id| MemberId::new(id).unwrap());
        ids.sort();
        assert_eq!(
            ids.map(|id| id.as_bytes().to_vec()),
            [&b"a"[..], b"a\x00", b"ab", b"a\xff", b"b"].map(<[u8]>::to_vec)
        );
        assert_eq!(TaskId::new(b""), Err(EncodingError::Length));
        assert_eq!(TaskId::new(&[0; 1025]), Err(EncodingError::Length));
        let task = TaskId::new(&[7; 1024]).unwrap();
        assert_eq!(task.attempt(64), Err(EncodingError::Range));
        let last = task.attempt(63).unwrap();
        assert_eq!(last.next(), Err(EncodingError::Range));
        assert_eq!(AttemptId::from_bytes(last.as_bytes()), Ok(last));
        assert_eq!(AttemptId::from_bytes(b"a\x40"), Err(EncodingError::Range));
        assert_eq!(AttemptId::from_bytes(b"\x00"), Err(EncodingError::Length));
        let next = task.attempt(0).unwrap().next().unwrap();
        assert_eq!((next.task(), next.attempt()), (task.as_bytes(), 1));
    }

    #[test]
    fn domains_have_bounded_lengths() {
        let id = || TaskId::new(b"x").unwrap();
        for (len, decision, consensus) in
            [(223, true, true), (224, true, false), (256, false, false)]
        {
            let domain = &[7; 256][..len];
            assert_eq!(SigningTask::decision(id(), domain, b"").is_ok(), decision);
            assert_eq!(SigningTask::consensus(id(), domain, b"").is_ok(), consensus);
        }
    }
}
