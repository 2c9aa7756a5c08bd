//! The public keys a verifier knows: shared, immutable, expanded ahead of time.

use core::fmt;
use core::mem::size_of;
use std::sync::Arc;

use mldsa_core::hazmat::NttPoly;
use mldsa_core::{Backend, ParameterSet, PreparedVerifyingKeyRef, VerifyingKey};
use rayon::prelude::*;

use crate::cache::KeyCache;

/// A signer's place in its [`KeySet`], counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignerId(u32);

impl SignerId {
    /// The signer at `index`. Whether the set has one is seen at verification.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The place in the set.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl From<u32> for SignerId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}

/// How much memory a [`KeySet`] spends on speed. Verdicts do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyPolicy {
    /// Every key is expanded when the set is built: 20, 36 or 64 KiB a key.
    #[default]
    Expanded,
    /// Keys are expanded at their second use and kept, the least recently used
    /// leaving first. A keeping allocates.
    Lru {
        /// Upper bound for the expanded keys.
        max_bytes: usize,
    },
    /// No key is expanded: 1.4, 2.0 or 2.6 kB a key, and every signature pays
    /// for the expansion.
    Compact,
}

/// An immutable set of public keys; cheap to clone and to share.
#[derive(Clone)]
pub struct KeySet<P: ParameterSet> {
    inner: Arc<Inner<P>>,
}

struct Inner<P: ParameterSet> {
    /// By signer; `None` where a signer has left.
    members: Vec<Option<Member<P>>>,
    /// Signers ordered by encoded key: look-up on full bytes without a second
    /// copy of them.
    by_bytes: Vec<u32>,
    /// Those of an earlier set are shared with it.
    arenas: Vec<Arc<Arena>>,
    cache: Option<KeyCache<u32, P>>,
    policy: KeyPolicy,
    backend: Backend,
}

/// Expanded keys side by side, each `PREPARED_POLYS` polynomials.
type Arena = Box<[NttPoly]>;

#[derive(Clone)]
struct Member<P: ParameterSet> {
    key: VerifyingKey<P>,
    place: Option<Place>,
}

/// Where the expansion of a key is.
#[derive(Clone, Copy)]
struct Place {
    arena: usize,
    slot: usize,
}

/// Arenas of earlier sets that a set keeps before it copies what it needs of
/// them into one.
const MAX_ARENAS: usize = 8;

impl<P: ParameterSet> KeySet<P> {
    /// Builds a set with [`KeyPolicy::Expanded`], in parallel on rayon's current
    /// pool; the n-th key becomes signer n.
    ///
    /// # Errors
    /// [`KeySetError::Length`] when a key does not have `P::PK_LEN` bytes,
    /// [`KeySetError::Duplicate`] when one public key would get two signers,
    /// [`KeySetError::TooMany`] from 2^31 keys on.
    pub fn from_public_keys<'a>(
        keys: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, KeySetError> {
        Self::builder().build(keys)
    }

    /// Chooses policy and backend first.
    pub fn builder() -> KeySetBuilder<P> {
        KeySetBuilder {
            policy: KeyPolicy::Expanded,
            backend: Backend::detect(),
            set: core::marker::PhantomData,
        }
    }

    /// The set of the next epoch: `remove` leaves, `add` joins, everyone else
    /// keeps id and expanded key without a copy. The ids of those who left stay
    /// vacant, so that no item of the old epoch can meet another's key; new keys
    /// get the next ids in order.
    ///
    /// # Errors
    /// Those of [`Self::from_public_keys`] (indices are signer ids), and
    /// [`KeySetError::UnknownSigner`] when somebody leaves who is not there.
    pub fn with_changes<'a>(
        &self,
        add: impl IntoIterator<Item = &'a [u8]>,
        remove: impl IntoIterator<Item = SignerId>,
    ) -> Result<Self, KeySetError> {
        let mut members = self.inner.members.clone();
        for signer in remove {
            members
                .get_mut(signer.0 as usize)
                .and_then(Option::take)
                .ok_or(KeySetError::UnknownSigner { signer })?;
        }
        let add: Vec<&[u8]> = add.into_iter().collect();
        members.extend(decode(self.inner.backend, members.len(), &add)?);
        Self::assemble(
            members,
            self.inner.arenas.clone(),
            self.inner.policy,
            self.inner.backend,
        )
    }

    fn assemble(
        mut members: Vec<Option<Member<P>>>,
        mut arenas: Vec<Arc<Arena>>,
        policy: KeyPolicy,
        backend: Backend,
    ) -> Result<Self, KeySetError> {
        if members.len() > i32::MAX as usize {
            return Err(KeySetError::TooMany);
        }
        members.shrink_to_fit();
        let by_bytes = order(&members)?;
        if policy == KeyPolicy::Expanded {
            settle(&mut members, &mut arenas);
        }
        let cache = match policy {
            KeyPolicy::Lru { max_bytes } => Some(KeyCache::new(max_bytes)),
            KeyPolicy::Expanded | KeyPolicy::Compact => None,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                members,
                by_bytes,
                arenas,
                cache,
                policy,
                backend,
            }),
        })
    }

    /// How many signers the set has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.by_bytes.len()
    }

    /// Whether the set has no signer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.by_bytes.is_empty()
    }

    /// One more than the highest id ever given: the length of a table indexed by
    /// signer. Equal to [`len`](Self::len) until somebody leaves.
    #[must_use]
    pub fn id_bound(&self) -> usize {
        self.inner.members.len()
    }

    /// The key of a signer; `None` for an id that was never given or is vacant.
    #[must_use]
    pub fn key(&self, signer: SignerId) -> Option<&VerifyingKey<P>> {
        self.member(signer).map(|member| &member.key)
    }

    /// The signer who owns an encoded public key. Compares full keys.
    #[must_use]
    pub fn signer_of(&self, public_key: &[u8]) -> Option<SignerId> {
        let Inner {
            members, by_bytes, ..
        } = &*self.inner;
        by_bytes
            .binary_search_by(|&id| encoded(members, id).cmp(public_key))
            .ok()
            .map(|place| SignerId(by_bytes[place]))
    }

    /// The signers, by increasing id.
    pub fn signers(&self) -> impl Iterator<Item = SignerId> + '_ {
        (0..)
            .zip(&self.inner.members)
            .filter_map(|(id, member)| member.as_ref().map(|_| SignerId(id)))
    }

    /// Bytes held: keys, expanded keys, index. Arenas shared with another set
    /// count in both.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let inner = &*self.inner;
        size_of::<Inner<P>>()
            + inner.members.capacity() * size_of::<Option<Member<P>>>()
            + inner.by_bytes.capacity() * size_of::<u32>()
            + inner
                .arenas
                .iter()
                .map(|arena| size_of_val::<[NttPoly]>(arena))
                .sum::<usize>()
            + inner.cache.as_ref().map_or(0, KeyCache::memory_bytes)
    }

    /// The policy the set was built with.
    #[must_use]
    pub fn policy(&self) -> KeyPolicy {
        self.inner.policy
    }

    fn member(&self, signer: SignerId) -> Option<&Member<P>> {
        self.inner.members.get(signer.0 as usize)?.as_ref()
    }

    /// The key of a signer and its expansion, if the set holds it.
    pub(crate) fn prepared(
        &self,
        signer: SignerId,
    ) -> Option<(&VerifyingKey<P>, Option<PreparedVerifyingKeyRef<'_, P>>)> {
        let member = self.member(signer)?;
        let prepared = member.place.and_then(|place| {
            member
                .key
                .prepared_at(polys::<P>(&self.inner.arenas, place))
        });
        Some((&member.key, prepared))
    }

    pub(crate) fn cache(&self) -> Option<&KeyCache<u32, P>> {
        self.inner.cache.as_ref()
    }
}

/// The encoded key of a member who is there.
fn encoded<P: ParameterSet>(members: &[Option<Member<P>>], id: u32) -> &[u8] {
    match &members[id as usize] {
        Some(member) => member.key.as_bytes().as_ref(),
        None => &[],
    }
}

/// The ids of the members who are there, ordered by encoded key.
fn order<P: ParameterSet>(members: &[Option<Member<P>>]) -> Result<Vec<u32>, KeySetError> {
    let mut by_bytes: Vec<u32> = (0..)
        .zip(members)
        .filter_map(|(id, member)| member.as_ref().map(|_| id))
        .collect();
    let encoded = |id| encoded(members, id);
    by_bytes.sort_unstable_by(|&a, &b| encoded(a).cmp(encoded(b)).then(a.cmp(&b)));
    match by_bytes
        .windows(2)
        .find(|pair| encoded(pair[0]) == encoded(pair[1]))
    {
        Some(pair) => Err(KeySetError::Duplicate {
            first: pair[0] as usize,
            second: pair[1] as usize,
        }),
        None => Ok(by_bytes),
    }
}

/// Members for encoded keys, `tr` hashed in parallel.
fn decode<P: ParameterSet>(
    backend: Backend,
    first: usize,
    keys: &[&[u8]],
) -> Result<Vec<Option<Member<P>>>, KeySetError> {
    // The lowest failing index, whatever the scheduling.
    if let Some(at) = keys.iter().position(|key| key.len() != P::PK_LEN) {
        return Err(KeySetError::Length { index: first + at });
    }
    keys.par_iter()
        .enumerate()
        .map(|(at, key)| {
            let key = VerifyingKey::from_bytes(key)
                .map_err(|_| KeySetError::Length { index: first + at })?
                .with_backend(backend);
            Ok(Some(Member { key, place: None }))
        })
        .collect()
}

/// Gives every member a place in an arena: new members in a new one, and
/// everyone in a new one when the old ones are many or mostly unused.
fn settle<P: ParameterSet>(members: &mut [Option<Member<P>>], arenas: &mut Vec<Arc<Arena>>) {
    let slots: usize =
        arenas.iter().map(|arena| arena.len()).sum::<usize>() / VerifyingKey::<P>::PREPARED_POLYS;
    let placed = members
        .iter()
        .flatten()
        .filter(|m| m.place.is_some())
        .count();
    let old = if arenas.len() >= MAX_ARENAS || slots > 2 * placed {
        core::mem::take(arenas)
    } else {
        Vec::new()
    };
    let mut moving: Vec<&mut Member<P>> = members
        .iter_mut()
        .flatten()
        .filter(|member| !old.is_empty() || member.place.is_none())
        .collect();
    if moving.is_empty() {
        return;
    }
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let mut arena = Vec::with_capacity(moving.len() * len);
    arena.resize_with(moving.len() * len, || NttPoly([0; 256]));
    arena
        .par_chunks_exact_mut(len)
        .zip(&moving)
        .for_each(|(polys_of, member)| match member.place {
            Some(place) => {
                for (to, from) in polys_of.iter_mut().zip(polys::<P>(&old, place)) {
                    to.0 = from.0;
                }
            }
            None => {
                member.key.prepare_polys(polys_of);
            }
        });
    for (slot, member) in moving.iter_mut().enumerate() {
        member.place = Some(Place {
            arena: arenas.len(),
            slot,
        });
    }
    arenas.push(Arc::new(arena.into_boxed_slice()));
}

fn polys<P: ParameterSet>(arenas: &[Arc<Arena>], place: Place) -> &[NttPoly] {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    &arenas[place.arena][place.slot * len..][..len]
}

impl<P: ParameterSet> fmt::Debug for KeySet<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet<{}>({} keys)", P::NAME, self.len())
    }
}

/// Collects the choices for a [`KeySet`].
#[derive(Debug)]
#[must_use]
pub struct KeySetBuilder<P: ParameterSet> {
    policy: KeyPolicy,
    backend: Backend,
    set: core::marker::PhantomData<P>,
}

impl<P: ParameterSet> KeySetBuilder<P> {
    /// How much memory to spend ([`KeyPolicy::Expanded`]).
    pub fn policy(self, policy: KeyPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Which instruction set verifies under these keys (the detected one).
    /// Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Builds the set; the n-th key becomes signer n.
    ///
    /// # Errors
    /// As [`KeySet::from_public_keys`].
    pub fn build<'a>(
        self,
        keys: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<KeySet<P>, KeySetError> {
        let keys: Vec<&[u8]> = keys.into_iter().collect();
        let members = decode(self.backend, 0, &keys)?;
        KeySet::assemble(members, Vec::new(), self.policy, self.backend)
    }
}

/// Why a [`KeySet`] was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySetError {
    /// The key at `index` has the wrong length for the parameter set.
    Length {
        /// Its place in the set.
        index: usize,
    },
    /// One public key stands at two places.
    Duplicate {
        /// The earlier place.
        first: usize,
        /// The later place.
        second: usize,
    },
    /// More keys than a set can count.
    TooMany,
    /// A signer was to be removed who is not in the set.
    UnknownSigner {
        /// Who.
        signer: SignerId,
    },
}

impl fmt::Display for KeySetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { index } => write!(f, "public key {index} has the wrong length"),
            Self::Duplicate { first, second } => {
                write!(f, "public keys {first} and {second} are the same")
            }
            Self::TooMany => f.write_str("too many public keys"),
            Self::UnknownSigner { signer } => {
                write!(f, "signer {} is not in the set", signer.index())
            }
        }
    }
}

impl core::error::Error for KeySetError {}
