//! The public keys a verifier knows: shared, immutable, expanded ahead of time.

use core::fmt;
use core::mem::size_of;
use std::sync::Arc;

use mldsa_core::hazmat::{Element, Expansion, NttPoly, PackedPoly};
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
    /// Every key is expanded when the set is built: 20, 36 or 64 KiB a key, three
    /// quarters of that in large sets ([`KeyStorage`]).
    #[default]
    Expanded,
    /// Keys are expanded after their second valid signature and kept, the least
    /// recently used leaving first. A keeping allocates.
    Lru {
        /// Upper bound for the expanded keys.
        max_bytes: usize,
    },
    /// No key is expanded: 1.4, 2.0 or 2.6 kB a key, and every signature pays
    /// for the expansion.
    Compact,
}

/// How [`KeyPolicy::Expanded`] stores the expanded keys. Verdicts do not depend
/// on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStorage {
    /// By the size of the set: wide up to 8 MiB for each thread of the pool that
    /// builds it, about what the caches next to a core hold, and packed beyond.
    #[default]
    Auto,
    /// 32 bits a coefficient, 20, 36 or 64 KiB a key: nothing to unpack.
    Wide,
    /// 24 bits a coefficient, 15, 27 or 48 KiB a key: less to load.
    Packed,
}

/// Expanded keys that stay wide, for each thread.
const WIDE_BYTES_PER_THREAD: usize = 8 << 20;

impl KeyStorage {
    /// Whether `keys` keys of `key_bytes` bytes, expanded wide, are stored packed.
    fn packs(self, keys: usize, key_bytes: usize) -> bool {
        match self {
            Self::Auto => {
                keys.saturating_mul(key_bytes)
                    > WIDE_BYTES_PER_THREAD.saturating_mul(rayon::current_num_threads())
            }
            Self::Wide => false,
            Self::Packed => true,
        }
    }
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
    storage: KeyStorage,
    backend: Backend,
}

/// Expanded keys side by side, each `PREPARED_POLYS` polynomials.
enum Arena {
    Wide(Box<[NttPoly]>),
    Packed(Box<[PackedPoly]>),
}

impl Arena {
    fn polys(&self) -> Expansion<'_> {
        match self {
            Self::Wide(polys) => Expansion::Wide(polys),
            Self::Packed(polys) => Expansion::Packed(polys),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Wide(polys) => size_of_val(&**polys),
            Self::Packed(polys) => size_of_val(&**polys),
        }
    }
}

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
            storage: KeyStorage::Auto,
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
            self.inner.storage,
            self.inner.backend,
        )
    }

    fn assemble(
        mut members: Vec<Option<Member<P>>>,
        mut arenas: Vec<Arc<Arena>>,
        policy: KeyPolicy,
        storage: KeyStorage,
        backend: Backend,
    ) -> Result<Self, KeySetError> {
        if members.len() > i32::MAX as usize {
            return Err(KeySetError::TooMany);
        }
        members.shrink_to_fit();
        let by_bytes = order(&members)?;
        if policy == KeyPolicy::Expanded {
            settle(&mut members, &mut arenas, storage);
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
                storage,
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
                .map(|arena| arena.memory_bytes())
                .sum::<usize>()
            + inner.cache.as_ref().map_or(0, KeyCache::memory_bytes)
    }

    /// The policy the set was built with.
    #[must_use]
    pub fn policy(&self) -> KeyPolicy {
        self.inner.policy
    }

    /// Whether expanded keys are stored at 24 bits a coefficient; false where
    /// none are, and while any is wide.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        let arenas = &self.inner.arenas;
        !arenas.is_empty()
            && arenas
                .iter()
                .all(|arena| matches!(**arena, Arena::Packed(_)))
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
                .prepared_at(expansion::<P>(&self.inner.arenas, place))
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
fn settle<P: ParameterSet>(
    members: &mut [Option<Member<P>>],
    arenas: &mut Vec<Arc<Arena>>,
    storage: KeyStorage,
) {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let slots: usize = arenas.iter().map(|arena| arena.polys().len() / len).sum();
    let count = |placed: bool| {
        let members = members.iter().flatten();
        members.filter(|m| m.place.is_some() == placed).count()
    };
    let (placed, new) = (count(true), count(false));
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
    let key_bytes = len * size_of::<NttPoly>();
    arenas.push(Arc::new(if storage.packs(placed + new, key_bytes) {
        Arena::Packed(fill(&moving, &old, |to, expansion| match expansion {
            Expansion::Wide(polys) => to.iter_mut().zip(polys).for_each(|(to, a)| *to = a.into()),
            Expansion::Packed(polys) => to.clone_from_slice(polys),
        }))
    } else {
        Arena::Wide(fill(
            &moving,
            &old,
            |to: &mut [NttPoly], expansion| match expansion {
                Expansion::Wide(polys) => to.iter_mut().zip(polys).for_each(|(to, a)| to.0 = a.0),
                Expansion::Packed(polys) => {
                    to.iter_mut().zip(polys).for_each(|(to, a)| a.unpack(to))
                }
            },
        ))
    }));
    for (slot, member) in moving.iter_mut().enumerate() {
        member.place = Some(Place {
            arena: arenas.len() - 1,
            slot,
        });
    }
}

/// The expansions of `members` side by side, those that are in `old` copied from
/// there and the others made.
fn fill<P: ParameterSet, T: Element>(
    members: &[&mut Member<P>],
    old: &[Arc<Arena>],
    store: impl Fn(&mut [T], Expansion<'_>) + Sync,
) -> Box<[T]> {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let mut arena = Vec::with_capacity(members.len() * len);
    arena.resize_with(members.len() * len, || T::ZERO);
    let room = || {
        let mut room = Vec::with_capacity(len);
        room.resize_with(len, || NttPoly::ZERO);
        room
    };
    arena
        .par_chunks_exact_mut(len)
        .zip(members)
        .for_each_init(room, |room, (to, member)| match member.place {
            Some(place) => store(to, expansion::<P>(old, place)),
            None => {
                member.key.prepare_polys(room);
                store(to, Expansion::Wide(room));
            }
        });
    arena.into_boxed_slice()
}

fn expansion<P: ParameterSet>(arenas: &[Arc<Arena>], place: Place) -> Expansion<'_> {
    let len = VerifyingKey::<P>::PREPARED_POLYS;
    let range = place.slot * len..(place.slot + 1) * len;
    match &*arenas[place.arena] {
        Arena::Wide(polys) => Expansion::Wide(&polys[range]),
        Arena::Packed(polys) => Expansion::Packed(&polys[range]),
    }
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
    storage: KeyStorage,
    backend: Backend,
    set: core::marker::PhantomData<P>,
}

impl<P: ParameterSet> KeySetBuilder<P> {
    /// How much memory to spend ([`KeyPolicy::Expanded`]).
    pub fn policy(self, policy: KeyPolicy) -> Self {
        Self { policy, ..self }
    }

    /// How to store expanded keys ([`KeyStorage::Auto`]), in this set and in those
    /// made from it.
    pub fn storage(self, storage: KeyStorage) -> Self {
        Self { storage, ..self }
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
        KeySet::assemble(members, Vec::new(), self.policy, self.storage, self.backend)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchVerifier, Item};
    use mldsa_core::{Context, Hedge, MlDsa44, SigningKey};

    #[test]
    fn large_sets_are_packed() {
        let threads = rayon::current_num_threads();
        let key_bytes = 64 << 10;
        assert!(!KeyStorage::Auto.packs(128 * threads, key_bytes));
        assert!(KeyStorage::Auto.packs(128 * threads + 1, key_bytes));
        assert!(!KeyStorage::Wide.packs(usize::MAX, key_bytes));
        assert!(KeyStorage::Packed.packs(1, key_bytes));
    }

    /// What happens when a set grows or shrinks past the limit.
    #[test]
    fn expansions_move_between_the_forms() {
        let keys: Vec<SigningKey<MlDsa44>> =
            (0..12).map(|n| SigningKey::from_seed(&[n; 32])).collect();
        let public = |key: &SigningKey<MlDsa44>| key.verifying_key().as_bytes().to_vec();
        let mut set = KeySet::<MlDsa44>::from_public_keys([&public(&keys[0])[..]]).unwrap();
        for (n, key) in keys.iter().enumerate().skip(1) {
            // A member more, and everyone in the other form once the arenas are many.
            let storage = [KeyStorage::Packed, KeyStorage::Wide][n / 4 % 2];
            let mut members = set.inner.members.clone();
            members.extend(decode(Backend::detect(), n, &[&public(key)]).unwrap());
            let arenas = if n % 4 == 0 {
                // As many as make `settle` move everyone.
                let again = set.inner.arenas.iter().cycle();
                again.take(MAX_ARENAS).cloned().collect()
            } else {
                set.inner.arenas.clone()
            };
            set = KeySet::assemble(
                members,
                arenas,
                KeyPolicy::Expanded,
                storage,
                Backend::detect(),
            )
            .unwrap();
            if n % 4 == 0 {
                assert_eq!(set.is_packed(), storage == KeyStorage::Packed, "{n}");
                assert_eq!(set.inner.arenas.len(), 1);
            }
            let verifier = BatchVerifier::builder().keys(set.clone()).build().unwrap();
            for (id, key) in (0..).zip(&keys[..=n]) {
                let signature = key
                    .sign(b"m", Context::EMPTY, Hedge::Deterministic)
                    .unwrap();
                let items = [
                    Item::new(SignerId(id), b"m".as_slice(), signature.as_ref()),
                    Item::new(SignerId(id), b"other".as_slice(), signature.as_ref()),
                ];
                assert_eq!(verifier.verify_each(&items), [true, false], "{n} {id}");
            }
        }
    }
}
