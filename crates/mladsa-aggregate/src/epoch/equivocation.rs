//! Evidence of two contradicting statements of a member in one epoch.

use alloc::vec::Vec;

use crate::epoch::plan::EpochPlan;
use crate::epoch::registry::Registry;
use crate::epoch::statement::{Acknowledgement, RootAnnouncement};
use crate::error::RootsError;
use crate::member_id::MemberId;
use crate::wire::framing::{Reader, lp};

/// Evidence that a member has announced two roots for one plan, or acknowledged two lists of roots in
/// one epoch. Any holder of the registry and the plan verifies it. The epoch is then replaced by a
/// later one without the member: the seeds of the others remain usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochEquivocation {
    id: MemberId,
    first: Vec<u8>,
    second: Vec<u8>,
}

const EVIDENCE: &[u8; 8] = b"MLADSAE2";

impl EpochEquivocation {
    /// Evidence from two encoded announcements, or two encoded acknowledgements, both of which are
    /// verified.
    ///
    /// # Errors
    /// [`RootsError::NotConflicting`] for statements of two kinds, of two members, or with one value;
    /// [`RootsError::Encoding`], [`RootsError::UnknownMember`], [`RootsError::OtherEpoch`],
    /// [`RootsError::InvalidSignature`].
    pub fn new(
        first: &[u8],
        second: &[u8],
        registry: &Registry,
        plan: &EpochPlan,
    ) -> Result<Self, RootsError> {
        let statement = |bytes| match RootAnnouncement::from_bytes(bytes) {
            Ok(root) => {
                root.verify(registry, plan)?;
                Ok::<_, RootsError>((true, *root.id(), *root.root()))
            }
            Err(_) => {
                let acknowledgement = Acknowledgement::from_bytes(bytes)?;
                acknowledgement.verify_signature(registry, plan)?;
                Ok((false, *acknowledgement.id(), *acknowledgement.digest()))
            }
        };
        let (a, b) = (statement(first)?, statement(second)?);
        if (a.0, a.1) != (b.0, b.1) || a.2 == b.2 {
            return Err(RootsError::NotConflicting);
        }
        Ok(Self {
            id: a.1,
            first: first.into(),
            second: second.into(),
        })
    }

    /// The member.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// Encodes as `"MLADSAE2" || lp(statement, statement)`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = EVIDENCE.to_vec();
        out.extend(lp(&[&self.first, &self.second]));
        out
    }

    /// Decodes evidence and verifies both statements.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_bytes(
        bytes: &[u8],
        registry: &Registry,
        plan: &EpochPlan,
    ) -> Result<Self, RootsError> {
        let mut reader = Reader::new(bytes, EVIDENCE)?;
        let (first, second) = (reader.part()?, reader.part()?);
        reader.end()?;
        Self::new(first, second, registry, plan)
    }
}
