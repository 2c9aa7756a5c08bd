//! Secrets of a member in one epoch, and signatures made with its registration key.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{
    Context, MlDsa87, PreparedSigningKey, PreparedVerifyingKey, Randomness, Signature, SigningKey,
    VerifyingKey,
};

use crate::committee::epoch::{AttemptId, Epoch};
use crate::committee::merkle::{Levels, Node, leaf, leaves};
use crate::committee::tree::{Opening, leaf_parts};
use crate::error::CommitteeError;
use crate::keys::label::Label;
use crate::keys::one_time_key::{OneTimePublicKey, derive_each};
use crate::keys::seed::{KEYS_TOGETHER, MasterSeed};
use crate::member_id::MemberName;

/// A member in one epoch: its name, its master seed, and what is derived from the seed for the
/// epoch, which is the registration key (144 KiB on the heap, expanded for signing and for the
/// check of each signature) and the tree over the one-time keys (64 bytes for each key).
pub struct Member {
    pub(crate) id: MemberName,
    pub(crate) seed: MasterSeed,
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) registration_key: PreparedSigningKey<MlDsa87>,
    own_key: PreparedVerifyingKey<MlDsa87>,
    tree: Levels,
}

impl Member {
    /// Derives the registration key and the public half of every one-time key of the epoch. The
    /// time is proportional to the number of keys, about 30 us for each.
    ///
    /// # Errors
    /// None for an epoch, which has a slot.
    pub fn new(
        id: MemberName,
        seed: MasterSeed,
        epoch: &Arc<Epoch>,
    ) -> Result<Self, CommitteeError> {
        let tree = epoch_tree(&id, &seed, epoch);
        let key = SigningKey::from_seed(
            seed.registration_seed(epoch.domain(), epoch.number())
                .expose(),
        );
        Ok(Self {
            id,
            seed,
            epoch: Arc::clone(epoch),
            registration_key: key.prepare(),
            own_key: key.verifying_key().prepare(),
            tree: tree.ok_or(CommitteeError::UnknownSlot)?,
        })
    }

    /// Returns the name.
    pub fn id(&self) -> &MemberName {
        &self.id
    }

    /// Returns the master seed.
    pub fn seed(&self) -> &MasterSeed {
        &self.seed
    }

    pub(crate) fn root(&self) -> &Node {
        self.tree.root()
    }

    /// Returns the opening of the key of `attempt`. `None` is a fault.
    pub(crate) fn opening(&self, attempt: AttemptId) -> Result<Option<Opening>, CommitteeError> {
        let index = self.epoch.index(attempt)?;
        let label = self.epoch.label(attempt);
        let public_key = OneTimePublicKey::derive(&self.epoch.matrix, &self.seed, &label);
        let own = leaf(&leaf_parts(&self.id, &label, &public_key));
        let path = self.tree.path(index as usize);
        let is_own = self.tree.leaf(index) == Some(&own);
        Ok(path.filter(|_| is_own).map(|path| Opening {
            public_key,
            index,
            path,
        }))
    }

    /// Signs a digest under the context `tag`. `None` is a fault.
    pub(crate) fn sign(
        &self,
        tag: &'static [u8],
        digest: &[u8; 64],
        hedge: Randomness<'_>,
    ) -> Option<Signature<MlDsa87>> {
        let ctx = Context::new(tag).ok()?;
        self.registration_key
            .sign_with_context(digest, ctx, hedge)
            .ok()
    }

    /// Signs as [`Self::sign`] does, without randomness. The signature is verified: a fault in a
    /// deterministic signature would reveal the key.
    pub(crate) fn sign_verified(
        &self,
        tag: &'static [u8],
        digest: &[u8; 64],
    ) -> Option<Signature<MlDsa87>> {
        let signature = self.sign(tag, digest, Randomness::Deterministic)?;
        let verdict =
            self.own_key
                .verify_with_context(digest, Context::new(tag).ok()?, signature.as_ref());
        verdict.is_ok().then_some(signature)
    }
}

fn epoch_tree(id: &MemberName, seed: &MasterSeed, epoch: &Epoch) -> Option<Levels> {
    let mut tree = Vec::new();
    let labels: Vec<Label> = epoch.attempt_ids().map(|id| epoch.label(id)).collect();
    for labels in labels.chunks(KEYS_TOGETHER) {
        let keys: Vec<_> = labels.iter().map(|label| (seed, label)).collect();
        let mut public_keys = Vec::with_capacity(KEYS_TOGETHER);
        derive_each(&epoch.matrix, &keys, |_, public_key| {
            public_keys.push(public_key);
        });
        let parts: Vec<_> = labels
            .iter()
            .zip(&public_keys)
            .map(|(label, public_key)| leaf_parts(id, label, public_key))
            .collect();
        tree.extend(leaves(&parts));
    }
    Levels::new(&tree)
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({}, ..)", self.id)
    }
}

/// Returns whether `signature` is one of [`Member::sign`].
pub(crate) fn is_signed(
    key: &VerifyingKey<MlDsa87>,
    tag: &'static [u8],
    digest: &[u8; 64],
    signature: &[u8],
) -> bool {
    Context::new(tag).is_ok_and(|ctx| key.verify_with_context(digest, ctx, signature).is_ok())
}
