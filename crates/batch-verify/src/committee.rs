//! Committees: the validators of an epoch, with everything that their votes are checked against.

mod arena;
mod builder;
mod cache;
mod keys;
mod storage;
mod threshold;

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

use mldsa_core::internals::{Shake256, framed_context};
use mldsa_core::{Backend, Context, ParameterSet, VerifyingKey};

pub use self::builder::CommitteeBuilder;
pub(crate) use self::cache::KeyCache;
pub use self::cache::KeyCacheStats;
pub(crate) use self::keys::{KeyTable, LaneKey};
pub use self::storage::KeyStorage;
pub use self::threshold::Threshold;
use crate::BuildError;

/// The validators of an epoch: public keys, weights, epoch number, quorum threshold and
/// context in one immutable value. Clones share it.
///
/// Members are named by [`MemberId`]s, which are bound to the committee: an id of another
/// epoch, chain or kind of message is never taken for a member of this one.
///
/// ```
/// use batch_verify::{Committee, Threshold, Vote};
/// use mldsa_core::{Context, MlDsa44, SigningKey};
///
/// let keys = [1, 2, 3].map(|seed| SigningKey::<MlDsa44>::from_seed(&[seed; 32]));
/// let public = |n: usize| keys[n].verifying_key();
/// let context = b"mychain/v1/vote";
/// let committee = Committee::<MlDsa44>::builder(context)
///     .epoch(7)
///     .threshold(Threshold::TWO_THIRDS)
///     .build([(public(0), 10), (public(1), 20)])?;
/// assert_eq!(committee.required_weight(), 21);
///
/// let signature = keys[1].sign_hedged(b"block 7", Context::new(context)?)?;
/// let member = committee.member(1).expect("two members");
/// committee.verify(&Vote::new(member, b"block 7", signature.as_ref()))?;
///
/// // The next epoch: the first member leaves, another joins, the second stays expanded.
/// let next = committee.successor(8, [(public(0), 0), (public(2), 5)])?;
/// assert_eq!((next.len(), next.total_weight()), (2, 25));
/// // Votes of the old epoch are checked by the old committee.
/// assert!(next.verify(&Vote::new(member, b"block 7", signature.as_ref())).is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Committee<P: ParameterSet>(Arc<Inner<P>>);

struct Inner<P: ParameterSet> {
    table: Arc<KeyTable<P>>,
    weights: Arc<[u64]>,
    total_weight: u128,
    epoch: u64,
    threshold: Threshold,
    /// Length, then at most 255 bytes.
    context: Box<[u8; 256]>,
    digest: [u8; 32],
}

/// A member of one committee: an index bound to the committee's digest.
///
/// Made by [`Committee::member`], [`member_of`](Committee::member_of) and
/// [`members`](Committee::members) only. On the wire, send epoch and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId {
    committee: [u8; 32],
    index: u32,
}

impl MemberId {
    /// Returns [`Committee::digest`] of the committee.
    pub const fn committee_digest(self) -> [u8; 32] {
        self.committee
    }

    /// Returns the position in the committee, from 0.
    pub const fn index(self) -> u32 {
        self.index
    }
}

/// Domain separation of [`Committee::digest`].
const DIGEST_DOMAIN: &[u8] = b"batch-verify/committee/v1";

impl<P: ParameterSet> Committee<P> {
    /// Returns the options of a committee whose members sign under `context` (at most 255 bytes).
    /// Name the chain and the kind of message in it: signatures under another context are invalid.
    pub fn builder(context: impl AsRef<[u8]>) -> CommitteeBuilder<Self> {
        CommitteeBuilder::new(P::SET, context.as_ref())
    }

    fn assemble(
        table: Arc<KeyTable<P>>,
        weights: Arc<[u64]>,
        epoch: u64,
        threshold: Threshold,
        context: &[u8],
    ) -> Result<Self, BuildError> {
        let mut frame = Box::new([0; 256]);
        frame[0] = u8::try_from(context.len()).map_err(|_| BuildError::ContextTooLong)?;
        frame[1..][..context.len()].copy_from_slice(context);
        if let Some(index) = weights.iter().position(|&weight| weight == 0) {
            return Err(BuildError::ZeroWeight { index });
        }
        if table.len() == 0 {
            return Err(BuildError::Empty);
        }
        let mut hash = Shake256::new(Backend::detect().permutation());
        let mut absorb = |bytes: &[u8]| hash.absorb(bytes);
        absorb(DIGEST_DOMAIN);
        absorb(P::NAME.as_bytes());
        absorb(&epoch.to_le_bytes());
        absorb(&threshold.to_bytes());
        absorb(&frame[..=context.len()]);
        absorb(&(table.len() as u64).to_le_bytes());
        for (index, weight) in (0..).zip(&*weights) {
            absorb(table.key(index).tr());
            absorb(&weight.to_le_bytes());
        }
        let mut digest = [0; 32];
        hash.finish();
        hash.squeeze(&mut digest);
        Ok(Self(Arc::new(Inner {
            table,
            total_weight: weights.iter().map(|&weight| u128::from(weight)).sum(),
            weights,
            epoch,
            threshold,
            context: frame,
            digest,
        })))
    }

    /// Returns the committee of the next epoch from changes of this one, as validator updates name
    /// them: a key with a weight joins or gets that weight, a key with weight 0 leaves.
    /// A change that is already in force changes nothing, so that a list may be applied again.
    /// Continuing members keep their order and their prepared keys, new ones are appended;
    /// nothing of members who left is kept.
    ///
    /// # Errors
    /// [`BuildError::Epoch`] unless `epoch` is later; [`BuildError::DuplicateKey`] for
    /// a key with two different weights (indices are those of the list); the errors of
    /// [`CommitteeBuilder::build`].
    pub fn successor<K: AsRef<[u8]>>(
        &self,
        epoch: u64,
        changes: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Self, BuildError> {
        let changes: Vec<(K, u64)> = changes.into_iter().collect();
        let inner = &*self.0;
        let mut weights = inner.weights.to_vec();
        let mut joining: Vec<(&[u8], u64)> = Vec::new();
        let mut seen = HashMap::new();
        for (index, (key, weight)) in changes.iter().enumerate() {
            let key = key.as_ref();
            if key.len() != P::PK_LEN {
                return Err(BuildError::KeyLength { index });
            }
            let first = *seen.entry(key).or_insert(index);
            if changes[first].1 != *weight {
                let second = index;
                return Err(BuildError::DuplicateKey { first, second });
            }
            match inner.table.index_of(key) {
                Some(member) => weights[member as usize] = *weight,
                None if *weight > 0 && first == index => joining.push((key, *weight)),
                None => {}
            }
        }
        let staying = (0..).zip(&weights).filter(|(_, weight)| **weight > 0);
        let members = staying.map(|(index, weight)| {
            let key: &[u8] = inner.table.key(index).as_bytes().as_ref();
            (key, *weight)
        });
        let members: Vec<(&[u8], u64)> = members.chain(joining).collect();
        self.successor_ordered(epoch, members)
    }

    /// Returns the committee of the next epoch from its whole list of members in its order, for
    /// engines that sort. Continuing members keep their prepared keys.
    ///
    /// # Errors
    /// [`BuildError::Epoch`] unless `epoch` is later; those of [`CommitteeBuilder::build`].
    pub fn successor_ordered<K: AsRef<[u8]>>(
        &self,
        epoch: u64,
        members: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Self, BuildError> {
        let inner = &*self.0;
        if epoch <= inner.epoch {
            return Err(BuildError::Epoch {
                current: inner.epoch,
            });
        }
        let (keys, weights): (Vec<K>, Vec<u64>) = members.into_iter().unzip();
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let table = Arc::new(inner.table.successor(&keys)?);
        Self::assemble(
            table,
            weights.into(),
            epoch,
            inner.threshold,
            self.context(),
        )
    }

    /// Returns the same members under another context: another kind of message, or another chain
    /// with the same validators. Shares the prepared keys; ids and digest differ.
    ///
    /// # Errors
    /// [`BuildError::ContextTooLong`] above 255 bytes.
    pub fn with_context(&self, context: impl AsRef<[u8]>) -> Result<Self, BuildError> {
        let inner = &*self.0;
        let (table, weights) = (inner.table.clone(), inner.weights.clone());
        Self::assemble(
            table,
            weights,
            inner.epoch,
            inner.threshold,
            context.as_ref(),
        )
    }

    /// Returns the member at `index`. Take the committee of the vote's epoch first: the same index
    /// is another member in another epoch.
    pub fn member(&self, index: u32) -> Option<MemberId> {
        let known = (index as usize) < self.len();
        known.then(|| self.id(index))
    }

    /// Returns the member with an encoded public key. Compares full keys.
    pub fn member_of(&self, public_key: impl AsRef<[u8]>) -> Option<MemberId> {
        let index = self.0.table.index_of(public_key.as_ref())?;
        Some(self.id(index))
    }

    /// Returns all members, by index.
    pub fn members(&self) -> impl ExactSizeIterator<Item = MemberId> + '_ {
        (0..self.len()).map(|index| self.id(index as u32))
    }

    /// Returns whether `member` is an id of this committee.
    #[must_use]
    pub fn contains(&self, member: MemberId) -> bool {
        self.0.digest == member.committee && (member.index as usize) < self.len()
    }

    /// Returns the public key of a member; `None` for an id of another committee.
    pub fn key(&self, member: MemberId) -> Option<&VerifyingKey<P>> {
        self.contains(member)
            .then(|| self.0.table.key(member.index))
    }

    /// Returns the weight of a member; `None` for an id of another committee.
    pub fn weight(&self, member: MemberId) -> Option<u64> {
        self.contains(member)
            .then(|| self.0.weights[member.index as usize])
    }

    /// Returns the number of members, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.0.weights.len()
    }

    /// Returns the epoch number.
    pub fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// Returns the context of all signatures.
    pub fn context(&self) -> &[u8] {
        self.core_context().as_bytes()
    }

    /// Returns the length of the context in one byte, then the context.
    pub(crate) fn framed_context(&self) -> &[u8] {
        &self.0.context[..=usize::from(self.0.context[0])]
    }

    /// Returns the threshold of quorums.
    pub fn threshold(&self) -> Threshold {
        self.0.threshold
    }

    /// Returns the sum of all weights, at most 2^31 times 2^64.
    pub fn total_weight(&self) -> u128 {
        self.0.total_weight
    }

    /// Returns the least weight of a quorum: between 1 and the total weight.
    pub fn required_weight(&self) -> u128 {
        self.threshold().required_weight(self.total_weight())
    }

    /// Returns the SHAKE256 hash of everything that defines the committee: parameter set, epoch,
    /// threshold, context, keys and weights in order.
    pub fn digest(&self) -> [u8; 32] {
        self.0.digest
    }

    /// Returns the bytes of keys, prepared keys and tables. What committees share counts in each.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Inner<P>>() + size_of_val(&*self.0.weights) + self.0.table.memory_bytes()
    }

    pub(crate) fn table(&self) -> &KeyTable<P> {
        &self.0.table
    }

    /// Returns the weights in the order of the members' indices.
    pub(crate) fn weights(&self) -> &[u64] {
        &self.0.weights
    }

    pub(crate) fn core_context(&self) -> Context<'_> {
        framed_context(&self.0.context)
    }

    fn id(&self, index: u32) -> MemberId {
        MemberId {
            committee: self.0.digest,
            index,
        }
    }
}

impl<P: ParameterSet> Clone for Committee<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: ParameterSet> PartialEq for Committee<P> {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

impl<P: ParameterSet> Eq for Committee<P> {}

impl<P: ParameterSet> fmt::Debug for Committee<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committee")
            .field("set", &P::NAME)
            .field("epoch", &self.0.epoch)
            .field("members", &self.len())
            .field("total_weight", &self.0.total_weight)
            .field("threshold", &self.0.threshold)
            .finish_non_exhaustive()
    }
}
