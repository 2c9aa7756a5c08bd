//! Openings of one-time keys, and their authentication against the agreed roots.

use alloc::vec::Vec;

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::merkle::{Node, leaf, leaves, verify_path};
use crate::epoch::message::{MessageKind, SignedMessage, Unverified};
use crate::epoch::tree::{EpochTree, Opening, leaf_parts};
use crate::error::{RootsError, RoundError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::keys::member::Member;
use crate::keys::one_time_key::OneTimePublicKey;
use crate::keys::scope::EpochLabel;
use crate::member_id::MemberId;
use crate::wire::task::AttemptId;

/// One-time public key of a member for one attempt, authenticated against the agreed roots.
/// Cheap to clone; a verifier keeps it for repeated verifications.
#[derive(Clone, Debug)]
pub struct AuthenticatedKey {
    pub(crate) id: MemberId,
    pub(crate) attempt: AttemptId,
    pub(crate) leaf: Node,
    pub(crate) public_key: OneTimePublicKey,
    /// Digest of the list of roots against which the key was authenticated.
    pub(crate) source: Node,
}

impl AuthenticatedKey {
    /// The member.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The attempt.
    #[must_use]
    pub fn attempt_id(&self) -> &AttemptId {
        &self.attempt
    }

    /// The key.
    #[must_use]
    pub fn public_key(&self) -> &OneTimePublicKey {
        &self.public_key
    }
}

impl Member {
    /// Opens the one-time key of `attempt`, after the list of all roots is agreed on.
    ///
    /// # Errors
    /// [`RoundError::Roots`] if the list has another root for this member, or none, belongs to
    /// another plan, or if the plan does not contain the attempt; [`RoundError::Journal`] if
    /// the seed has not acknowledged the list; [`RoundError::InvalidOpening`] for a tree of
    /// another seed.
    pub fn open(
        &self,
        agreed: &AgreedRoots,
        tree: &EpochTree,
        attempt: &AttemptId,
        journal: &OneTimeKeyJournal,
    ) -> Result<SignedMessage, RoundError> {
        if agreed.root(&self.id)? != tree.root()
            || *agreed.plan() != tree.plan
            || agreed.registry().root() != tree.registry.root()
            || tree.id != self.id
        {
            return Err(RootsError::NotPinned.into());
        }
        journal.check_seed(&self.seed)?;
        journal.check_roots(agreed.plan().epoch(), agreed.digest())?;
        let opening = self.opening(tree, attempt)?;
        let opening = opening.ok_or(RoundError::InvalidOpening)?;
        let (subject, body) = (agreed.subject(attempt), opening.to_bytes());
        Ok(self.message(MessageKind::Opening, subject, &[0; 64], body))
    }
}

impl AgreedRoots {
    /// Decodes a message of a member and verifies its signature, epoch and list of roots. Hashes of
    /// commitments and announcements of signers must have a signature.
    ///
    /// # Errors
    /// [`RoundError::Encoding`], [`RoundError::UnknownMember`], [`RoundError::InvalidMessage`];
    /// [`RoundError::OtherRound`] for another epoch or list.
    pub fn receive(&self, bytes: &[u8]) -> Result<SignedMessage, RoundError> {
        self.accept(Unverified::from_bytes(bytes)?)
    }

    /// [`Self::receive`] for a message that arrived on a channel which authenticates `peer`. The
    /// messages of the peer itself need no signature:
    /// [`Member::with_authenticated_channels`].
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn receive_from(&self, peer: &MemberId, bytes: &[u8]) -> Result<SignedMessage, RoundError> {
        let message = Unverified::from_bytes(bytes)?;
        self.check_subject(message.verify_from(peer, self.registry())?)
    }

    pub(crate) fn accept(&self, message: Unverified) -> Result<SignedMessage, RoundError> {
        self.check_subject(message.verify(self.registry())?)
    }

    fn check_subject(&self, message: SignedMessage) -> Result<SignedMessage, RoundError> {
        self.is_subject_of(&message)
            .then_some(message)
            .ok_or(RoundError::OtherRound)
    }

    fn is_subject_of(&self, message: &SignedMessage) -> bool {
        *message.subject() == self.subject(message.attempt_id())
    }

    /// Authenticates a one-time key: its opening must lead to the agreed root at the position
    /// of its attempt.
    ///
    /// # Errors
    /// [`RoundError::InvalidOpening`], [`RoundError::OtherRound`] for another kind of message,
    /// [`RoundError::Roots`], [`RoundError::Encoding`].
    pub fn authenticate(&self, message: &SignedMessage) -> Result<AuthenticatedKey, RoundError> {
        let mut keys = self.authenticate_each(core::slice::from_ref(message));
        keys.pop().ok_or(RoundError::InvalidOpening)?
    }

    /// [`Self::authenticate`] for an opening without a message: its path authenticates it.
    pub(crate) fn authenticate_opening(
        &self,
        id: &MemberId,
        attempt: &AttemptId,
        opening: &[u8],
    ) -> Result<AuthenticatedKey, RoundError> {
        let opening = Opening::from_bytes(opening)?;
        let leaf = leaf(&leaf_parts(id, &self.label(attempt), &opening.public_key));
        self.check_opening(id, attempt, opening, leaf)
    }

    /// [`Self::authenticate`] for many members, with the leaves hashed in lanes. The results
    /// are in the order of the messages.
    pub fn authenticate_each(
        &self,
        messages: &[SignedMessage],
    ) -> Vec<Result<AuthenticatedKey, RoundError>> {
        let opened = |message: &SignedMessage| {
            if message.kind() != MessageKind::Opening || !self.is_subject_of(message) {
                return Err(RoundError::OtherRound);
            }
            let opening = Opening::from_bytes(message.body())?;
            Ok((self.label(message.attempt_id()), opening))
        };
        let openings: Vec<_> = messages.iter().map(opened).collect();
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
                let leaf = leaves.next().ok_or(RoundError::InvalidOpening)?;
                self.check_opening(message.id(), message.attempt_id(), opening, leaf)
            })
            .collect()
    }

    fn label(&self, attempt: &AttemptId) -> EpochLabel {
        let scope = self.registry().scope(self.plan().epoch());
        scope.label(attempt.as_bytes())
    }

    fn check_opening(
        &self,
        id: &MemberId,
        attempt: &AttemptId,
        opening: Opening,
        leaf: Node,
    ) -> Result<AuthenticatedKey, RoundError> {
        let plan = self.plan();
        let root = self.root(id)?;
        if opening.index != plan.index(attempt)?
            || !verify_path(&leaf, opening.index, &opening.path, plan.depth(), root)
        {
            return Err(RoundError::InvalidOpening);
        }
        Ok(AuthenticatedKey {
            id: *id,
            attempt: attempt.clone(),
            leaf,
            public_key: opening.public_key,
            source: *self.digest(),
        })
    }
}
