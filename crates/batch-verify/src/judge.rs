//! From items to lanes: cheap checks, keys, and the call into the core.

use std::sync::Arc;

use mldsa_core::hazmat::{
    JobMessage, SignatureParts, Verification, tr as public_key_hash, verify_lanes,
};
use mldsa_core::{
    Backend, ByteArray, Context, Mu, MuBuilder, ParameterSet, PreHashError, PreHashed,
    PreparedVerifyingKey, PreparedVerifyingKeyRef, VerifyError, VerifyingKey,
};

use crate::cache::KeyCache;
use crate::{Item, KeySet, Message, Outcome, Reason, Signer, SignerId};

/// Signatures that go into one call of the core: some groups of lanes, so that a
/// refused signature leaves its lane to another.
pub(crate) const BLOCK: usize = 32;

/// First order hint of keys that are in no set; below it, hints are signer ids.
pub(crate) const STRANGERS: u32 = 1 << 31;

/// Everything a verdict depends on.
pub(crate) struct Judge<P: ParameterSet> {
    pub(crate) keys: Option<KeySet<P>>,
    pub(crate) strangers: KeyCache<Box<[u8]>, P>,
    pub(crate) context: Vec<u8>,
    pub(crate) allow_weak_prehash: bool,
    pub(crate) backend: Backend,
}

/// An item that passed the screen, with its key and, where the core does not
/// compute it in lanes, its `mu`.
struct Ready<'a, P: ParameterSet> {
    index: usize,
    item: Item<'a>,
    context: Context<'a>,
    key: Source<'a, P>,
    mu: Option<Mu>,
}

enum Source<'a, P: ParameterSet> {
    /// Expanded in the key set.
    Held(PreparedVerifyingKeyRef<'a, P>),
    /// Expanded in a cache.
    Kept(Arc<PreparedVerifyingKey<P>>),
    Cold(SignerId, &'a VerifyingKey<P>),
    Encoded(&'a P::PublicKeyBytes),
}

impl<P: ParameterSet> Judge<P> {
    /// The checks that touch neither hint nor hash. Returns an order hint: equal
    /// for equal keys, and below [`STRANGERS`] for equal keys only.
    pub(crate) fn screen(&self, item: &Item<'_>) -> Result<u32, Reason> {
        let member = match item.signer {
            Signer::Id(id) => {
                let known = self
                    .keys
                    .as_ref()
                    .is_some_and(|keys| keys.key(id).is_some());
                Some(known.then_some(id).ok_or(Reason::UnknownSigner)?)
            }
            Signer::Key(key) if key.len() != P::PK_LEN => return Err(Reason::PublicKeyLength),
            Signer::Key(_) => None,
        };
        if item.signature.len() != P::SIG_LEN {
            return Err(Reason::SignatureLength);
        }
        self.digest(&item.message)?;
        match (member, item.signer) {
            (Some(id), _) => Ok(id.index()),
            (None, Signer::Key(key)) => Ok(match self.member_of(key) {
                Some(id) => id.index(),
                None => key
                    .first_chunk()
                    .map_or(STRANGERS, |rho| STRANGERS | u32::from_be_bytes(*rho) >> 1),
            }),
            (None, Signer::Id(_)) => Err(Reason::UnknownSigner),
        }
    }

    pub(crate) fn member_of(&self, key: &[u8]) -> Option<SignerId> {
        self.keys.as_ref()?.signer_of(key)
    }

    fn digest<'a>(&self, message: &Message<'a>) -> Result<Option<PreHashed<'a, P>>, PreHashError> {
        match *message {
            Message::PreHashed { hash, digest } if self.allow_weak_prehash => {
                PreHashed::new_allow_weak(hash, digest).map(Some)
            }
            Message::PreHashed { hash, digest } => PreHashed::new(hash, digest).map(Some),
            _ => Ok(None),
        }
    }

    /// The context of an item: its own or the verifier's, whose length `build`
    /// has checked.
    pub(crate) fn context<'a>(&'a self, item: &Item<'a>) -> Result<Context<'a>, Reason> {
        match item.context {
            Some(context) => Ok(context),
            None => Context::new(&self.context).map_err(|_| Reason::Other),
        }
    }

    /// Verifies up to [`BLOCK`] items `(index, item)` and tells every verdict, once.
    pub(crate) fn block<'a>(
        &'a self,
        items: impl Iterator<Item = (usize, Item<'a>)>,
        mut tell: impl FnMut(usize, Outcome),
    ) {
        let mut ready: [Option<Ready<'a, P>>; BLOCK] = core::array::from_fn(|_| None);
        let mut free = ready.iter_mut();
        for (index, item) in items.take(BLOCK) {
            match self.ready(index, item) {
                Ok(item) => {
                    if let Some(slot) = free.next() {
                        *slot = Some(item);
                    }
                }
                Err(reason) => tell(index, Outcome::Invalid(reason)),
            }
        }
        let Some(Some(first)) = ready.first() else {
            return;
        };
        let mut lanes = [self.lane(first); BLOCK];
        let mut count = 0;
        for (lane, ready) in lanes.iter_mut().zip(ready.iter().flatten()) {
            *lane = self.lane(ready);
            count += 1;
        }
        // Refused, until the core says otherwise.
        let mut results = [Err(VerifyError::ChallengeMismatch); BLOCK];
        verify_lanes(|n| lanes[n], &mut results[..count]);
        for (ready, result) in ready.iter().flatten().zip(results) {
            let outcome = match result {
                Ok(()) => {
                    self.remember(ready);
                    Outcome::Valid
                }
                Err(error) => Outcome::Invalid(error.into()),
            };
            tell(ready.index, outcome);
        }
    }

    /// Valid signatures are what a key is expanded for.
    fn remember(&self, ready: &Ready<'_, P>) {
        match (&ready.key, &self.keys) {
            (Source::Cold(id, key), Some(keys)) => {
                if let Some(cache) = keys.cache() {
                    cache.proven(&id.index(), |id| *id, || Some((*key).clone()));
                }
            }
            (Source::Encoded(encoded), _) => self.strangers.proven(
                encoded.as_ref(),
                |key| Box::from(key),
                || {
                    let key = VerifyingKey::from_bytes(encoded.as_ref()).ok()?;
                    Some(key.with_backend(self.backend))
                },
            ),
            _ => {}
        }
    }

    fn ready<'a>(&'a self, index: usize, item: Item<'a>) -> Result<Ready<'a, P>, Reason> {
        self.screen(&item)?;
        let context = self.context(&item)?;
        let key = match item.signer {
            Signer::Id(id) => self.member(id)?,
            Signer::Key(encoded) => match self.member_of(encoded) {
                Some(id) => self.member(id)?,
                None => self.stranger(encoded, &item)?,
            },
        };
        let mu = match item.message {
            // Hashed in lanes, after the core has looked at the hint.
            Message::Bytes(_) | Message::Mu(_) => None,
            Message::Parts(parts) => {
                check_hint::<P>(&item)?;
                let mut mu = MuBuilder::from_tr(&self.tr(&key), context);
                parts.iter().for_each(|part| mu.update(part));
                Some(mu.finish())
            }
            Message::PreHashed { .. } => {
                check_hint::<P>(&item)?;
                let digest = self.digest(&item.message)?;
                digest.map(|digest| digest.mu(&self.tr(&key), context))
            }
        };
        Ok(Ready {
            index,
            item,
            context,
            key,
            mu,
        })
    }

    fn member(&self, id: SignerId) -> Result<Source<'_, P>, Reason> {
        let keys = self.keys.as_ref().ok_or(Reason::UnknownSigner)?;
        let (key, prepared) = keys.prepared(id).ok_or(Reason::UnknownSigner)?;
        if let Some(prepared) = prepared {
            return Ok(Source::Held(prepared));
        }
        let kept = keys.cache().and_then(|cache| cache.get(&id.index()));
        Ok(kept.map_or(Source::Cold(id, key), Source::Kept))
    }

    fn stranger<'a>(&'a self, encoded: &'a [u8], item: &Item<'a>) -> Result<Source<'a, P>, Reason> {
        // Cheaper than the look-up, which hashes the key.
        check_hint::<P>(item)?;
        match self.strangers.get(encoded) {
            Some(kept) => Ok(Source::Kept(kept)),
            None => P::PublicKeyBytes::from_slice(encoded)
                .map(Source::Encoded)
                .ok_or(Reason::PublicKeyLength),
        }
    }

    fn tr(&self, key: &Source<'_, P>) -> [u8; 64] {
        match key {
            Source::Held(key) => *key.tr(),
            Source::Kept(key) => *key.tr(),
            Source::Cold(_, key) => *key.tr(),
            Source::Encoded(encoded) => {
                public_key_hash(self.backend.permutation(), encoded.as_ref())
            }
        }
    }

    fn lane<'r, 'a: 'r>(&self, ready: &'r Ready<'a, P>) -> Verification<'r, P> {
        let message = match (&ready.mu, ready.item.message) {
            (Some(mu), _) | (None, Message::Mu(mu)) => JobMessage::Mu(mu),
            (None, Message::Bytes(message)) => JobMessage::Pure(ready.context, message),
            // `ready` computes mu for these.
            (None, Message::Parts(_) | Message::PreHashed { .. }) => {
                JobMessage::Pure(ready.context, &[])
            }
        };
        let signature = ready.item.signature;
        match &ready.key {
            Source::Held(key) => Verification::prepared(*key, message, signature),
            Source::Kept(key) => Verification::prepared(key.as_prepared_ref(), message, signature),
            Source::Cold(_, key) => Verification::cold(key, message, signature),
            Source::Encoded(encoded) => {
                Verification::encoded(self.backend, *encoded, message, signature)
            }
        }
    }
}

/// Before anything that costs more than this check: a look-up of a whole key, a
/// hash that is not in lanes.
fn check_hint<P: ParameterSet>(item: &Item<'_>) -> Result<(), Reason> {
    SignatureParts::parse(&P::PARAMS, item.signature)?;
    Ok(())
}
