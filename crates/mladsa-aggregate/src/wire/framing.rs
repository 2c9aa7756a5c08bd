//! Framing: length prefixes, hashing of framed parts, and the strict reader.

use alloc::vec::Vec;

use mldsa_core::internals::Shake256;
use mldsa_core::{Backend, MlDsa87, ParameterSet, Signature};

use crate::error::EncodingError;
use crate::member_id::MemberName;

/// Encodes `BE32(len) || part` for each part.
pub(crate) fn lp(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.iter().map(|part| 4 + part.len()).sum());
    for part in parts {
        push_lp(&mut out, part);
    }
    out
}

/// Appends one part to a framed string.
pub(crate) fn push_lp(out: &mut Vec<u8>, part: &[u8]) {
    push_length(out, part);
    out.extend_from_slice(part);
}

/// Appends the length prefix of a part that is hashed without being copied.
pub(crate) fn push_length(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&length(part));
}

// Only a payload can reach 2^32 bytes. Signer and verifier saturate its length alike.
fn length(part: &[u8]) -> [u8; 4] {
    u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes()
}

/// Absorbs `lp(parts)` without building it.
pub(crate) fn absorb_lp(sponge: &mut Shake256, parts: &[&[u8]]) {
    for part in parts {
        sponge.absorb(&length(part));
        sponge.absorb(part);
    }
}

/// Computes `SHAKE256(prefix || lp(parts), L)`.
pub(crate) fn hash_lp<const L: usize>(prefix: &[u8], parts: &[&[u8]]) -> [u8; L] {
    let mut sponge = Shake256::new(Backend::detect().permutation());
    sponge.absorb(prefix);
    absorb_lp(&mut sponge, parts);
    sponge.finish();
    let mut out = [0; L];
    sponge.squeeze(&mut out);
    out
}

impl MemberName {
    /// Creates a name of 1 to 64 bytes.
    ///
    /// # Errors
    /// [`EncodingError::Length`].
    pub fn new(id: &[u8]) -> Result<Self, EncodingError> {
        Self::from_slice(id).ok_or(EncodingError::Length)
    }
}

/// Strict reader of an encoding. Missing and trailing bytes are [`EncodingError::Length`]. A magic
/// whose last byte, the version, is another one is [`EncodingError::OtherVersion`].
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], magic: &[u8; 8]) -> Result<Self, EncodingError> {
        let [name @ .., _] = magic;
        bytes
            .strip_prefix(magic)
            .map(Self)
            .ok_or(match bytes.get(7) {
                Some(_) if bytes.starts_with(name) => EncodingError::OtherVersion,
                _ => EncodingError::Length,
            })
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], EncodingError> {
        let (head, rest) = self.0.split_at_checked(len).ok_or(EncodingError::Length)?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn array<const L: usize>(&mut self) -> Result<[u8; L], EncodingError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(EncodingError::Length)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(crate) fn part(&mut self) -> Result<&'a [u8], EncodingError> {
        let len = u32::from_be_bytes(self.array()?);
        self.take(usize::try_from(len).map_err(|_| EncodingError::Length)?)
    }

    /// Reads an ML-DSA-87 signature with well-formed hints.
    pub(crate) fn signature(&mut self) -> Result<Signature<MlDsa87>, EncodingError> {
        let bytes = self.take(MlDsa87::SIG_LEN)?;
        Signature::from_bytes(bytes).map_err(|_| EncodingError::Signature)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn end(self) -> Result<(), EncodingError> {
        self.0.is_empty().then_some(()).ok_or(EncodingError::Length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_bounded_lengths_and_a_total_order() {
        assert_eq!(MemberName::new(b""), Err(EncodingError::Length));
        assert_eq!(MemberName::new(&[1; 65]), Err(EncodingError::Length));
        assert!(MemberName::new(&[1; 64]).is_ok());
        let mut ids =
            [&b"b"[..], b"a\xff", b"ab", b"a", b"a\x00"].map(|id| MemberName::new(id).unwrap());
        ids.sort();
        assert_eq!(
            ids.map(|id| id.as_bytes().to_vec()),
            [&b"a"[..], b"a\x00", b"ab", b"a\xff", b"b"].map(<[u8]>::to_vec)
        );
    }

    #[test]
    fn reader_returns_the_framed_parts_and_rejects_other_input() {
        let mut bytes = b"MAGIC123".to_vec();
        bytes.extend(lp(&[b"ab", b"", b"c"]));
        let mut reader = Reader::new(&bytes, b"MAGIC123").unwrap();
        assert_eq!(reader.part().unwrap(), b"ab");
        assert_eq!(reader.part().unwrap(), b"");
        assert_eq!(reader.part().unwrap(), b"c");
        assert_eq!(reader.part(), Err(EncodingError::Length));
        reader.end().unwrap();
        assert!(Reader::new(&bytes, b"MAGIC124").is_err());
        // A length beyond the end fails without an allocation.
        let mut reader = Reader::new(b"MAGIC123\xff\xff\xff\xff", b"MAGIC123").unwrap();
        assert_eq!(reader.part(), Err(EncodingError::Length));
        assert_eq!(
            Reader::new(b"MAGIC123x", b"MAGIC123").unwrap().end(),
            Err(EncodingError::Length)
        );
    }
}
