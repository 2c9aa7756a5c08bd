//! Member names. Without dependencies, because errors contain them.

use core::fmt;

/// Name of a member: 1 to 64 bytes, ordered as unsigned bytes, a prefix before the longer string.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemberName {
    len: u8,
    bytes: [u8; 64],
}

impl MemberName {
    /// Copies a name; `None` unless `id` has 1 to 64 bytes.
    pub(crate) fn from_slice(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; 64];
        match (id.len(), bytes.get_mut(..id.len())) {
            (1.., Some(slot)) => slot.copy_from_slice(id),
            _ => return None,
        }
        Some(Self {
            len: id.len() as u8,
            bytes,
        })
    }

    /// Returns the name as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Ord for MemberName {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for MemberName {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One printable word: other bytes, and spaces, which separate names in lists, are escaped.
impl fmt::Display for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| match byte {
            b' ' => f.write_str("\\x20"),
            _ => write!(f, "{}", byte.escape_ascii()),
        })
    }
}

impl fmt::Debug for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemberName({self})")
    }
}
