//! What a verifier needs of a committee: its identity, and the members that it has seen.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::committee::epoch::Epoch;
use crate::committee::merkle::{LeafParts, Node, depth, leaf, verify_path};
use crate::error::{CommitteeError, EncodingError};
use crate::member_id::MemberName;
use crate::wire::framing::{Reader, hash_lp, lp};

/// A committee as a light client knows it: the parameters under its identity, and the members whose
/// Merkle openings it has received. A [`SigningCommittee`](crate::SigningCommittee) has one with all members.
///
/// **Trust.** The identity comes from the caller, who is sure of three things: the ledger has
/// finalised this committee, it is the only one of its domain and epoch, and it was final before a
/// member opened a one-time key of the epoch. Everything else follows from the identity.
#[derive(Clone)]
pub struct CommitteeView {
    epoch: Arc<Epoch>,
    threshold: u64,
    size: u32,
    member_root: Node,
    identity: Node,
    // by position
    members: Vec<Option<MemberEntry>>,
}

/// A member as the leaf of the committee's tree names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberEntry {
    pub(crate) id: MemberName,
    pub(crate) weight: u64,
    pub(crate) root: Node,
    pub(crate) key_digest: Node,
}

impl MemberEntry {
    /// Computes `Leaf(lp(id, BE64(weight), root, digest of the registration key))`.
    pub(crate) fn leaf(&self) -> Node {
        let weight = self.weight.to_be_bytes();
        let parts: LeafParts<'_, 3> = ([self.id.as_bytes(), &weight, &self.root], &self.key_digest);
        leaf(&parts)
    }
}

/// Greatest number of members of a committee.
pub(crate) const MAX_MEMBERS: usize = 8192;

const VIEW: &[u8; 8] = b"MLADSAV1";
const OPENING: &[u8; 8] = b"MLADSAP1";

impl CommitteeView {
    pub(super) fn new(
        epoch: &Arc<Epoch>,
        threshold: u64,
        member_root: &Node,
        members: Vec<Option<MemberEntry>>,
    ) -> Self {
        let mut view = Self {
            epoch: Arc::clone(epoch),
            threshold,
            size: members.len() as u32,
            member_root: *member_root,
            identity: [0; 32],
            members,
        };
        let rho = &epoch.matrix.rho;
        view.identity = hash_lp(b"MLADSA committee", &[rho, &view.to_bytes()]);
        view
    }

    /// Decodes the parameters of the committee with this identity, without members.
    ///
    /// # Errors
    /// [`CommitteeError::OtherCommittee`] for another identity, [`CommitteeError::Encoding`].
    pub fn from_bytes(bytes: &[u8], identity: &[u8; 32]) -> Result<Self, CommitteeError> {
        let mut reader = Reader::new(bytes, VIEW)?;
        let epoch = Epoch::read(&mut reader)?;
        let threshold = u64::from_be_bytes(reader.array()?);
        let size = u32::from_be_bytes(reader.array()?) as usize;
        let member_root = reader.array()?;
        reader.end()?;
        if !(1..=MAX_MEMBERS).contains(&size) {
            return Err(EncodingError::Range.into());
        }
        let members = alloc::vec![None; size];
        let view = Self::new(&epoch, threshold, &member_root, members);
        (view.identity == *identity)
            .then_some(view)
            .ok_or(CommitteeError::OtherCommittee)
    }

    /// Encodes the parameters, without members, as `"MLADSAV1" || lp(domain) || BE64(epoch) ||
    /// BE32(slots) || attempts || BE64(threshold) || BE32(members) || root over the members`. The
    /// identity is the digest of these bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = VIEW.to_vec();
        out.extend(self.epoch.to_bytes());
        out.extend_from_slice(&self.threshold.to_be_bytes());
        out.extend_from_slice(&self.size.to_be_bytes());
        out.extend_from_slice(&self.member_root);
        out
    }

    /// Adds a member from its Merkle opening, which
    /// [`SigningCommittee::member_opening`](crate::SigningCommittee::member_opening) makes. A repeated opening is
    /// ignored.
    ///
    /// # Errors
    /// [`CommitteeError::OtherCommittee`] for an opening that does not lead to the root,
    /// [`CommitteeError::Encoding`].
    pub fn add_member(&mut self, opening: &[u8]) -> Result<(), CommitteeError> {
        let mut reader = Reader::new(opening, OPENING)?;
        let at = u32::from_be_bytes(reader.array()?);
        let entry = MemberEntry {
            id: MemberName::new(reader.part()?)?,
            weight: u64::from_be_bytes(reader.array()?),
            root: reader.array()?,
            key_digest: reader.array()?,
        };
        let depth = depth(self.members.len());
        let path = reader.take(32 * depth)?;
        reader.end()?;
        let path = path.as_chunks::<32>().0;
        let slot = self.members.get_mut(at as usize);
        match slot {
            Some(slot) if verify_path(&entry.leaf(), at, path, depth, &self.member_root) => {
                *slot = Some(entry);
                Ok(())
            }
            _ => Err(CommitteeError::OtherCommittee),
        }
    }

    /// Encodes `"MLADSAP1" || BE32(position) || lp(id) || BE64(weight) || root || key digest ||
    /// path`.
    pub(super) fn opening(&self, at: usize, path: &[Node]) -> Option<Vec<u8>> {
        let entry = self.entry(at)?;
        let mut out = OPENING.to_vec();
        out.extend_from_slice(&(at as u32).to_be_bytes());
        out.extend(lp(&[entry.id.as_bytes()]));
        out.extend_from_slice(&entry.weight.to_be_bytes());
        out.extend_from_slice(&entry.root);
        out.extend_from_slice(&entry.key_digest);
        out.extend_from_slice(path.as_flattened());
        Some(out)
    }

    /// Returns the identity of the committee: digest of the scheme's parameters, the threshold, and
    /// the names, registration keys, roots and weights of all members.
    pub fn identity(&self) -> &[u8; 32] {
        &self.identity
    }

    /// Returns the parameters of the epoch.
    pub fn epoch(&self) -> &Arc<Epoch> {
        &self.epoch
    }

    /// Returns the number of members, also of those that the view does not contain.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the smallest weight of the signers of an aggregate.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    pub(crate) fn entry(&self, at: usize) -> Option<&MemberEntry> {
        self.members.get(at)?.as_ref()
    }
}

impl fmt::Debug for CommitteeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.members.iter().flatten().count();
        write!(
            f,
            "CommitteeView({known} of {} members)",
            self.members.len()
        )
    }
}
