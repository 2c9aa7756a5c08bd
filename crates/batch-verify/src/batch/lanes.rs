//! Calls of the core: keys in their fastest form, messages, and groups of signatures.

use std::sync::Arc;

use mldsa_core::internals::{JobMessage, Verification, tr as public_key_hash, verify_lanes};
use mldsa_core::{
    Backend, Mu, MuBuilder, ParameterSet, PreHashed, VerifyError, VerifyingKey,
    no_alloc::PreparedVerifyingKeyRef,
};

use super::resolve::{Key, Resolved};
use crate::RejectReason;
use crate::committee::{Expanded, KeyCache, KeyTable, MemberKey};
use crate::item::Payload;
use crate::reason::Verdict;

/// Signatures in one call of the core: several times the number of lanes, so that a
/// signature rejected early leaves its lane to another.
pub(crate) const MAX_CALL: usize = 32;

/// Key cache and backend for keys that are in no committee.
#[derive(Clone)]
pub(crate) struct Lanes<P: ParameterSet> {
    pub(crate) key_cache: Option<Arc<KeyCache<Box<[u8]>, P>>>,
    pub(crate) backend: Backend,
}

/// An item ready for a lane.
struct Candidate<'a, P: ParameterSet> {
    index: usize,
    key: LaneKey<'a, P>,
    message: LaneMessage<'a>,
    signature: &'a [u8],
}

enum LaneKey<'a, P: ParameterSet> {
    Prepared(PreparedVerifyingKeyRef<'a, P>),
    CachedMember(&'a KeyTable<P>, u32, Arc<Expanded<u32, P>>),
    Member(&'a KeyTable<P>, u32, &'a VerifyingKey<P>),
    CachedEncoded(u64, &'a P::PublicKeyBytes, Arc<Expanded<Box<[u8]>, P>>),
    Encoded(u64, &'a P::PublicKeyBytes),
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
        // Rejected until the core decides otherwise.
        let mut results = [Err(VerifyError::ChallengeMismatch); MAX_CALL];
        verify_lanes(lane, &mut results[..count]);
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
        match &candidate.key {
            LaneKey::Prepared(_) => {}
            LaneKey::CachedMember(table, index, _) | LaneKey::Member(table, index, _) => {
                table.on_valid_signature(*index);
            }
            LaneKey::CachedEncoded(hash, encoded, _) | LaneKey::Encoded(hash, encoded) => {
                if let Some(cache) = &self.key_cache {
                    cache.on_valid_signature(*hash, || {
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
        item: &Resolved<'a, P>,
    ) -> Result<Candidate<'a, P>, RejectReason> {
        let key = match item.key {
            Key::Member(table, member) => match table.lane_key(member) {
                MemberKey::Prepared(key) => LaneKey::Prepared(key),
                MemberKey::Cached(key) => LaneKey::CachedMember(table, member, key),
                MemberKey::Plain(key) => LaneKey::Member(table, member, key),
            },
            Key::Encoded(encoded) => {
                item.check_hint()?;
                let found = self.key_cache.as_ref();
                match found.map(|cache| cache.get(encoded.as_ref())) {
                    Some(found) => match found.expanded {
                        Some(expanded) => LaneKey::CachedEncoded(found.hash, encoded, expanded),
                        None => LaneKey::Encoded(found.hash, encoded),
                    },
                    None => LaneKey::Encoded(0, encoded),
                }
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
            key,
            message,
            signature: item.signature,
        })
    }

    fn tr(&self, key: &LaneKey<'_, P>) -> [u8; 64] {
        match key {
            LaneKey::Prepared(key) => *key.tr(),
            LaneKey::CachedMember(_, _, expanded) => *expanded.key.tr(),
            LaneKey::Member(_, _, key) => *key.tr(),
            LaneKey::CachedEncoded(_, _, expanded) => *expanded.key.tr(),
            LaneKey::Encoded(_, encoded) => {
                public_key_hash(self.backend.permutation(), encoded.as_ref())
            }
        }
    }

    fn lane<'r, 'a: 'r>(&self, candidate: &'r Candidate<'a, P>) -> Verification<'r, P> {
        let message = match &candidate.message {
            LaneMessage::Deferred(message) => *message,
            LaneMessage::Computed(mu) => JobMessage::Mu(mu),
        };
        let signature = candidate.signature;
        match &candidate.key {
            LaneKey::Prepared(key) => Verification::prepared(*key, message, signature),
            LaneKey::CachedMember(_, _, expanded) => {
                Verification::prepared(expanded.key.as_prepared_ref(), message, signature)
            }
            LaneKey::Member(_, _, key) => Verification::unprepared(key, message, signature),
            LaneKey::CachedEncoded(_, _, expanded) => {
                Verification::prepared(expanded.key.as_prepared_ref(), message, signature)
            }
            LaneKey::Encoded(_, encoded) => {
                Verification::encoded(self.backend, *encoded, message, signature)
            }
        }
    }
}
