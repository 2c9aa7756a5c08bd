//! Calls of the core: keys in their fastest form, messages, and groups of signatures.

use core::cell::OnceCell;
use std::sync::Arc;

use mldsa_core::internals::{
    JobMessage, SignatureParts, Verification, tr as public_key_hash, verify_lanes,
};
use mldsa_core::{
    Backend, Mu, MuBuilder, ParameterSet, PreHashed, PreparedVerifyingKey, VerifyError,
    VerifyingKey,
};

use super::resolve::{Key, Resolved};
use crate::committee::{KeyCache, LaneKey};
use crate::item::Signed;
use crate::reason::Verdict;
use crate::{Message, RejectReason};

/// Signatures in one call of the core: twice the number of lanes, so that a signature rejected
/// early leaves its lane to another. They are on the stack, which small threads have little of.
pub(crate) const MAX_CALL: usize = 16;

/// Key cache and backend for keys that are in no committee.
#[derive(Clone)]
pub(crate) struct Lanes<P: ParameterSet> {
    pub(crate) key_cache: Option<Arc<KeyCache<Box<[u8]>, P>>>,
    pub(crate) backend: Backend,
}

/// Values that the verification of an item borrows besides the item.
struct Slot<P: ParameterSet> {
    /// Hash of the key in its cache, and the key if it is cached.
    cached: OnceCell<(u64, Option<Arc<PreparedVerifyingKey<P>>>)>,
    mu: OnceCell<Mu>,
}

impl<P: ParameterSet> Slot<P> {
    const fn new() -> Self {
        Self {
            cached: OnceCell::new(),
            mu: OnceCell::new(),
        }
    }
}

impl<P: ParameterSet> Lanes<P> {
    /// Creates lanes for members' keys only. Does not allocate.
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
        let slots = [const { Slot::new() }; MAX_CALL];
        let mut ready = slots.iter().zip(items).filter_map(|(slot, (index, item))| {
            let verification = self.verification(item, slot);
            let verification = verification.map_err(|reason| report(index, Err(reason)));
            Some((index, item, slot, verification.ok()?))
        });
        let Some(first) = ready.next() else {
            return;
        };
        // The calls are built once, because the core may ask for each several times.
        let (mut calls, mut count) = ([first; MAX_CALL], 1);
        for (call, next) in calls[1..].iter_mut().zip(ready) {
            (*call, count) = (next, count + 1);
        }
        // Rejected until the core decides otherwise.
        let mut results = [Err(VerifyError::ChallengeMismatch); MAX_CALL];
        verify_lanes(|n| calls[n].3, &mut results[..count]);
        for (&(index, item, slot, _), result) in calls[..count].iter().zip(results) {
            report(index, self.verdict(item, slot, result));
        }
    }

    pub(crate) fn verify_one(&self, item: &Resolved<'_, P>) -> Verdict {
        let slot = Slot::new();
        let verification = self.verification(item, &slot)?;
        let mut result = [Err(VerifyError::ChallengeMismatch)];
        verify_lanes(|_| verification, &mut result);
        self.verdict(item, &slot, result[0])
    }

    /// Converts an item to the form that the core takes.
    fn verification<'r>(
        &self,
        item: &'r Resolved<'_, P>,
        slot: &'r Slot<P>,
    ) -> Result<Verification<'r, P>, RejectReason> {
        let is_hashed_in_lanes = matches!(
            item.signed,
            Signed::Message(_, Message::Bytes(_)) | Signed::Mu(_)
        );
        // A malformed hint is rejected before the look-up of a whole key and a hash outside of
        // lanes.
        if matches!(item.key, Key::Encoded(_)) || !is_hashed_in_lanes {
            SignatureParts::parse(&P::PARAMS, item.signature)?;
        }
        let key = self.key(item, slot);
        let message = match item.signed {
            Signed::Mu(mu) => JobMessage::Mu(mu),
            Signed::Message(context, Message::Bytes(message)) => JobMessage::Pure(context, message),
            Signed::Message(context, Message::Parts(parts)) => {
                JobMessage::Mu(slot.mu.get_or_init(|| {
                    let mut mu = MuBuilder::from_tr(&self.tr(&key), context);
                    parts.iter().for_each(|part| mu.update(part));
                    mu.finish()
                }))
            }
            Signed::Message(context, Message::PreHashed { hash, digest }) => {
                // The strength of the hash was checked when the item was resolved.
                let digest = PreHashed::<P>::new_allow_weak(hash, digest)?;
                let mu = || digest.mu(&self.tr(&key), context);
                JobMessage::Mu(slot.mu.get_or_init(mu))
            }
        };
        Ok(match key {
            LaneKey::Prepared(key) => Verification::prepared(key, message, item.signature),
            LaneKey::Plain(key) => Verification::unprepared(key, message, item.signature),
            LaneKey::Encoded(key) => {
                Verification::encoded(self.backend, key, message, item.signature)
            }
        })
    }

    /// Returns the key of an item in the fastest form at hand.
    fn key<'r>(&self, item: &'r Resolved<'_, P>, slot: &'r Slot<P>) -> LaneKey<'r, P> {
        let (plain, look_up) = match item.key {
            Key::Member(committee, member) => {
                let table = committee.table();
                if let Some(prepared) = table.prepared(member) {
                    return LaneKey::Prepared(prepared);
                }
                let cache = table.cache().map(|cache| cache.get(&member));
                (LaneKey::Plain(table.key(member)), cache)
            }
            Key::Encoded(encoded) => {
                let cache = self.key_cache.as_ref();
                let cache = cache.map(|cache| cache.get(encoded.as_ref()));
                (LaneKey::Encoded(encoded), cache)
            }
        };
        let cached = look_up.and_then(|found| slot.cached.get_or_init(|| found).1.as_ref());
        cached.map_or(plain, |key| LaneKey::Prepared(key.as_prepared_ref()))
    }

    fn tr(&self, key: &LaneKey<'_, P>) -> [u8; 64] {
        match key {
            LaneKey::Prepared(key) => *key.tr(),
            LaneKey::Plain(key) => *key.tr(),
            LaneKey::Encoded(key) => public_key_hash(self.backend.permutation(), key.as_ref()),
        }
    }

    /// Counts valid signatures towards the expansion of their keys, if there is a cache.
    fn verdict(
        &self,
        item: &Resolved<'_, P>,
        slot: &Slot<P>,
        result: Result<(), VerifyError>,
    ) -> Verdict {
        result?;
        let Some(&(hash, _)) = slot.cached.get() else {
            return Ok(());
        };
        match item.key {
            Key::Member(committee, member) => committee.table().on_valid_signature(hash, member),
            Key::Encoded(encoded) => {
                if let Some(cache) = &self.key_cache {
                    cache.on_valid_signature(hash, || {
                        let key = VerifyingKey::from_bytes(encoded.as_ref()).ok()?;
                        // The name is of the bytes that are expanded, whatever a caller's memory has by now.
                        Some((key.as_ref().into(), key.with_backend(self.backend)))
                    });
                }
            }
        }
        Ok(())
    }
}
