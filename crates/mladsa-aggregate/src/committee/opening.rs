//! Authentication of openings against the root of their member.

use alloc::vec::Vec;

use crate::committee::epoch::AttemptId;
use crate::committee::merkle::{Node, leaf, leaves, verify_path};
use crate::committee::tree::{Opening, leaf_parts};
use crate::committee::view::{CommitteeView, MemberEntry};
use crate::error::CommitteeError;
use crate::keys::one_time_key::OneTimePublicKey;
use crate::member_id::MemberName;

/// One-time public key of a member for one attempt, authenticated against the committee. Cheap to
/// clone; a verifier keeps it for the aggregates of its attempt.
#[derive(Clone, Debug)]
pub struct AuthenticatedKey {
    pub(crate) id: MemberName,
    pub(crate) position: usize,
    pub(crate) weight: u64,
    pub(crate) attempt: AttemptId,
    pub(crate) leaf: Node,
    pub(crate) public_key: OneTimePublicKey,
    /// Identity of the committee against which the key was authenticated.
    pub(crate) source: Node,
}

impl AuthenticatedKey {
    /// Returns the member.
    pub fn id(&self) -> &MemberName {
        &self.id
    }

    /// Returns the attempt.
    pub fn attempt_id(&self) -> AttemptId {
        self.attempt
    }
}

impl CommitteeView {
    /// Authenticates the opening of the one-time key of the member at `position`: it must lead to
    /// the member's root at the position of the attempt.
    ///
    /// # Errors
    /// [`CommitteeError::UnknownMember`] for a member that is not in the view;
    /// [`CommitteeError::InvalidOpening`], [`CommitteeError::Encoding`];
    /// [`CommitteeError::UnknownSlot`], [`CommitteeError::AttemptsExhausted`].
    pub fn authenticate(
        &self,
        position: usize,
        attempt: AttemptId,
        opening: &[u8],
    ) -> Result<AuthenticatedKey, CommitteeError> {
        let mut keys = self.authenticate_each(attempt, [(position, opening)]);
        keys.pop().ok_or(CommitteeError::InvalidOpening)?
    }

    /// Authenticates as [`Self::authenticate`] does, for many members, with the leaves hashed in
    /// lanes. The results are in the order of the openings.
    pub(crate) fn authenticate_each<'a>(
        &self,
        attempt: AttemptId,
        openings: impl IntoIterator<Item = (usize, &'a [u8])>,
    ) -> Vec<Result<AuthenticatedKey, CommitteeError>> {
        let label = self.epoch().label(attempt);
        let openings = openings.into_iter().map(|(position, bytes)| {
            let entry = self.entry(position).ok_or(CommitteeError::UnknownMember)?;
            Ok::<_, CommitteeError>((position, entry, Opening::from_bytes(bytes)?))
        });
        let openings: Vec<_> = openings.collect();
        let decoded = openings.iter().flatten();
        let parts =
            decoded.map(|(_, entry, opening)| leaf_parts(&entry.id, &label, &opening.public_key));
        let parts: Vec<_> = parts.collect();
        let mut leaves = match parts.as_slice() {
            [one] => alloc::vec![leaf(one)],
            _ => leaves(&parts),
        }
        .into_iter();
        let checked = openings.into_iter().map(|opening| {
            let (position, entry, opening) = opening?;
            let leaf = leaves.next().ok_or(CommitteeError::InvalidOpening)?;
            self.check(position, entry, attempt, opening, leaf)
        });
        checked.collect()
    }

    fn check(
        &self,
        position: usize,
        entry: &MemberEntry,
        attempt: AttemptId,
        opening: Opening,
        leaf: Node,
    ) -> Result<AuthenticatedKey, CommitteeError> {
        let (epoch, Opening { index, path, .. }) = (self.epoch(), &opening);
        if *index != epoch.index(attempt)?
            || !verify_path(&leaf, *index, path, epoch.depth(), &entry.root)
        {
            return Err(CommitteeError::InvalidOpening);
        }
        Ok(AuthenticatedKey {
            id: entry.id,
            position,
            weight: entry.weight,
            attempt,
            leaf,
            public_key: opening.public_key,
            source: *self.identity(),
        })
    }
}
