//! Agreement on the list of roots: from here on, and not before, openings,
//! commitments and responses leave a member, and aggregates are believed.

use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{Context, MlDsa87, ParameterSet, Randomness, Signature};

use crate::epoch::merkle::{Hash, leaf, leaves, verify_path};
use crate::epoch::message::{Message, Part, Subject};
use crate::epoch::pinned::PinnedRoots;
use crate::epoch::plan::EpochPlan;
use crate::epoch::policy::two_thirds;
use crate::epoch::registry::Registry;
use crate::epoch::tree::{EpochTree, Opening, leaf_parts};
use crate::error::Error;
use crate::guard::journal::Guard;
use crate::keys::content_key::ContentPublicKey;
use crate::keys::member::Member;
use crate::keys::scope::EpochLabel;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, hash_lp, lp};
use crate::wire::label::ContentLabel;

/// A member's word that it holds this list of roots, and will hold no other for the
/// epoch: its guard sees to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    id: MemberId,
    epoch: u64,
    digest: Hash,
    signature: Signature<MlDsa87>,
}

const ACKNOWLEDGEMENT: &[u8; 8] = b"MLADSAA1";

impl Acknowledgement {
    /// Who acknowledges.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The digest of the list.
    pub fn digest(&self) -> &Hash {
        &self.digest
    }

    /// Whether its member acknowledges this list.
    ///
    /// # Errors
    /// [`Error::UnknownMember`], [`Error::BadMessage`]; [`Error::RootsNotAgreed`]
    /// for another list or epoch.
    pub fn verify(&self, pinned: &PinnedRoots) -> Result<(), Error> {
        let key = pinned.registry().key(&self.id)?;
        if (self.epoch, &self.digest) != (pinned.plan().epoch(), pinned.digest()) {
            return Err(Error::RootsNotAgreed);
        }
        let message = message(self.epoch, &self.digest);
        key.verify(&message, context()?, self.signature.as_ref())
            .map_err(|_| Error::BadMessage)
    }

    /// `"MLADSAA1" || lp(id) || BE64(epoch) || digest || signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ACKNOWLEDGEMENT.to_vec();
        out.extend(lp(&[self.id.as_bytes()]));
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(self.signature.as_bytes());
        out
    }

    /// Reads what [`Self::to_bytes`] wrote. The signature is checked by
    /// [`Self::verify`].
    ///
    /// # Errors
    /// [`Error::BadLength`]; [`Error::BadMessage`] for a malformed signature.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, ACKNOWLEDGEMENT)?;
        let id = MemberId::new(reader.part()?)?;
        let epoch = u64::from_be_bytes(reader.array()?);
        let digest = reader.array()?;
        let signature = reader.take(MlDsa87::SIG_LEN)?;
        let signature = Signature::from_bytes(signature).map_err(|_| Error::BadMessage)?;
        reader.end()?;
        Ok(Self {
            id,
            epoch,
            digest,
            signature,
        })
    }
}

fn message(epoch: u64, digest: &Hash) -> [u8; 64] {
    hash_lp(&[], &[b"F.roots", &epoch.to_be_bytes(), digest])
}

fn context() -> Result<Context<'static>, Error> {
    Context::new(b"F.roots").map_err(|_| Error::BadLength)
}

/// A list of roots that more than two thirds of the registry have acknowledged, and
/// who has. Any two such lists of an epoch have more than a third of the members in
/// common: while that includes an honest one, whose guard acknowledges one list
/// only, there are no two.
#[derive(Clone)]
pub struct AgreedRoots {
    pinned: PinnedRoots,
    // by position in the registry
    acknowledged: Vec<bool>,
}

impl AgreedRoots {
    /// Counts the acknowledgements of the pinned list. Those of others, or with bad
    /// signatures, do not count and do no harm.
    ///
    /// # Errors
    /// [`Error::RootsNotAgreed`] unless more than two thirds of the registry
    /// acknowledge the list.
    pub fn new<'a>(
        pinned: &PinnedRoots,
        acknowledgements: impl IntoIterator<Item = &'a Acknowledgement>,
    ) -> Result<Self, Error> {
        let registry = pinned.registry();
        let mut acknowledged = alloc::vec![false; registry.len()];
        for acknowledgement in acknowledgements {
            let at = registry.position(acknowledgement.id());
            let slot = at.ok().and_then(|at| acknowledged.get_mut(at));
            if let Some(slot) = slot
                && !*slot
            {
                *slot = acknowledgement.verify(pinned).is_ok();
            }
        }
        let count = acknowledged.iter().filter(|known| **known).count();
        if count < two_thirds(registry.len()) {
            return Err(Error::RootsNotAgreed);
        }
        Ok(Self {
            pinned: pinned.clone(),
            acknowledged,
        })
    }

    /// The list.
    pub fn pinned(&self) -> &PinnedRoots {
        &self.pinned
    }

    /// The digest of the list.
    pub fn digest(&self) -> &Hash {
        self.pinned.digest()
    }

    /// The plan.
    pub fn plan(&self) -> &EpochPlan {
        self.pinned.plan()
    }

    /// The registry.
    pub fn registry(&self) -> &alloc::sync::Arc<Registry> {
        self.pinned.registry()
    }

    /// The members that can take part: with a root on the list, which they have
    /// acknowledged.
    pub fn ids(&self) -> impl Iterator<Item = &MemberId> {
        let ids = self.registry().ids();
        ids.filter(|id| self.root(id).is_ok())
    }

    /// The agreed root of a member that has acknowledged the list.
    ///
    /// # Errors
    /// [`Error::UnknownMember`]; [`Error::RootNotPinned`] if it announced none,
    /// [`Error::RootsNotAgreed`] if it has not acknowledged the list.
    pub fn root(&self, id: &MemberId) -> Result<&Hash, Error> {
        let root = self.pinned.root(id)?;
        let at = self.registry().position(id)?;
        match self.acknowledged.get(at) {
            Some(true) => Ok(root),
            _ => Err(Error::RootsNotAgreed),
        }
    }

    /// Reads a message of a member and checks its signature, and that it is of this
    /// epoch and under this list.
    ///
    /// # Errors
    /// [`Error::BadLength`], [`Error::UnknownMember`], [`Error::BadMessage`];
    /// [`Error::OtherRound`] for another epoch or list.
    pub fn receive(&self, bytes: &[u8]) -> Result<Message, Error> {
        let message = Message::receive(bytes, self.registry())?;
        let subject = message.subject();
        (*subject == self.subject(&subject.label))
            .then_some(message)
            .ok_or(Error::OtherRound)
    }

    pub(crate) fn subject(&self, label: &ContentLabel) -> Subject {
        Subject {
            epoch: self.plan().epoch(),
            roots: *self.digest(),
            label: label.clone(),
        }
    }

    fn label(&self, label: &ContentLabel) -> EpochLabel {
        let scope = self.registry().scope(self.plan().epoch());
        scope.label(label.as_bytes())
    }

    /// Accepts a content key if its opening leads to the agreed root at the place of
    /// its label.
    ///
    /// # Errors
    /// [`Error::BadPath`], [`Error::OtherRound`] for another part, those of
    /// [`Self::root`], [`Opening::from_bytes`] and [`EpochPlan::index`].
    pub fn authenticate(&self, message: &Message) -> Result<AuthenticatedKey, Error> {
        let opening = self.opening(message)?;
        let label = self.label(message.label());
        let leaf = leaf(&leaf_parts(message.id(), &label, &opening.public_key));
        self.accept(message, opening, leaf)
    }

    /// [`Self::authenticate`] for many members at once: their leaves are hashed in
    /// lanes. The results are in the order of the messages.
    pub fn authenticate_each(&self, messages: &[Message]) -> Vec<Result<AuthenticatedKey, Error>> {
        let openings: Vec<_> = messages
            .iter()
            .map(|message| Ok((self.label(message.label()), self.opening(message)?)))
            .collect();
        let parts: Vec<_> = messages
            .iter()
            .zip(&openings)
            .filter_map(|(message, opening)| {
                let (label, opening) = opening.as_ref().ok()?;
                Some(leaf_parts(message.id(), label, &opening.public_key))
            })
            .collect();
        let mut leaves = leaves(&parts).into_iter();
        let results = messages.iter().zip(openings);
        results
            .map(|(message, opening)| {
                let (_, opening) = opening?;
                let leaf = leaves.next().ok_or(Error::BadPath)?;
                self.accept(message, opening, leaf)
            })
            .collect()
    }

    fn opening(&self, message: &Message) -> Result<Opening, Error> {
        if message.part() != Part::Opening || *message.subject() != self.subject(message.label()) {
            return Err(Error::OtherRound);
        }
        Opening::from_bytes(message.body())
    }

    fn accept(
        &self,
        message: &Message,
        opening: Opening,
        leaf: Hash,
    ) -> Result<AuthenticatedKey, Error> {
        let (id, plan) = (message.id(), self.plan());
        let root = self.root(id)?;
        if opening.index != plan.index(message.label())?
            || !verify_path(&leaf, opening.index, &opening.path, plan.depth(), root)
        {
            return Err(Error::BadPath);
        }
        Ok(AuthenticatedKey {
            id: *id,
            label: message.label().clone(),
            leaf,
            public_key: opening.public_key,
            source: *self.digest(),
        })
    }
}

impl fmt::Debug for AgreedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgreedRoots(epoch {})", self.plan().epoch())
    }
}

impl Member {
    /// Acknowledges a list of roots, after its digest was compared with whatever the
    /// application has to compare it with. The guard holds the seed to this list for
    /// the epoch.
    ///
    /// # Errors
    /// [`Error::UnknownMember`]; [`Error::EpochConflict`] if the seed serves another
    /// plan or has acknowledged another list, [`Error::GuardFailure`],
    /// [`Error::Fault`].
    pub fn acknowledge(
        &self,
        pinned: &PinnedRoots,
        guard: &mut Guard,
        hedge: Randomness<'_>,
    ) -> Result<Acknowledgement, Error> {
        let (registry, plan) = (pinned.registry(), pinned.plan());
        registry.position(&self.id)?;
        if guard.fingerprint() != self.seed.fingerprint() {
            return Err(Error::GuardFailure);
        }
        let (epoch, digest) = (plan.epoch(), pinned.digest());
        guard.agree(epoch, &plan.binding(registry), digest)?;
        Ok(Acknowledgement {
            id: self.id,
            epoch,
            digest: *digest,
            signature: self.sign(b"F.roots", &message(epoch, digest), hedge)?,
        })
    }

    /// Opens the key of `label`, once the list of all roots is agreed on.
    ///
    /// # Errors
    /// [`Error::RootNotPinned`] if the list has another root for this member, or
    /// none, or belongs to another plan; [`Error::RootsNotAgreed`] if this member's
    /// guard does not hold the seed to this list, [`Error::BadPath`] for a tree that
    /// is not this seed's, [`Error::GuardFailure`], those of [`EpochPlan::index`].
    pub fn open(
        &self,
        agreed: &AgreedRoots,
        tree: &EpochTree,
        label: &ContentLabel,
        guard: &Guard,
    ) -> Result<Message, Error> {
        if agreed.root(&self.id)? != tree.root()
            || *agreed.plan() != tree.plan
            || agreed.registry().root() != tree.registry.root()
            || tree.id != self.id
        {
            return Err(Error::RootNotPinned);
        }
        if guard.fingerprint() != self.seed.fingerprint() {
            return Err(Error::GuardFailure);
        }
        guard.has_agreed(agreed.plan().epoch(), agreed.digest())?;
        let opening = self.opening(tree, label)?;
        let subject = agreed.subject(label);
        self.seal(Part::Opening, subject, &[0; 64], opening.to_bytes())
    }
}

/// A content key that is known to be its member's: made by
/// [`AgreedRoots::authenticate`] only. Cheap to clone, to be kept by who verifies
/// more than once.
#[derive(Clone, Debug)]
pub struct AuthenticatedKey {
    pub(crate) id: MemberId,
    pub(crate) label: ContentLabel,
    pub(crate) leaf: Hash,
    pub(crate) public_key: ContentPublicKey,
    // what vouches for it
    pub(crate) source: Hash,
}

impl AuthenticatedKey {
    /// Whose key.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// What for.
    pub fn label(&self) -> &ContentLabel {
        &self.label
    }

    /// The key.
    pub fn public_key(&self) -> &ContentPublicKey {
        &self.public_key
    }
}
