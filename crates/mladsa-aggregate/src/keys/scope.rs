//! Scopes of labels. One label in two epochs, under two matrices or in two committees names
//! two things: one-time keys, tree leaves and journal entries depend on the scope.

use core::fmt;

use alloc::boxed::Box;

use crate::wire::framing::hash_lp;

/// Matrix, epoch and committee in which a label is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// An epoch of a committee.
    Epoch {
        tag: &'static [u8],
        rho: [u8; 32],
        epoch: u64,
        registry_root: [u8; 32],
    },
    /// The derivation of the published digests: from the label alone.
    #[cfg(test)]
    Published,
}

impl Scope {
    /// Scope of rounds with offset commitments.
    pub(crate) fn new(rho: &[u8; 32], epoch: u64, registry_root: &[u8; 32]) -> Self {
        Self::Epoch {
            tag: b"F.epoch",
            rho: *rho,
            epoch,
            registry_root: *registry_root,
        }
    }

    /// Scope of rounds with open commitments, whose keys every observer can recover.
    #[cfg(feature = "insecure-open-commitments")]
    pub(crate) fn open(rho: &[u8; 32], epoch: u64, registry_root: &[u8; 32]) -> Self {
        Self::Epoch {
            tag: b"F.epoch.base",
            rho: *rho,
            epoch,
            registry_root: *registry_root,
        }
    }

    /// `SHAKE256(lp("F.epoch", rho, BE64(epoch), registry root, C), 64)`.
    pub(crate) fn label(&self, label: &[u8]) -> EpochLabel {
        match self {
            Self::Epoch {
                tag,
                rho,
                epoch,
                registry_root,
            } => {
                let parts: [&[u8]; 5] = [tag, rho, &epoch.to_be_bytes(), registry_root, label];
                EpochLabel(Box::new(hash_lp::<64>(&[], &parts)))
            }
            #[cfg(test)]
            Self::Published => EpochLabel(label.into()),
        }
    }
}

/// A label in its scope: the input from which keys, nonces, offsets, leaves and journal
/// entries are derived.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EpochLabel(Box<[u8]>);

impl EpochLabel {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for EpochLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EpochLabel(..)")
    }
}
