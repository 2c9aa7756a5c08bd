//! Epochs: which labels may be used, the tree of content keys over them, and
//! the pinned list of roots that must exist before anything is opened.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{Context, Hedge, MlDsa87, ParameterSet, Signature};

use crate::content_key::{ContentKey, SHARE_LEN, Share, derive_each};
use crate::encoding::{Reader, hash_lp, lp};
use crate::error::Error;
use crate::label::{BaseLabel, ContentLabel, MAX_ATTEMPTS, MemberId};
use crate::matrix::Matrix;
use crate::merkle::{Hash, LeafParts, depth, leaf, leaves, path, root, verify_path};
use crate::registry::{Member, Registry};
use crate::seed::GROUP;

/// Attempts that a plan foresees for each content unless told otherwise.
pub const DEFAULT_ATTEMPTS: u8 = 4;
/// Leaves of one epoch tree.
pub const MAX_LEAVES: usize = 1 << 20;

/// The contents of one epoch, the same for all members: base labels in order,
/// each with the same number of attempts. Every label has one place in the tree,
/// so that a member cannot hold two keys for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochPlan {
    epoch: u64,
    attempts: u8,
    contents: Vec<BaseLabel>,
    // label and position, by label
    sorted: Vec<(BaseLabel, u32)>,
}

impl EpochPlan {
    /// A plan with [`DEFAULT_ATTEMPTS`].
    ///
    /// # Errors
    /// As [`Self::with_attempts`].
    pub fn new(epoch: u64, contents: Vec<BaseLabel>) -> Result<Self, Error> {
        Self::with_attempts(epoch, contents, DEFAULT_ATTEMPTS)
    }

    /// A plan with `attempts` keys for each content.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`] without contents, [`Error::DuplicateId`] for a
    /// repeated one, [`Error::OutOfRange`] for no attempts, more than 64, or more
    /// than [`MAX_LEAVES`] leaves.
    pub fn with_attempts(
        epoch: u64,
        contents: Vec<BaseLabel>,
        attempts: u8,
    ) -> Result<Self, Error> {
        if contents.is_empty() {
            return Err(Error::EmptyCohort);
        }
        if !(1..=MAX_ATTEMPTS).contains(&attempts)
            || contents.len() > MAX_LEAVES / usize::from(attempts)
        {
            return Err(Error::OutOfRange);
        }
        let mut sorted: Vec<_> = contents.iter().cloned().zip(0..).collect();
        sorted.sort();
        if sorted.array_windows().any(|[a, b]| a.0 == b.0) {
            return Err(Error::DuplicateId);
        }
        Ok(Self {
            epoch,
            attempts,
            contents,
            sorted,
        })
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Levels of every tree of this epoch.
    pub fn depth(&self) -> usize {
        depth(self.contents.len() * usize::from(self.attempts))
    }

    /// Bytes of an opening in this epoch: 6,144 + 4 + 32 for each level.
    pub fn opening_len(&self) -> usize {
        SHARE_LEN + 4 + 32 * self.depth()
    }

    /// The place of a label in every tree.
    ///
    /// # Errors
    /// [`Error::UnknownLabel`]; [`Error::AttemptsExhausted`] for an attempt that
    /// the plan does not foresee.
    pub fn index(&self, label: &ContentLabel) -> Result<u32, Error> {
        let at = self
            .sorted
            .binary_search_by(|(base, _)| base.as_bytes().cmp(label.base()))
            .map_err(|_| Error::UnknownLabel)?;
        if label.attempt() >= self.attempts {
            return Err(Error::AttemptsExhausted);
        }
        let (_, content) = self.sorted.get(at).ok_or(Error::UnknownLabel)?;
        Ok(content * u32::from(self.attempts) + u32::from(label.attempt()))
    }

    /// All labels in tree order.
    fn labels(&self) -> impl Iterator<Item = ContentLabel> {
        self.contents
            .iter()
            .flat_map(|base| (0..self.attempts).filter_map(|attempt| base.attempt(attempt).ok()))
    }

    fn digest(&self) -> Hash {
        let parts: Vec<&[u8]> = self.contents.iter().map(BaseLabel::as_bytes).collect();
        let contents: Hash = hash_lp(&[], &parts);
        hash_lp(
            b"MLADSA plan",
            &[&self.epoch.to_be_bytes(), &[self.attempts], &contents],
        )
    }
}

/// A member's tree over the keys of an epoch: the leaves, 32 bytes each.
#[derive(Clone, Debug)]
pub struct EpochTree {
    id: MemberId,
    plan: EpochPlan,
    leaves: Vec<Hash>,
    root: Hash,
}

impl EpochTree {
    /// The root.
    pub fn root(&self) -> &Hash {
        &self.root
    }
}

impl Member {
    /// Derives the public half of every content key of the plan.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`] cannot occur for a plan that was made.
    pub fn epoch_tree(&self, matrix: &Matrix, plan: &EpochPlan) -> Result<EpochTree, Error> {
        let mut tree = Vec::new();
        let mut labels = plan.labels();
        loop {
            let labels: Vec<ContentLabel> = labels.by_ref().take(GROUP).collect();
            if labels.is_empty() {
                break;
            }
            let keys: Vec<_> = labels
                .iter()
                .map(|label| (&self.seed, label.as_bytes()))
                .collect();
            let mut shares = Vec::with_capacity(GROUP);
            derive_each(matrix, &keys, |_, share| shares.push(share));
            let parts: Vec<_> = labels
                .iter()
                .zip(&shares)
                .map(|(label, share)| leaf_parts(&self.id, label, share))
                .collect();
            tree.extend(leaves(&parts));
        }
        Ok(EpochTree {
            id: self.id,
            plan: plan.clone(),
            root: root(&tree)?,
            leaves: tree,
        })
    }

    /// Signs the root of a tree: what is published before anything is opened.
    ///
    /// # Errors
    /// [`Error::CohortMismatch`] for another member's tree, [`Error::Fault`].
    pub fn announce(&self, tree: &EpochTree, hedge: Hedge<'_>) -> Result<RootAnnouncement, Error> {
        if tree.id != self.id {
            return Err(Error::CohortMismatch);
        }
        let message = root_message(tree.plan.epoch, &tree.root);
        Ok(RootAnnouncement {
            id: self.id,
            epoch: tree.plan.epoch,
            root: tree.root,
            signature: self.sign(b"F.kt", &message, hedge)?,
        })
    }

    /// Opens the key of `label`, once the list of all roots is pinned.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if the pinned list has another root for this
    /// member, or none, or belongs to another plan; those of
    /// [`EpochPlan::index`].
    pub fn open(
        &self,
        pinned: &PinnedRoots,
        tree: &EpochTree,
        label: &ContentLabel,
    ) -> Result<Opening, Error> {
        if pinned.root(&self.id)? != &tree.root || pinned.plan != tree.plan || tree.id != self.id {
            return Err(Error::RootNotPinned);
        }
        let index = tree.plan.index(label)?;
        let matrix = pinned.registry.matrix();
        Ok(Opening {
            share: ContentKey::derive(matrix, &self.seed, label.as_bytes()).share,
            index,
            path: path(&tree.leaves, index as usize)?,
        })
    }
}

fn root_message(epoch: u64, root: &Hash) -> [u8; 64] {
    hash_lp(&[], &[b"F.kt", &epoch.to_be_bytes(), root])
}

/// A member's signed root for an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootAnnouncement {
    id: MemberId,
    epoch: u64,
    root: Hash,
    signature: Signature<MlDsa87>,
}

const ANNOUNCEMENT: &[u8; 8] = b"MLADSAT1";

impl RootAnnouncement {
    /// Who announces.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The announced root.
    pub fn root(&self) -> &Hash {
        &self.root
    }

    /// `"MLADSAT1" || lp(id) || BE64(epoch) || root || signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ANNOUNCEMENT.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.root);
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote. The signature is checked by
    /// [`PinnedRoots::pin`].
    ///
    /// # Errors
    /// [`Error::BadLength`]; [`Error::BadTreeSignature`] for a malformed
    /// signature.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, ANNOUNCEMENT)?;
        let id = MemberId::new(reader.part()?)?;
        let epoch = u64::from_be_bytes(reader.array()?);
        let root = reader.array()?;
        let signature = reader.take(MlDsa87::SIG_LEN)?;
        let signature = Signature::from_bytes(signature).map_err(|_| Error::BadTreeSignature)?;
        reader.end()?;
        Ok(Self {
            id,
            epoch,
            root,
            signature,
        })
    }
}

/// Where pinned lists are kept: one list per epoch, for ever.
pub trait RootStore {
    /// Stores `list` for `epoch` durably, or compares it with what is stored.
    /// Implementations flush before they return and never replace a list.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if another list is stored,
    /// [`Error::GuardFailure`] if the store cannot be used.
    fn pin(&mut self, epoch: u64, list: &[u8]) -> Result<(), Error>;
}

/// The agreed roots of an epoch. Holding one means that every signature was
/// checked and the list was pinned: from here on, and not before, openings,
/// commitments and responses may leave a member.
#[derive(Clone)]
pub struct PinnedRoots {
    registry: Arc<Registry>,
    plan: EpochPlan,
    // by position in the registry
    roots: Vec<Option<Hash>>,
    digest: Hash,
}

impl PinnedRoots {
    /// Checks the announcements and pins them as the complete list of the epoch:
    /// members without one take no part in it. All members have to pin the same
    /// list; [`Self::digest`] is what they compare.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`], [`Error::UnknownMember`], [`Error::DuplicateId`],
    /// [`Error::OutOfRange`] for another epoch, [`Error::BadTreeSignature`], and
    /// those of the store.
    pub fn pin<S: RootStore + ?Sized>(
        store: &mut S,
        registry: &Arc<Registry>,
        plan: &EpochPlan,
        announcements: &[RootAnnouncement],
    ) -> Result<Self, Error> {
        if announcements.is_empty() {
            return Err(Error::EmptyCohort);
        }
        let ctx = Context::new(b"F.kt").map_err(|_| Error::BadLength)?;
        let mut roots = alloc::vec![None; registry.len()];
        for announcement in announcements {
            let key = registry.key(&announcement.id)?;
            let slot = roots
                .get_mut(registry.position(&announcement.id)?)
                .ok_or(Error::UnknownMember)?;
            if slot.is_some() {
                return Err(Error::DuplicateId);
            }
            if announcement.epoch != plan.epoch {
                return Err(Error::OutOfRange);
            }
            let message = root_message(plan.epoch, &announcement.root);
            key.verify(&message, ctx, announcement.signature.as_ref())
                .map_err(|_| Error::BadTreeSignature)?;
            *slot = Some(announcement.root);
        }
        let mut list = Vec::new();
        for (id, root) in registry.ids().zip(&roots) {
            if let Some(root) = root {
                list.extend(lp(&[id.as_bytes(), root]));
            }
        }
        let list = lp(&[
            registry.matrix().rho(),
            registry.root(),
            &plan.digest(),
            &list,
        ]);
        store.pin(plan.epoch, &list)?;
        Ok(Self {
            registry: Arc::clone(registry),
            plan: plan.clone(),
            roots,
            digest: hash_lp(b"MLADSA roots", &[&list]),
        })
    }

    /// A digest of registry, plan and list, for members to compare.
    pub fn digest(&self) -> &Hash {
        &self.digest
    }

    /// The plan.
    pub fn plan(&self) -> &EpochPlan {
        &self.plan
    }

    /// The registry.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The pinned root of a member.
    ///
    /// # Errors
    /// [`Error::UnknownMember`]; [`Error::RootNotPinned`] if it announced none.
    pub fn root(&self, id: &MemberId) -> Result<&Hash, Error> {
        self.roots
            .get(self.registry.position(id)?)
            .and_then(Option::as_ref)
            .ok_or(Error::RootNotPinned)
    }

    /// Accepts a content key if its opening leads to the pinned root at the place
    /// of its label.
    ///
    /// # Errors
    /// [`Error::BadPath`], those of [`Self::root`] and [`EpochPlan::index`].
    pub fn authenticate(
        &self,
        id: &MemberId,
        label: &ContentLabel,
        opening: &Opening,
    ) -> Result<AuthenticatedShare, Error> {
        let leaf = leaf(&leaf_parts(id, label, &opening.share));
        self.accept(id, label, opening, leaf)
    }

    /// [`Self::authenticate`] for many members at once: their leaves are hashed in
    /// lanes. The results are in the order of the openings.
    pub fn authenticate_each(
        &self,
        label: &ContentLabel,
        openings: &[(MemberId, Opening)],
    ) -> Vec<Result<AuthenticatedShare, Error>> {
        let parts: Vec<_> = openings
            .iter()
            .map(|(id, opening)| leaf_parts(id, label, &opening.share))
            .collect();
        openings
            .iter()
            .zip(leaves(&parts))
            .map(|((id, opening), leaf)| self.accept(id, label, opening, leaf))
            .collect()
    }

    fn accept(
        &self,
        id: &MemberId,
        label: &ContentLabel,
        opening: &Opening,
        leaf: Hash,
    ) -> Result<AuthenticatedShare, Error> {
        let root = self.root(id)?;
        if opening.index != self.plan.index(label)?
            || !verify_path(&leaf, opening.index, &opening.path, self.plan.depth(), root)
        {
            return Err(Error::BadPath);
        }
        Ok(AuthenticatedShare {
            id: *id,
            label: label.clone(),
            leaf,
            share: opening.share.clone(),
            source: self.digest,
        })
    }
}

impl fmt::Debug for PinnedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedRoots(epoch {})", self.plan.epoch)
    }
}

/// What `KtLeaf(id, C, t)` is made of.
pub(crate) fn leaf_parts<'a>(
    id: &'a MemberId,
    label: &'a ContentLabel,
    share: &'a Share,
) -> LeafParts<'a, 2> {
    ([id.as_bytes(), label.as_bytes()], share.as_bytes())
}

/// A content key's public half with its path: 6,144 + 4 bytes and 32 for each
/// level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    share: Share,
    index: u32,
    path: Vec<Hash>,
}

impl Opening {
    /// The opened key.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// `t || BE32(index) || path`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.share.as_bytes().to_vec();
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(self.path.as_flattened());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::BadLength`], also for more than 20 levels; [`Error::OutOfRange`]
    /// for a coefficient of q or more.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (share, rest) = bytes.split_at_checked(SHARE_LEN).ok_or(Error::BadLength)?;
        let (index, path) = rest.split_first_chunk().ok_or(Error::BadLength)?;
        match path.as_chunks::<32>() {
            (path, []) if path.len() <= depth(MAX_LEAVES) => Ok(Self {
                share: Share::from_bytes(share)?,
                index: u32::from_be_bytes(*index),
                path: path.to_vec(),
            }),
            _ => Err(Error::BadLength),
        }
    }
}

/// A content key that is known to be its member's: made by
/// [`PinnedRoots::authenticate`] only. Cheap to clone, to be kept by who verifies
/// more than once.
#[derive(Clone, Debug)]
pub struct AuthenticatedShare {
    pub(crate) id: MemberId,
    pub(crate) label: ContentLabel,
    pub(crate) leaf: Hash,
    pub(crate) share: Share,
    // what vouches for it
    pub(crate) source: Hash,
}

impl AuthenticatedShare {
    /// Whose key.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// What for.
    pub fn label(&self) -> &ContentLabel {
        &self.label
    }

    /// The key.
    pub fn share(&self) -> &Share {
        &self.share
    }
}
