//! Blocks, and the parameters that all validators share.

use std::sync::Arc;

use commonware_cryptography::{Hasher as _, Sha256, sha256::Digest};
use mladsa_aggregate::{Epoch, MemberName, Registration, SigningCommittee};

/// Least number of blocks of an epoch. Each of 16 validators proposes two of them.
pub(crate) const EPOCH_BLOCKS: u64 = 32;
/// Blocks from one checkpoint to the next.
const CHECKPOINT_BLOCKS: u64 = 16;
/// Checkpoints of an epoch.
pub(crate) const SLOTS: u32 = 2;

const DOMAIN: &[u8] = b"example/bft-checkpoints/v1";

/// Block of the chain: `BE64(height) || BE64(epoch) || BE64(position) || BE64(registered) || parent ||
/// registration`, where the registration, which may be missing, is that of the proposer for the next epoch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// From 1.
    pub(crate) height: u64,
    /// The epoch that the block belongs to, from 1.
    pub(crate) epoch: u64,
    /// Its place in the epoch, from 1.
    pub(crate) position: u64,
    /// Number of registrations in the epoch up to this block.
    pub(crate) registered: u64,
    pub(crate) parent: Digest,
    pub(crate) registration: Option<Registration>,
}

impl Block {
    /// The block above `below`, or above the genesis, of `validators`.
    pub(crate) fn above(
        below: Option<&Self>,
        parent: Digest,
        registration: Option<Registration>,
        validators: usize,
    ) -> Self {
        let (height, epoch) = below.map_or((0, 1), |below| (below.height, below.epoch));
        let same = below.filter(|below| !below.ends_epoch(validators));
        let is_next = below.is_some() && same.is_none();
        let (position, registered) = same.map_or((0, 0), |same| (same.position, same.registered));
        Self {
            height: height + 1,
            epoch: epoch + u64::from(is_next),
            position: position + 1,
            registered: registered + u64::from(registration.is_some()),
            parent,
            registration,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.height, self.epoch, self.position, self.registered];
        let mut bytes = numbers.map(u64::to_be_bytes).concat();
        bytes.extend_from_slice(self.parent.as_ref());
        let registration = self.registration.as_ref().map(Registration::to_bytes);
        bytes.extend(registration.unwrap_or_default());
        bytes
    }

    /// `None` for bytes of another form.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.split_first_chunk::<32>()?;
        let (parent, registration) = rest.split_first_chunk::<32>()?;
        let registration = match registration {
            [] => None,
            bytes => Some(Registration::from_bytes(bytes).ok()?),
        };
        let (numbers, _) = numbers.as_chunks::<8>();
        let numbers = numbers.iter().map(|number| u64::from_be_bytes(*number));
        let [height, epoch, position, registered] = numbers.collect::<Vec<_>>().try_into().ok()?;
        Some(Self {
            height,
            epoch,
            position,
            registered,
            parent: Digest::from(*parent),
            registration,
        })
    }

    pub(crate) fn digest(&self) -> Digest {
        Sha256::hash(&[&self.to_bytes()])
    }

    /// Whether the block is the last one of its epoch: not before two thirds of the validators have
    /// registered for the next one.
    pub(crate) fn ends_epoch(&self, validators: usize) -> bool {
        let enough = SigningCommittee::two_thirds(validators as u64);
        self.position >= EPOCH_BLOCKS && self.registered >= enough
    }

    /// The slot of the checkpoint at this block. The last one is at the end of the epoch.
    pub(crate) fn slot(&self, validators: usize) -> Option<u32> {
        if self.ends_epoch(validators) {
            return Some(SLOTS - 1);
        }
        let slot = u32::try_from(self.position / CHECKPOINT_BLOCKS).ok()?;
        let slot = slot.checked_sub(1).filter(|slot| *slot < SLOTS - 1)?;
        self.position
            .is_multiple_of(CHECKPOINT_BLOCKS)
            .then_some(slot)
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

/// The committee of those of `validators` that have registered for an epoch, each with weight 1. Its
/// threshold is that of all validators, so that fewer honest ones among them cannot be overruled; it is an
/// error if they do not reach it.
pub(crate) fn committee(
    epoch: &Arc<Epoch>,
    registrations: impl IntoIterator<Item = Registration>,
    validators: usize,
) -> anyhow::Result<Arc<SigningCommittee>> {
    let members: Vec<_> = registrations.into_iter().map(|entry| (entry, 1)).collect();
    let threshold = SigningCommittee::two_thirds(validators as u64);
    Ok(SigningCommittee::new(epoch, members, threshold)?)
}

/// Name of validator `n`.
pub(crate) fn name(n: usize) -> anyhow::Result<MemberName> {
    Ok(MemberName::new(format!("validator-{n:02}").as_bytes())?)
}
