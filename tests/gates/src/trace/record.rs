//! The records of a trace, which are the same from every source.

/// An instruction, or a load or store of the instruction before it, in a word:
/// the address in the lower 56 bits, above it five bits for the length of an
/// instruction, one if it is a call, and two for the kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Record(pub(super) u64);

const ADDRESS: u64 = (1 << 56) - 1;
const CALL: u64 = 1 << 61;

impl Record {
    pub(super) fn instruction(address: u64, len: usize, call: bool) -> Self {
        let call = if call { CALL } else { 0 };
        Self(address & ADDRESS | (len as u64) << 56 | call)
    }

    pub(super) fn access(address: u64, store: bool) -> Self {
        Self(address & ADDRESS | if store { 2 } else { 1 } << 62)
    }

    pub(super) fn address(self) -> u64 {
        self.0 & ADDRESS
    }

    pub(super) fn is_instruction(self) -> bool {
        self.0 >> 62 == 0
    }

    /// The address to which a call returns.
    pub(super) fn returns_to(self) -> Option<u64> {
        let len = self.0 >> 56 & 31;
        (self.is_instruction() && self.0 & CALL != 0).then(|| self.address() + len)
    }
}
