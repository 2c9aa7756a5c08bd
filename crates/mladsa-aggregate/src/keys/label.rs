//! Labels ("content labels" of the scheme), from which keys, nonces and offsets are derived.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Label of a slot or of an attempt at it: the input of the PRF, of tree leaves and of journal
/// keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label(Box<[u8]>);

impl Label {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    pub(crate) fn with_attempt(&self, number: u8) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(number);
        Self(bytes.into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
