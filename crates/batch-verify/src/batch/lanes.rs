//! Calls of the core: keys in their fastest form, messages, and groups of signatures.

use std::sync::Arc;

use mldsa_core::internals::{JobMessage, Verification, tr as public_key_hash, verify_lanes};
use mldsa_core::{Backend, Mu, MuBuilder, ParameterSet, PreHashed, VerifyError, VerifyingKey};

use super::resolve::{Key, Resolved};
use crate::RejectReason;
use crate::committee::{KeyCache, LaneKey};
use crate::item::Payload;
use crate::reason::Verdict;

/// Signatures in one call of the core: twice the number of lanes, so that a signature rejected
/// early leaves its lane to another. They are on the stack, which small threads have little of.
pub(crate) const MAX_CALL: usize = 16;

/// Key cache and backend for keys that are in no committee.
#[derive(Clone)]
pub(crate) struct Lanes<P: ParameterSet> {
    pub(crate) key_cache: Option<Arc<KeyCache<Box<[u8]>, P>>>,
    pub(crate) backend: Backend,
}

/// An item ready for a lane.
struct Candidate<'a, P: ParameterSet> {
    index: usize,
    item: &'a Resolved<'a, P>,
    key: LaneKey<'a, P>,
    /// Of an encoded key, for the cache.
    hash: u64,
    message: LaneMessage<'a>,
}

/// Source of the message representative `mu`.
enum LaneMessage<'a> {
    /// Hashed in lanes by the core.
    Deferred(JobMessage<'a>),
    Computed(Mu),
}

impl<P: ParameterSet> Lanes<P> {
    /// For members' keys only. Does not allocate.
    pub(crate) fn without_cache() -> Self {
        Self {
            key_cache: None,
            backend: Backend::detect(),
        }
    }

    pub(crate) fn new(key_cache_bytes: usize, backend: Backend) -> Self {
        Self {
            key_cache: Some(Arc::new(KeyCache::new(key_cache_bytes))),
            backend,
        }
    }

    /// Verifies up to [`MAX_CALL`] items and reports each verdict once.
    pub(crate) fn verify<'a>(
        &self,
        items: impl Iterator<Item = (usize, &'a Resolved<'a, P>)>,
        mut report: impl FnMut(usize, Verdict),
    ) {
        let mut candidates: [Option<Candidate<'a, P>>; MAX_CALL] = core::array::from_fn(|_| None);
        let mut free = candidates.iter_mut();
        for (index, item) in items.take(MAX_CALL) {
            match self.candidate(index, item) {
                Ok(candidate) => {
                    if let Some(slot) = free.next() {
                        *slot = Some(candidate);
                    }
                }
                Err(reason) => report(index, Err(reason)),
            }
        }
        let Some(Some(first)) = candidates.first() else {
            return;
        };
        let count = candidates.iter().flatten().count();
        let lane = |n: usize| self.lane(candidates[n].as_ref().unwrap_or(first));
        // Made once: the core asks for each several times.
        let lanes: [Verification<'_, P>; MAX_CALL] = core::array::from_fn(lane);
        // Rejected until the core decides otherwise.
        let mut results = [Err(VerifyError::ChallengeMismatch); MAX_CALL];
        verify_lanes(|n| lanes[n], &mut results[..count]);
        for (candidate, result) in candidates.iter().flatten().zip(results) {
            report(candidate.index, self.verdict(candidate, result));
        }
    }

    /// Verifies one item.
    pub(crate) fn verify_one(&self, item: &Resolved<'_, P>) -> Result<(), RejectReason> {
        let candidate = self.candidate(0, item)?;
        let mut result = [Err(VerifyError::ChallengeMismatch)];
        verify_lanes(|_| self.lane(&candidate), &mut result);
        self.verdict(&candidate, result[0])
    }

    fn verdict(
        &self,
        candidate: &Candidate<'_, P>,
        result: Result<(), VerifyError>,
    ) -> Result<(), RejectReason> {
        result?;
        // Only valid signatures count towards the expansion of a key.
        match (&candidate.key, &candidate.item.key) {
            (LaneKey::Prepared(_), _) => {}
            (_, Key::Member(committee, index)) => committee.table().on_valid_signature(*index),
            (_, Key::Encoded(encoded)) => {
                if let Some(cache) = &self.key_cache {
                    cache.on_valid_signature(candidate.hash, || {
                        let encoded = encoded.as_ref();
                        let key = VerifyingKey::from_bytes(encoded).ok()?;
                        Some((Box::from(encoded), key.with_backend(self.backend)))
                    });
                }
            }
        }
        Ok(())
    }

    fn candidate<'a>(
        &self,
        index: usize,
        item: &'a Resolved<'a, P>,
    ) -> Result<Candidate<'a, P>, RejectReason> {
        let (hash, key) = match item.key {
            Key::Member(committee, member) => (0, committee.table().lane_key(member)),
            Key::Encoded(encoded) => {
                item.check_hint()?;
                let cache = self.key_cache.as_ref();
                let (hash, cached) = cache.map_or((0, None), |cache| cache.get(encoded.as_ref()));
                (
                    hash,
                    cached.map_or(LaneKey::Encoded(encoded), LaneKey::Cached),
                )
            }
        };
        let message = match item.payload {
            Payload::Bytes(message) => {
                LaneMessage::Deferred(JobMessage::Pure(item.context, message))
            }
            Payload::Mu(mu) => LaneMessage::Deferred(JobMessage::Mu(mu)),
            Payload::Parts(parts) => {
                item.check_hint()?;
                let mut mu = MuBuilder::from_tr(&self.tr(&key), item.context);
                parts.iter().for_each(|part| mu.update(part));
                LaneMessage::Computed(mu.finish())
            }
            Payload::PreHashed(hash, digest) => {
                item.check_hint()?;
                // The strength of the hash was checked when the item was resolved.
                let digest = PreHashed::<P>::new_allow_weak(hash, digest)?;
                LaneMessage::Computed(digest.mu(&self.tr(&key), item.context))
            }
        };
        Ok(Candidate {
            index,
            item,
            key,
            hash,
            message,
        })
    }

    fn tr(&self, key: &LaneKey<'_, P>) -> [u8; 64] {
        match key {
            LaneKey::Prepared(key) => *key.tr(),
            LaneKey::Cached(key) => *key.tr(),
            LaneKey::Plain(key) => *key.tr(),
            LaneKey::Encoded(key) => public_key_hash(self.backend.permutation(), key.as_ref()),
        }
    }

    fn lane<'r>(&self, candidate: &'r Candidate<'_, P>) -> Verification<'r, P> {
        let message = match &candidate.message {
            LaneMessage::Deferred(message) => *message,
            LaneMessage::Computed(mu) => JobMessage::Mu(mu),
        };
        let signature = candidate.item.signature;
        match &candidate.key {
            LaneKey::Prepared(key) => Verification::prepared(*key, message, signature),
            LaneKey::Cached(key) => {
                Verification::prepared(key.as_prepared_ref(), message, signature)
            }
            LaneKey::Plain(key) => Verification::unprepared(key, message, signature),
            LaneKey::Encoded(key) => Verification::encoded(self.backend, *key, message, signature),
        }
    }
}
