//! The set itself, and how the next epoch's is made from it.

use core::fmt;
use core::marker::PhantomData;
use core::mem::size_of;
use std::sync::Arc;

use mldsa_core::{
    Backend, Context, ParameterSet, PreHashed, VerifyingKey, no_alloc::PreparedVerifyingKeyRef,
};

use super::arena::{Arena, Member, expansion, settle};
use super::error::KeySetError;
use super::policy::{KeyPolicy, KeyStorage};
use crate::cache::{Expanded, KeyCache};
use crate::executor::{Executor, executor, share};
use crate::{Message, Reason, SignerId, Threads};

/// An immutable set of public keys; cheap to clone and to share. Two sets are equal
/// if they give the same ids to the same keys.
///
/// ```
/// use batch_verify::{KeySet, SignerId};
/// use mldsa_core::{Context, MlDsa44, SigningKey};
///
/// let signers: Vec<_> = (0..3).map(|i| SigningKey::<MlDsa44>::from_seed(&[i; 32])).collect();
/// let keys = KeySet::<MlDsa44>::from_public_keys(signers[..2].iter().map(|key| key.verifying_key()))?;
/// let vote = signers[1].sign_hedged(b"block 7", Context::EMPTY)?;
/// keys.verify_one(SignerId::new(1), b"block 7", Context::EMPTY, vote.as_ref())?;
///
/// // The next epoch: signer 0 leaves, a new one becomes signer 2, signer 1 stays expanded.
/// let next = keys.with_changes([signers[2].verifying_key()], [SignerId::new(0)])?;
/// next.verify_one(SignerId::new(1), b"block 7", Context::EMPTY, vote.as_ref())?;
/// assert!(next.verify_one(SignerId::new(0), b"block 7", Context::EMPTY, vote.as_ref()).is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
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
    choices: Choices,
}

/// What a set takes over to those made from it.
#[derive(Clone)]
struct Choices {
    policy: KeyPolicy,
    storage: KeyStorage,
    backend: Backend,
    executor: Arc<dyn Executor>,
}

/// A member's key in the fastest form at hand.
pub(crate) enum MemberKey<'a, P: ParameterSet> {
    /// Expanded in the set.
    Held(PreparedVerifyingKeyRef<'a, P>),
    /// Expanded in the set's cache.
    Cached(Arc<Expanded<u32, P>>),
    /// Not expanded.
    Cold(&'a VerifyingKey<P>),
}

impl<P: ParameterSet> KeySet<P> {
    /// Builds a set with [`KeyPolicy::Expanded`], in parallel on rayon's current
    /// pool; the n-th key becomes signer n. Takes slices and arrays of bytes, vectors,
    /// and [`VerifyingKey`]s, by value or by reference.
    ///
    /// # Errors
    /// [`KeySetError::Length`] when a key does not have `P::PK_LEN` bytes,
    /// [`KeySetError::Duplicate`] when one public key would get two signers,
    /// [`KeySetError::TooMany`] from 2^31 keys on.
    pub fn from_public_keys<K: AsRef<[u8]>>(
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, KeySetError> {
        Self::builder().build(keys)
    }

    /// Chooses policy, backend and threads first.
    pub fn builder() -> KeySetBuilder<P> {
        KeySetBuilder {
            policy: KeyPolicy::Expanded,
            storage: KeyStorage::Auto,
            backend: Backend::detect(),
            threads: Threads::Shared,
            set: PhantomData,
        }
    }

    /// The set of the next epoch: `remove` leaves, `add` joins, everyone else
    /// keeps id and expanded key without a copy. The ids of those who left stay
    /// vacant, so that no item of the old epoch can meet another's key; new keys
    /// get the next ids in order. Keys as in [`Self::from_public_keys`]; where nobody
    /// joins, `None::<&[u8]>`.
    ///
    /// # Errors
    /// Those of [`Self::from_public_keys`] (indices are signer ids), and
    /// [`KeySetError::UnknownSigner`] when somebody leaves who is not there.
    pub fn with_changes<K: AsRef<[u8]>>(
        &self,
        add: impl IntoIterator<Item = K>,
        remove: impl IntoIterator<Item = SignerId>,
    ) -> Result<Self, KeySetError> {
        let mut members = self.inner.members.clone();
        for signer in remove {
            members
                .get_mut(signer.index() as usize)
                .and_then(Option::take)
                .ok_or(KeySetError::UnknownSigner { signer })?;
        }
        let add: Vec<K> = add.into_iter().collect();
        let add: Vec<&[u8]> = add.iter().map(AsRef::as_ref).collect();
        members.extend(decode(&self.inner.choices, members.len(), &add)?);
        self.next(members)
    }

    /// The set whose signer n is the signer `order[n]` of this one, for engines that
    /// count positions in a sorted list. Who is not named leaves; expanded keys are
    /// shared. The ids of this set mean somebody else in the new one: make
    /// [`Weights`](crate::Weights) follow with
    /// [`reordered`](crate::Weights::reordered).
    ///
    /// # Errors
    /// [`KeySetError::UnknownSigner`] for an id that is not in the set,
    /// [`KeySetError::Duplicate`] when it stands twice in `order`.
    pub fn reordered(&self, order: &[SignerId]) -> Result<Self, KeySetError> {
        let member = |&signer: &SignerId| {
            let member = self.member(signer).cloned();
            member
                .map(Some)
                .ok_or(KeySetError::UnknownSigner { signer })
        };
        self.next(order.iter().map(member).collect::<Result<_, _>>()?)
    }

    /// The set of the next epoch from its ordered list of keys: the n-th becomes
    /// signer n. Keys that this set has expanded are shared, not expanded again.
    ///
    /// # Errors
    /// Those of [`Self::from_public_keys`].
    pub fn with_ordered_keys<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, KeySetError> {
        let keys: Vec<K> = keys.into_iter().collect();
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let known: Vec<Option<&Member<P>>> = keys
            .iter()
            .map(|key| self.signer_of(key).and_then(|signer| self.member(signer)))
            .collect();
        lengths::<P>(0, &keys)?;
        let new: Vec<&[u8]> = keys
            .iter()
            .zip(&known)
            .filter_map(|(key, known)| known.is_none().then_some(*key))
            .collect();
        let mut new = decode(&self.inner.choices, 0, &new)?.into_iter();
        let members = known
            .into_iter()
            .map(|known| known.cloned().or_else(|| new.next().flatten()))
            .collect();
        self.next(members)
    }

    fn next(&self, members: Vec<Option<Member<P>>>) -> Result<Self, KeySetError> {
        let Inner {
            arenas, choices, ..
        } = &*self.inner;
        Self::assemble(members, arenas.clone(), choices.clone())
    }

    fn assemble(
        mut members: Vec<Option<Member<P>>>,
        mut arenas: Vec<Arc<Arena>>,
        choices: Choices,
    ) -> Result<Self, KeySetError> {
        if members.len() > i32::MAX as usize {
            return Err(KeySetError::TooMany);
        }
        members.shrink_to_fit();
        let by_bytes = order(&members)?;
        if choices.policy == KeyPolicy::Expanded {
            let executor = &*choices.executor;
            settle(&mut members, &mut arenas, choices.storage, executor);
        }
        let cache = match choices.policy {
            KeyPolicy::Lru { max_bytes } => Some(KeyCache::new(max_bytes)),
            KeyPolicy::Expanded | KeyPolicy::Compact => None,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                members,
                by_bytes,
                arenas,
                cache,
                choices,
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
            .map(|place| SignerId::new(by_bytes[place]))
    }

    /// The signers, by increasing id.
    pub fn signers(&self) -> impl Iterator<Item = SignerId> + '_ {
        (0..)
            .zip(&self.inner.members)
            .filter_map(|(id, member)| member.as_ref().map(|_| SignerId::new(id)))
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
        self.inner.choices.policy
    }

    /// Whether expanded keys are stored at 24 bits a coefficient; false where
    /// none are, and while any is wide.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        let arenas = &self.inner.arenas;
        !arenas.is_empty() && arenas.iter().all(|arena| arena.is_packed())
    }

    /// The expanded key of a signer, if this set holds it
    /// ([`KeyPolicy::Expanded`]): to verify without batch machinery.
    #[must_use]
    pub fn prepared(&self, signer: SignerId) -> Option<PreparedVerifyingKeyRef<'_, P>> {
        let member = self.member(signer)?;
        let expansion = expansion::<P>(&self.inner.arenas, member.place?);
        member.key.prepared_at(expansion)
    }

    /// Verifies one signature on this thread, without batch machinery and without
    /// allocation: for engines that ask for one vote and wait. Two signatures
    /// together take less time than one after the other; a batch is for that.
    ///
    /// # Errors
    /// The [`Reason`], as for an item of a batch.
    pub fn verify_one<'a>(
        &self,
        signer: SignerId,
        message: impl Into<Message<'a>>,
        context: Context<'_>,
        signature: &[u8],
    ) -> Result<(), Reason> {
        let key = self.member_key(signer).ok_or(Reason::UnknownSigner)?;
        if signature.len() != P::SIG_LEN {
            return Err(Reason::SignatureLength);
        }
        match message.into() {
            Message::Bytes(message) => match &key {
                MemberKey::Held(key) => key.verify(message, context, signature)?,
                MemberKey::Cached(expanded) => expanded.key.verify(message, context, signature)?,
                MemberKey::Cold(key) => key.verify(message, context, signature)?,
            },
            Message::Mu(mu) => key.verify_mu(mu, signature)?,
            Message::Parts(parts) => {
                let mut mu = mldsa_core::MuBuilder::from_tr(key.tr(), context);
                parts.iter().for_each(|part| mu.update(part));
                key.verify_mu(&mu.finish(), signature)?;
            }
            Message::PreHashed { hash, digest } => {
                let digest = PreHashed::<P>::new(hash, digest)?;
                key.verify_mu(&digest.mu(key.tr(), context), signature)?;
            }
        }
        if !matches!(key, MemberKey::Held(_)) {
            self.proven(signer);
        }
        Ok(())
    }

    fn member(&self, signer: SignerId) -> Option<&Member<P>> {
        self.inner.members.get(signer.index() as usize)?.as_ref()
    }

    /// The key of a signer, expanded if it is at hand so.
    pub(crate) fn member_key(&self, signer: SignerId) -> Option<MemberKey<'_, P>> {
        if let Some(prepared) = self.prepared(signer) {
            return Some(MemberKey::Held(prepared));
        }
        let key = self.key(signer)?;
        let cache = self.cache();
        let cached = cache.and_then(|cache| cache.get(&signer.index()).expanded);
        Some(cached.map_or(MemberKey::Cold(key), MemberKey::Cached))
    }

    /// A signature under a key that is not expanded in the set is valid.
    pub(crate) fn proven(&self, signer: SignerId) {
        if let Some(cache) = self.cache() {
            let id = signer.index();
            cache.proven(cache.hash(&id), || Some((id, self.key(signer)?.clone())));
        }
    }

    pub(crate) fn cache(&self) -> Option<&KeyCache<u32, P>> {
        self.inner.cache.as_ref()
    }
}

impl<P: ParameterSet> MemberKey<'_, P> {
    pub(crate) fn tr(&self) -> &[u8; 64] {
        match self {
            Self::Held(key) => key.tr(),
            Self::Cached(expanded) => expanded.key.tr(),
            Self::Cold(key) => key.tr(),
        }
    }

    fn verify_mu(&self, mu: &mldsa_core::Mu, signature: &[u8]) -> Result<(), Reason> {
        match self {
            Self::Held(key) => key.verify_mu(mu, signature),
            Self::Cached(expanded) => expanded.key.verify_mu(mu, signature),
            Self::Cold(key) => key.verify_mu(mu, signature),
        }
        .map_err(Reason::from)
    }
}

impl<P: ParameterSet> PartialEq for KeySet<P> {
    fn eq(&self, other: &Self) -> bool {
        fn keys<P: ParameterSet>(
            set: &KeySet<P>,
        ) -> impl Iterator<Item = Option<&VerifyingKey<P>>> {
            let members = set.inner.members.iter();
            members.map(|member| member.as_ref().map(|member| &member.key))
        }
        Arc::ptr_eq(&self.inner, &other.inner) || keys(self).eq(keys(other))
    }
}

impl<P: ParameterSet> Eq for KeySet<P> {}

impl<P: ParameterSet> fmt::Debug for KeySet<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet<{}>({} keys)", P::NAME, self.len())
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

/// The lowest index with a wrong length is reported, whatever the scheduling.
fn lengths<P: ParameterSet>(first: usize, keys: &[&[u8]]) -> Result<(), KeySetError> {
    match keys.iter().position(|key| key.len() != P::PK_LEN) {
        Some(at) => Err(KeySetError::Length { index: first + at }),
        None => Ok(()),
    }
}

/// Members for encoded keys, `tr` hashed in parallel.
fn decode<P: ParameterSet>(
    choices: &Choices,
    first: usize,
    keys: &[&[u8]],
) -> Result<Vec<Option<Member<P>>>, KeySetError> {
    lengths::<P>(first, keys)?;
    let mut members: Vec<Option<Member<P>>> = Vec::new();
    members.resize_with(keys.len(), || None);
    let places = members.iter_mut().zip(keys);
    share(&*choices.executor, keys.len(), places, |next| {
        while let Some((place, key)) = next() {
            *place = VerifyingKey::from_bytes(key).ok().map(|key| Member {
                key: key.with_backend(choices.backend),
                place: None,
            });
        }
    });
    match members.iter().position(Option::is_none) {
        Some(at) => Err(KeySetError::Length { index: first + at }),
        None => Ok(members),
    }
}

/// Collects the choices for a [`KeySet`].
#[derive(Debug)]
#[must_use]
pub struct KeySetBuilder<P: ParameterSet> {
    policy: KeyPolicy,
    storage: KeyStorage,
    backend: Backend,
    threads: Threads,
    set: PhantomData<P>,
}

impl<P: ParameterSet> KeySetBuilder<P> {
    /// How much memory to spend ([`KeyPolicy::Expanded`]).
    pub fn policy(self, policy: KeyPolicy) -> Self {
        Self { policy, ..self }
    }

    /// How to store expanded keys ([`KeyStorage::Auto`], which measures), in this set and in those
    /// made from it.
    pub fn storage(self, storage: KeyStorage) -> Self {
        Self { storage, ..self }
    }

    /// Which instruction set verifies under these keys (the detected one).
    /// Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Whose threads build the set and those made from it ([`Threads::Shared`]).
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Builds the set; the n-th key becomes signer n.
    ///
    /// # Errors
    /// As [`KeySet::from_public_keys`], and [`KeySetError::ThreadPool`] when the
    /// pool has zero threads or cannot be started.
    pub fn build<K: AsRef<[u8]>>(
        self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<KeySet<P>, KeySetError> {
        let keys: Vec<K> = keys.into_iter().collect();
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let choices = Choices {
            policy: self.policy,
            storage: self.storage,
            backend: self.backend,
            executor: executor(self.threads).ok_or(KeySetError::ThreadPool)?,
        };
        KeySet::assemble(decode(&choices, 0, &keys)?, Vec::new(), choices)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::MAX_ARENAS;
    use super::*;
    use crate::{BatchVerifier, Item};
    use mldsa_core::{MlDsa44, Randomness, SigningKey};

    #[test]
    fn keys_come_as_values_references_arrays_and_slices() {
        let keys: Vec<VerifyingKey<MlDsa44>> = (0..3)
            .map(|n| SigningKey::from_seed(&[n; 32]).verifying_key().clone())
            .collect();
        let set = KeySet::<MlDsa44>::from_public_keys(&keys).unwrap();
        let arrays = keys.iter().map(|key| *key.as_bytes());
        let slices = keys.iter().map(|key| key.as_bytes().as_slice());
        assert!(KeySet::from_public_keys(arrays).unwrap() == set);
        assert!(KeySet::from_public_keys(slices).unwrap() == set);
        let vectors = keys.iter().map(|key| key.as_bytes().to_vec());
        assert!(set.with_ordered_keys(vectors).unwrap() == set);
        let joined = KeySet::<MlDsa44>::from_public_keys(&keys[..1]).unwrap();
        assert!(joined.with_changes(&keys[1..], None).unwrap() == set);
        assert!(KeySet::from_public_keys(keys).unwrap() == set);
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
            let choices = Choices {
                storage,
                ..set.inner.choices.clone()
            };
            let mut members = set.inner.members.clone();
            members.extend(decode(&choices, n, &[&public(key)]).unwrap());
            let arenas = if n % 4 == 0 {
                // As many as make `settle` move everyone.
                let again = set.inner.arenas.iter().cycle();
                again.take(MAX_ARENAS).cloned().collect()
            } else {
                set.inner.arenas.clone()
            };
            set = KeySet::assemble(members, arenas, choices).unwrap();
            if n % 4 == 0 {
                assert_eq!(set.is_packed(), storage == KeyStorage::Packed, "{n}");
                assert_eq!(set.inner.arenas.len(), 1);
            }
            let verifier = BatchVerifier::builder().keys(set.clone()).build().unwrap();
            for (id, key) in (0..).zip(&keys[..=n]) {
                let signature = key
                    .sign(b"m", Context::EMPTY, Randomness::Deterministic)
                    .unwrap();
                let items = [
                    Item::new(id, b"m".as_slice(), signature.as_ref()),
                    Item::new(id, b"other".as_slice(), signature.as_ref()),
                ];
                assert_eq!(verifier.verify_each(&items), [true, false], "{n} {id}");
            }
        }
    }

    /// Reordered sets hold the arenas of the old one and no more.
    #[test]
    fn epochs_share_expansions() {
        let keys: Vec<Vec<u8>> = (0..10u8)
            .map(|n| {
                let key = SigningKey::<MlDsa44>::from_seed(&[n; 32]);
                key.verifying_key().as_bytes().to_vec()
            })
            .collect();
        let set = KeySet::<MlDsa44>::from_public_keys(keys[..8].iter().map(Vec::as_slice)).unwrap();
        let order: Vec<SignerId> = (0..8).rev().map(SignerId::new).collect();
        let reversed = set.reordered(&order).unwrap();
        assert_eq!(reversed.inner.arenas.len(), 1);
        assert!(Arc::ptr_eq(&reversed.inner.arenas[0], &set.inner.arenas[0]));
        let next = [8, 1, 0, 9, 5, 4, 3].map(|n: usize| keys[n].as_slice());
        let listed = reversed.with_ordered_keys(next).unwrap();
        assert!(Arc::ptr_eq(&listed.inner.arenas[0], &set.inner.arenas[0]));
        // Two new keys.
        assert_eq!(
            listed.inner.arenas[1].memory_bytes() * 4,
            set.inner.arenas[0].memory_bytes()
        );
    }
}
