//! Checkpoints (c2sp.org/tlog-checkpoint) and subtrees.

use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::error::Error;
use crate::merkle::Hash;
use crate::note::MAX_BYTES;

/// The text of a checkpoint: the state of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint<'a> {
    /// The name of the log.
    pub origin: &'a str,
    /// The number of leaves.
    pub size: u64,
    /// The hash of the tree.
    pub root: Hash,
}

impl<'a> Checkpoint<'a> {
    /// Parses the text of a note.
    ///
    /// # Errors
    /// [`Error::ExtensionLines`] for a text that a signature of ML-DSA-44 would cover in part only,
    /// [`Error::TooLarge`] and [`Error::Malformed`].
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        let malformed = Error::Malformed("checkpoint");
        if text.len() > MAX_BYTES {
            return Err(Error::TooLarge);
        }
        let mut lines = text.strip_suffix('\n').ok_or(malformed)?.split('\n');
        let mut line = || lines.next().ok_or(malformed);
        let (origin, size, root) = (line()?, line()?, line()?);
        if line().is_ok() {
            return Err(Error::ExtensionLines);
        }
        if origin.is_empty() || origin.contains(|character| character < ' ') {
            return Err(malformed);
        }
        let (size, root) = (number(size).ok_or(malformed)?, hash(root).ok_or(malformed)?);
        Ok(Self { origin, size, root })
    }

    /// Returns the whole tree.
    #[must_use]
    pub fn tree(&self) -> Subtree {
        Subtree {
            start: 0,
            end: self.size,
            hash: self.root,
        }
    }
}

impl fmt::Display for Checkpoint<'_> {
    /// Writes the text, with the last newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.origin, self.size)?;
        write_hash(f, &self.root)
    }
}

/// The leaves from `start` to before `end` of a log. A tree is a subtree that starts at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subtree {
    /// The first leaf.
    pub start: u64,
    /// The leaf after the last one.
    pub end: u64,
    /// The hash of the subtree.
    pub hash: Hash,
}

impl Subtree {
    /// Checks that the tree of a log has a node, or part of a node, with these leaves: that `start` is a multiple of
    /// the least power of two that is not below the number of leaves. Of the ranges without leaves only `0..0`, the tree of a new log,
    /// is one: drafts after draft-ietf-plants-merkle-tree-certs-05 have all of them.
    ///
    /// # Errors
    /// [`Error::Subtree`].
    pub fn check(&self) -> Result<(), Error> {
        let valid = self.start == 0
            || (self.start < self.end
                && (self.end - self.start)
                    .checked_next_power_of_two()
                    .is_some_and(|width| self.start.is_multiple_of(width)));
        if valid { Ok(()) } else { Err(Error::Subtree) }
    }
}

/// Reads a decimal number without leading zeros.
pub(crate) fn number(text: &str) -> Option<u64> {
    let canonical =
        text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    text.parse().ok().filter(|_| canonical)
}

/// Reads a hash in base64.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    let len = BASE64.decode_slice(text, &mut hash).ok()?;
    (len == hash.len()).then_some(hash)
}

/// Writes a hash in base64, and a newline.
pub(crate) fn write_hash(f: &mut impl fmt::Write, hash: &Hash) -> fmt::Result {
    writeln!(f, "{}", base64::display::Base64Display::new(hash, &BASE64))
}
