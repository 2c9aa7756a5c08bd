//! Blocks, and the parameters that all validators share.

use std::sync::Arc;

use commonware_cryptography::{Hasher as _, Sha256, sha256::Digest};
use mladsa_aggregate::{Committee, Epoch, MemberId, Registration};

/// Blocks of an epoch. Each of 16 validators proposes two of them.
pub(crate) const EPOCH_BLOCKS: u64 = 32;
/// Blocks from one checkpoint to the next.
const CHECKPOINT_BLOCKS: u64 = 16;
/// Checkpoints of an epoch.
pub(crate) const SLOTS: u32 = 2;

const DOMAIN: &[u8] = b"example/bft-checkpoints/v1";

/// Block of the chain: `BE64(height) || parent || registration`, where the registration, which may be
/// missing, is that of the proposer for the next epoch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// From 1.
    pub(crate) height: u64,
    pub(crate) parent: Digest,
    pub(crate) registration: Option<Registration>,
}

impl Block {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.height.to_be_bytes().to_vec();
        bytes.extend_from_slice(self.parent.as_ref());
        let registration = self.registration.as_ref().map(Registration::to_bytes);
        bytes.extend(registration.unwrap_or_default());
        bytes
    }

    /// `None` for bytes of another form.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (height, rest) = bytes.split_first_chunk::<8>()?;
        let (parent, registration) = rest.split_first_chunk::<32>()?;
        let registration = match registration {
            [] => None,
            bytes => Some(Registration::from_bytes(bytes).ok()?),
        };
        Some(Self {
            height: u64::from_be_bytes(*height),
            parent: Digest::from(*parent),
            registration,
        })
    }

    pub(crate) fn digest(&self) -> Digest {
        Sha256::hash(&[&self.to_bytes()])
    }

    /// The epoch that the block belongs to, from 1.
    pub(crate) fn epoch(&self) -> u64 {
        1 + self.height.saturating_sub(1) / EPOCH_BLOCKS
    }

    /// The slot of the checkpoint at this block.
    pub(crate) fn slot(&self) -> Option<u32> {
        let within = self.height.saturating_sub(1) % EPOCH_BLOCKS + 1;
        let slot = (within / CHECKPOINT_BLOCKS).checked_sub(1)?;
        (within % CHECKPOINT_BLOCKS == 0).then_some(u32::try_from(slot).ok()?)
    }
}

/// Digest below the first block.
pub(crate) fn genesis(identity: &[u8; 32]) -> Digest {
    Sha256::hash(&[DOMAIN, identity])
}

/// What the committee of a block's epoch signs about it: height, digest and, at the last checkpoint of
/// the epoch, the identity of the next committee.
pub(crate) fn payload(block: &Block, next: Option<&[u8; 32]>) -> Vec<u8> {
    let mut bytes = block.height.to_be_bytes().to_vec();
    bytes.extend_from_slice(block.digest().as_ref());
    bytes.extend(next.into_iter().flatten());
    bytes
}

/// Parameters of an epoch with `validators` members.
pub(crate) fn parameters(number: u64, validators: usize) -> anyhow::Result<Arc<Epoch>> {
    let attempts = Epoch::attempts_for(validators);
    Ok(Epoch::new(DOMAIN, number, SLOTS, attempts)?)
}

/// The committee of members that have registered for an epoch, each with weight 1.
pub(crate) fn committee(
    epoch: &Arc<Epoch>,
    registrations: impl IntoIterator<Item = Registration>,
) -> anyhow::Result<Arc<Committee>> {
    let members: Vec<_> = registrations.into_iter().map(|entry| (entry, 1)).collect();
    let threshold = Committee::two_thirds(members.len() as u64);
    Ok(Committee::new(epoch, members, threshold)?)
}

/// Name of validator `n`.
pub(crate) fn name(n: usize) -> anyhow::Result<MemberId> {
    Ok(MemberId::new(format!("validator-{n:02}").as_bytes())?)
}
