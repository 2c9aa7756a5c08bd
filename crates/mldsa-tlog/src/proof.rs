//! Proofs that an entry is in a log, for verification offline (c2sp.org/tlog-proof).

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
#[cfg(feature = "alloc")]
use core::fmt;

#[cfg(feature = "alloc")]
use base64::Engine;
#[cfg(feature = "alloc")]
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::checkpoint::{hash, number};
use crate::error::Error;
use crate::merkle::Hash;
use crate::note::{MAX_BYTES, Note};
#[cfg(feature = "alloc")]
use crate::{
    checkpoint::write_hash,
    merkle::verify_inclusion,
    policy::{Policy, Verified},
};

const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// A tree of 2^64 leaves has no longer path.
const MAX_HASHES: usize = 63;

/// A proof as it stands in its bytes, read without a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofLines<'a> {
    /// Bytes of the application in base64, which is not checked.
    pub extra: Option<&'a str>,
    /// The index of the entry.
    pub index: u64,
    hashes: &'a str,
    /// The checkpoint, as it was given.
    pub note: &'a str,
}

impl<'a> ProofLines<'a> {
    /// Parses a proof.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above [`MAX_BYTES`], and [`Error::Malformed`].
    pub fn parse(proof: &'a [u8]) -> Result<Self, Error> {
        let malformed = Error::Malformed("proof");
        let mut rest = body(proof)?;
        let mut line = next_line(&mut rest).ok_or(malformed)?;
        if line != HEADER {
            return Err(malformed);
        }
        line = next_line(&mut rest).ok_or(malformed)?;
        let extra = line.strip_prefix("extra ");
        if extra.is_some() {
            line = next_line(&mut rest).ok_or(malformed)?;
        }
        let index = line
            .strip_prefix("index ")
            .and_then(number)
            .ok_or(malformed)?;
        let hashes = hash_lines(&mut rest)?;
        Note::parse(rest.as_bytes())?;
        Ok(Self {
            extra,
            index,
            hashes,
            note: rest,
        })
    }

    /// Returns the hashes beside the path, those near the leaf first, for [`root_of`](crate::root_of).
    pub fn hashes(&self) -> impl Iterator<Item = Hash> + use<'a> {
        hashes(self.hashes)
    }
}

/// A checkpoint with signatures, and the path from an entry to its root.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof<'a> {
    /// Bytes of the application. Nothing vouches for them.
    pub extra: Option<Vec<u8>>,
    /// The index of the entry.
    pub index: u64,
    /// The hashes beside the path, those near the leaf first.
    pub hashes: Vec<Hash>,
    /// The checkpoint, as it was given.
    pub note: &'a str,
}

#[cfg(feature = "alloc")]
impl<'a> Proof<'a> {
    /// Parses a proof.
    ///
    /// # Errors
    /// Those of [`ProofLines::parse`].
    pub fn parse(proof: &'a [u8]) -> Result<Self, Error> {
        let lines = ProofLines::parse(proof)?;
        let extra = lines.extra.map(|text| BASE64.decode(text)).transpose();
        Ok(Self {
            extra: extra.map_err(|_| Error::Malformed("proof"))?,
            index: lines.index,
            hashes: lines.hashes().collect(),
            note: lines.note,
        })
    }

    /// Verifies that an entry is in a log of the policy, under a checkpoint that satisfies it. The hash of the
    /// entry is [`leaf_hash`](crate::leaf_hash) of what the log holds.
    ///
    /// # Errors
    /// [`Error::Proof`], and those of [`Policy::verify`].
    pub fn verify<'p>(&self, policy: &'p Policy, leaf: &Hash) -> Result<Verified<'p>, Error>
    where
        'a: 'p,
    {
        let verified = policy.verify(&Note::parse(self.note.as_bytes())?)?;
        verify_inclusion(&verified.checkpoint.tree(), self.index, leaf, &self.hashes)?;
        Ok(verified)
    }
}

/// Writes the proof.
#[cfg(feature = "alloc")]
impl fmt::Display for Proof<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", BASE64.encode(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        self.hashes
            .iter()
            .try_for_each(|hash| write_hash(f, hash))?;
        write!(f, "\n{}", self.note)
    }
}

/// Checks the size of bytes from outside, and that they are text.
pub(crate) fn body(bytes: &[u8]) -> Result<&str, Error> {
    if bytes.len() > MAX_BYTES {
        return Err(Error::TooLarge);
    }
    core::str::from_utf8(bytes).map_err(|_| Error::Malformed("text"))
}

pub(crate) fn next_line<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (line, after) = rest.split_once('\n')?;
    *rest = after;
    Some(line)
}

/// Checks lines with hashes and the empty line after them, and returns the former.
pub(crate) fn hash_lines<'a>(rest: &mut &'a str) -> Result<&'a str, Error> {
    let malformed = Error::Malformed("hash");
    let all = *rest;
    for count in 0.. {
        let len = all.len() - rest.len();
        match next_line(rest).ok_or(malformed)? {
            "" => return Ok(&all[..len]),
            _ if count == MAX_HASHES => return Err(Error::TooLarge),
            line => hash(line).ok_or(malformed)?,
        };
    }
    Err(malformed)
}

/// Returns the hashes of lines that have been checked.
pub(crate) fn hashes(lines: &str) -> impl Iterator<Item = Hash> + use<'_> {
    lines.lines().filter_map(hash)
}
