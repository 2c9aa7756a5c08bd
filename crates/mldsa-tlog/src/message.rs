//! What a cosigner signs, and what it makes of it (c2sp.org/tlog-cosignature, ML-DSA-44).

use crate::checkpoint::Subtree;
use crate::error::Error;

const LABEL: &[u8; 12] = b"subtree/v1\n\0";
/// Label, two names of 255 bytes with their lengths, three numbers and a hash.
const MAX_LEN: usize = 12 + 2 * 256 + 3 * 8 + 32;
const SIGNATURE_LEN: usize = 2420;

/// The message that a cosigner signs, with the empty context of ML-DSA-44. The same message stands in Merkle Tree
/// Certificates.
#[derive(Clone, Debug)]
pub struct SignedMessage {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl SignedMessage {
    /// Makes the message of the cosigner `name` about a part of the log `origin`. The time is in seconds since 1970; 0 says
    /// nothing about time.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a name of 0 or more than 255 bytes; [`Error::Subtree`] for a range
    /// that is no subtree, for a time beyond 2^63 - 1, and for a time of a subtree that is not a tree.
    pub fn new(name: &str, time: u64, origin: &str, tree: &Subtree) -> Result<Self, Error> {
        tree.check()?;
        if time > i64::MAX as u64 || (tree.start != 0 && time != 0) {
            return Err(Error::Subtree);
        }
        let mut message = Self {
            bytes: [0; MAX_LEN],
            len: 0,
        };
        message.push(LABEL);
        message.push_name(name)?;
        message.push(&time.to_be_bytes());
        message.push_name(origin)?;
        message.push(&tree.start.to_be_bytes());
        message.push(&tree.end.to_be_bytes());
        message.push(&tree.hash);
        Ok(message)
    }

    fn push_name(&mut self, name: &str) -> Result<(), Error> {
        let len = u8::try_from(name.len()).ok().filter(|len| *len > 0);
        self.push(&[len.ok_or(Error::Malformed("name"))?]);
        self.push(name.as_bytes());
        Ok(())
    }

    fn push(&mut self, part: &[u8]) {
        self.bytes[self.len..self.len + part.len()].copy_from_slice(part);
        self.len += part.len();
    }
}

impl AsRef<[u8]> for SignedMessage {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A time and a signature of ML-DSA-44, as they stand in a line of a note after the ID of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosignature {
    /// Seconds since 1970, or 0.
    pub time: u64,
    /// The signature over a [`SignedMessage`].
    pub signature: [u8; SIGNATURE_LEN],
}

impl Cosignature {
    /// The number of bytes after the ID of the key.
    pub const LEN: usize = 8 + SIGNATURE_LEN;

    /// Reads time and signature.
    ///
    /// # Errors
    /// [`Error::Malformed`] for another length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = Error::Malformed("cosignature");
        let (time, signature) = bytes.split_first_chunk().ok_or(malformed)?;
        let signature = signature.try_into().map_err(|_| malformed)?;
        Ok(Self {
            time: u64::from_be_bytes(*time),
            signature,
        })
    }
}
