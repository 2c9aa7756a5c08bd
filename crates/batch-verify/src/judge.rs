//! From items to lanes: the cheap checks, the keys, and the call into the core.

use std::sync::Arc;

use mldsa_core::internals::{
    JobMessage, SignatureParts, Verification, tr as public_key_hash, verify_lanes,
};
use mldsa_core::{
    Backend, ByteArray, Context, Mu, MuBuilder, ParameterSet, PreHashed, VerifyError, VerifyingKey,
};

use crate::cache::{Found, KeyCache};
use crate::key_set::MemberKey;
use crate::{Item, KeySet, Message, Outcome, Reason, Signer, SignerId};

/// Signatures that go into one call of the core: some times what fits side by side,
/// so that a refused signature leaves its lane to another.
pub(crate) const MAX_CALL: usize = 32;

/// First sort key of signers that are in no set; below it, sort keys are signer ids.
pub(crate) const NO_MEMBER: u32 = 1 << 31;

/// Everything a verdict depends on.
#[derive(Clone)]
pub(crate) struct Judge<P: ParameterSet> {
    pub(crate) keys: Option<KeySet<P>>,
    /// Expanded keys of signers that are in no set.
    pub(crate) key_cache: Arc<KeyCache<Box<[u8]>, P>>,
    pub(crate) context: Arc<[u8]>,
    pub(crate) allow_weak_prehash: bool,
    pub(crate) backend: Backend,
}

/// What the checks that touch neither hint nor hash found in an item.
pub(crate) struct Screened<'a, P: ParameterSet> {
    signer: Identity<'a, P>,
    message: Form<'a, P>,
    signature: &'a [u8],
}

enum Identity<'a, P: ParameterSet> {
    Member(SignerId),
    Outsider(&'a P::PublicKeyBytes),
}

enum Form<'a, P: ParameterSet> {
    Bytes(Context<'a>, &'a [u8]),
    Parts(Context<'a>, &'a [&'a [u8]]),
    Mu(&'a Mu),
    PreHashed(Context<'a>, PreHashed<'a, P>),
}

/// An item on its way into a lane.
struct Candidate<'a, P: ParameterSet> {
    index: usize,
    key: Key<'a, P>,
    message: Hashed<'a>,
    signature: &'a [u8],
}

enum Key<'a, P: ParameterSet> {
    Member(SignerId, MemberKey<'a, P>),
    Outsider(&'a P::PublicKeyBytes, Found<Box<[u8]>, P>),
}

/// What the core is told of a message.
enum Hashed<'a> {
    /// Hashed in lanes, after the core has looked at the hint.
    Later(Context<'a>, &'a [u8]),
    Given(&'a Mu),
    Now(Mu),
}

impl<P: ParameterSet> Screened<'_, P> {
    /// Equal for equal keys, and below [`NO_MEMBER`] for equal keys only.
    pub(crate) fn sort_key(&self) -> u32 {
        match self.signer {
            Identity::Member(id) => id.index(),
            Identity::Outsider(key) => key
                .as_ref()
                .first_chunk()
                .map_or(NO_MEMBER, |rho| NO_MEMBER | u32::from_be_bytes(*rho) >> 1),
        }
    }
}

impl<P: ParameterSet> Judge<P> {
    /// The checks that touch neither hint nor hash. `sort_key` is what an earlier
    /// look at the item found; it saves the search for the key and changes nothing
    /// else.
    pub(crate) fn screen<'a>(
        &'a self,
        item: &Item<'a>,
        sort_key: Option<u32>,
    ) -> Result<Screened<'a, P>, Reason> {
        let signer = match item.signer {
            Signer::Id(id) => {
                let keys = self.keys.as_ref();
                let known = keys.is_some_and(|keys| keys.key(id).is_some());
                Identity::Member(known.then_some(id).ok_or(Reason::UnknownSigner)?)
            }
            Signer::Key(key) => {
                let key = P::PublicKeyBytes::from_slice(key).ok_or(Reason::PublicKeyLength)?;
                match self.member_of(key.as_ref(), sort_key) {
                    Some(id) => Identity::Member(id),
                    None => Identity::Outsider(key),
                }
            }
        };
        if item.signature.len() != P::SIG_LEN {
            return Err(Reason::SignatureLength);
        }
        let message = match item.message {
            Message::Bytes(message) => Form::Bytes(self.context(item)?, message),
            Message::Parts(parts) => Form::Parts(self.context(item)?, parts),
            Message::Mu(mu) => Form::Mu(mu),
            Message::PreHashed { hash, digest } => {
                let digest = if self.allow_weak_prehash {
                    PreHashed::new_allow_weak(hash, digest)?
                } else {
                    PreHashed::new(hash, digest)?
                };
                Form::PreHashed(self.context(item)?, digest)
            }
        };
        Ok(Screened {
            signer,
            message,
            signature: item.signature,
        })
    }

    /// The member who owns an encoded key.
    pub(crate) fn member_of(&self, key: &[u8], sort_key: Option<u32>) -> Option<SignerId> {
        let keys = self.keys.as_ref()?;
        match sort_key {
            Some(NO_MEMBER..) => None,
            // One comparison instead of a search, unless the item has changed.
            Some(id) if keys.key(SignerId::new(id))?.as_bytes().as_ref() == key => {
                Some(SignerId::new(id))
            }
            _ => keys.signer_of(key),
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

    /// Verifies up to [`MAX_CALL`] items `(index, sort key, item)` and tells every
    /// verdict, once.
    pub(crate) fn verify<'a>(
        &'a self,
        items: impl Iterator<Item = (usize, u32, Item<'a>)>,
        mut tell: impl FnMut(usize, Outcome),
    ) {
        let mut candidates: [Option<Candidate<'a, P>>; MAX_CALL] = core::array::from_fn(|_| None);
        let mut free = candidates.iter_mut();
        for (index, sort_key, item) in items.take(MAX_CALL) {
            let screened = self.screen(&item, Some(sort_key));
            match screened.and_then(|screened| self.candidate(index, screened)) {
                Ok(candidate) => {
                    if let Some(place) = free.next() {
                        *place = Some(candidate);
                    }
                }
                Err(reason) => tell(index, Outcome::Invalid(reason)),
            }
        }
        let Some(Some(first)) = candidates.first() else {
            return;
        };
        let mut lanes = [self.lane(first); MAX_CALL];
        let mut count = 0;
        for (lane, candidate) in lanes.iter_mut().zip(candidates.iter().flatten()) {
            *lane = self.lane(candidate);
            count += 1;
        }
        // Refused, until the core says otherwise.
        let mut results = [Err(VerifyError::ChallengeMismatch); MAX_CALL];
        verify_lanes(|n| lanes[n], &mut results[..count]);
        for (candidate, result) in candidates.iter().flatten().zip(results) {
            tell(candidate.index, self.outcome(candidate, result));
        }
    }

    /// Verifies one item.
    pub(crate) fn alone(&self, item: Item<'_>) -> Outcome {
        let screened = self.screen(&item, None);
        let candidate = match screened.and_then(|screened| self.candidate(0, screened)) {
            Ok(candidate) => candidate,
            Err(reason) => return Outcome::Invalid(reason),
        };
        let mut result = [Err(VerifyError::ChallengeMismatch)];
        verify_lanes(|_| self.lane(&candidate), &mut result);
        self.outcome(&candidate, result[0])
    }

    fn outcome(&self, candidate: &Candidate<'_, P>, result: Result<(), VerifyError>) -> Outcome {
        match result {
            Ok(()) => {
                self.remember(&candidate.key);
                Outcome::Valid
            }
            Err(error) => Outcome::Invalid(error.into()),
        }
    }

    /// Valid signatures are what a key is expanded for.
    fn remember(&self, key: &Key<'_, P>) {
        match key {
            Key::Member(_, MemberKey::Held(_)) => {}
            Key::Member(id, _) => {
                if let Some(keys) = &self.keys {
                    keys.proven(*id);
                }
            }
            Key::Outsider(encoded, Found { hash, .. }) => self.key_cache.proven(*hash, || {
                let encoded = encoded.as_ref();
                let key = VerifyingKey::from_bytes(encoded).ok()?;
                Some((Box::from(encoded), key.with_backend(self.backend)))
            }),
        }
    }

    fn candidate<'a>(
        &'a self,
        index: usize,
        screened: Screened<'a, P>,
    ) -> Result<Candidate<'a, P>, Reason> {
        let Screened {
            signer,
            message,
            signature,
        } = screened;
        let key = match signer {
            Identity::Member(id) => {
                let keys = self.keys.as_ref().ok_or(Reason::UnknownSigner)?;
                let key = keys.member_key(id).ok_or(Reason::UnknownSigner)?;
                Key::Member(id, key)
            }
            Identity::Outsider(encoded) => {
                // Cheaper than the look-up, which hashes the key.
                check_hint::<P>(signature)?;
                Key::Outsider(encoded, self.key_cache.get(encoded.as_ref()))
            }
        };
        let message = match message {
            Form::Bytes(context, message) => Hashed::Later(context, message),
            Form::Mu(mu) => Hashed::Given(mu),
            Form::Parts(context, parts) => {
                check_hint::<P>(signature)?;
                let mut mu = MuBuilder::from_tr(&self.tr(&key), context);
                parts.iter().for_each(|part| mu.update(part));
                Hashed::Now(mu.finish())
            }
            Form::PreHashed(context, digest) => {
                check_hint::<P>(signature)?;
                Hashed::Now(digest.mu(&self.tr(&key), context))
            }
        };
        Ok(Candidate {
            index,
            key,
            message,
            signature,
        })
    }

    fn tr(&self, key: &Key<'_, P>) -> [u8; 64] {
        match key {
            Key::Member(_, key) => *key.tr(),
            Key::Outsider(encoded, found) => match &found.expanded {
                Some(expanded) => *expanded.key.tr(),
                None => public_key_hash(self.backend.permutation(), encoded.as_ref()),
            },
        }
    }

    fn lane<'r, 'a: 'r>(&self, candidate: &'r Candidate<'a, P>) -> Verification<'r, P> {
        let message = match &candidate.message {
            Hashed::Later(context, message) => JobMessage::Pure(*context, message),
            Hashed::Given(mu) => JobMessage::Mu(mu),
            Hashed::Now(mu) => JobMessage::Mu(mu),
        };
        let signature = candidate.signature;
        match &candidate.key {
            Key::Member(_, MemberKey::Held(key)) => {
                Verification::prepared(*key, message, signature)
            }
            Key::Member(_, MemberKey::Cached(expanded)) => {
                Verification::prepared(expanded.key.as_prepared_ref(), message, signature)
            }
            Key::Member(_, MemberKey::Cold(key)) => {
                Verification::unprepared(key, message, signature)
            }
            Key::Outsider(encoded, found) => match &found.expanded {
                Some(expanded) => {
                    Verification::prepared(expanded.key.as_prepared_ref(), message, signature)
                }
                None => Verification::encoded(self.backend, *encoded, message, signature),
            },
        }
    }
}

/// Before anything that costs more than this check: a look-up of a whole key, a
/// hash that is not in lanes.
fn check_hint<P: ParameterSet>(signature: &[u8]) -> Result<(), Reason> {
    SignatureParts::parse(&P::PARAMS, signature)?;
    Ok(())
}
