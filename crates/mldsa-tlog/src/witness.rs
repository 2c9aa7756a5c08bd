//! Bodies of the requests to witnesses (c2sp.org/tlog-witness). Answers are the lines that
//! [`Cosigner::sign`](crate::Cosigner::sign) returns; transport is left to the program.

use alloc::vec::Vec;
use core::fmt;

use crate::checkpoint::{Checkpoint, Subtree, hash, number, write_hash};
use crate::error::Error;
use crate::key::CosignerKey;
use crate::merkle::{Hash, empty, verify_consistency};
use crate::note::{Note, SignatureLine, check_lines, signatures};
use crate::proof::{body, hash_lines, hashes, next_line};

/// A request to cosign a checkpoint: `add-checkpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddCheckpoint<'a> {
    /// The size of the checkpoint that the witness cosigned last, as the log believes.
    pub old_size: u64,
    /// The proof that the trees are consistent.
    pub proof: Vec<Hash>,
    /// The checkpoint, signed by the log.
    pub note: &'a str,
}

impl<'a> AddCheckpoint<'a> {
    /// Parses the body of a request.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::Malformed`]: status 400.
    pub fn parse(request: &'a [u8]) -> Result<Self, Error> {
        let malformed = Error::Malformed("request");
        let mut rest = body(request)?;
        let line = next_line(&mut rest).ok_or(malformed)?;
        let old_size = line
            .strip_prefix("old ")
            .and_then(number)
            .ok_or(malformed)?;
        let proof = hashes(hash_lines(&mut rest)?).collect();
        Note::parse(rest.as_bytes())?;
        Ok(Self {
            old_size,
            proof,
            note: rest,
        })
    }

    /// Decides what a witness answers. `log` returns the key of a log that the witness knows, and `latest` is
    /// size and root of the checkpoint that it cosigned last for that log, or the empty tree (0 and any hash).
    ///
    /// The witness then stores size and root **before** it sends a cosignature, and only if what it has stored
    /// is still `latest`. Two requests at a time that skip this make it cosign a smaller tree later.
    ///
    /// # Errors
    /// [`Refusal`], which has the status of the answer.
    pub fn check<'k>(
        &self,
        log: impl FnOnce(&str) -> Option<(&'k CosignerKey, (u64, Hash))>,
    ) -> Result<Checkpoint<'a>, Refusal> {
        let note = Note::parse(self.note.as_bytes()).map_err(|_| Refusal::Malformed)?;
        let checkpoint = Checkpoint::parse(note.text()).map_err(|_| Refusal::Malformed)?;
        let (key, (size, root)) = log(checkpoint.origin).ok_or(Refusal::UnknownLog)?;
        key.verify_note(&note).map_err(|_| Refusal::NotSigned)?;
        if self.old_size > checkpoint.size {
            return Err(Refusal::Malformed);
        }
        if self.old_size != size
            || (size == checkpoint.size && size != 0 && root != checkpoint.root)
        {
            return Err(Refusal::Conflict { size });
        }
        let consistent = if size == 0 {
            self.proof.is_empty() && (checkpoint.size != 0 || checkpoint.root == empty())
        } else {
            let old = Subtree {
                start: 0,
                end: size,
                hash: root,
            };
            verify_consistency(&old, checkpoint.size, &checkpoint.root, &self.proof).is_ok()
        };
        if consistent {
            Ok(checkpoint)
        } else {
            Err(Refusal::Inconsistent)
        }
    }
}

/// Writes the body of the request.
impl fmt::Display for AddCheckpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old_size)?;
        self.proof.iter().try_for_each(|hash| write_hash(f, hash))?;
        write!(f, "\n{}", self.note)
    }
}

/// Why a witness does not cosign a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request is not well formed, or the old size is above the new one.
    Malformed,
    /// The log has not signed the checkpoint.
    NotSigned,
    /// The witness does not know the log.
    UnknownLog,
    /// The witness has cosigned another checkpoint, of this size: decimal digits and a newline are the body of the answer,
    /// and its type is `text/x.tlog.size`.
    Conflict {
        /// The size.
        size: u64,
    },
    /// The checkpoint is not consistent with the one before.
    Inconsistent,
}

impl Refusal {
    /// Returns the status of the answer in HTTP.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::NotSigned => 403,
            Self::UnknownLog => 404,
            Self::Conflict { .. } => 409,
            Self::Inconsistent => 422,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("malformed request"),
            Self::NotSigned => f.write_str("not signed by the log"),
            Self::UnknownLog => f.write_str("unknown log"),
            Self::Conflict { size } => write!(f, "the last cosigned checkpoint has size {size}"),
            Self::Inconsistent => f.write_str("not consistent with the last cosigned checkpoint"),
        }
    }
}

impl core::error::Error for Refusal {}

/// A request to cosign a subtree: `sign-subtree`. A witness verifies the signatures of the reference checkpoint,
/// among them its own earlier one if it keeps no state, before it checks consistency and signs with time 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignSubtree<'a> {
    /// The subtree.
    pub subtree: Subtree,
    /// Lines with cosignatures of the subtree, each with its newline. There may be none.
    lines: &'a str,
    /// The proof that the subtree is part of the tree.
    pub proof: Vec<Hash>,
    /// The reference checkpoint.
    pub note: &'a str,
}

impl<'a> SignSubtree<'a> {
    /// Parses the body of a request.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Subtree`] and [`Error::Malformed`]: status 400.
    pub fn parse(request: &'a [u8]) -> Result<Self, Error> {
        let malformed = Error::Malformed("request");
        let mut rest = body(request)?;
        let range = next_line(&mut rest).and_then(|line| line.strip_prefix("subtree "));
        let (start, end) = range
            .and_then(|range| range.split_once(' '))
            .ok_or(malformed)?;
        let (start, end) = (
            number(start).ok_or(malformed)?,
            number(end).ok_or(malformed)?,
        );
        let hash = next_line(&mut rest).and_then(hash).ok_or(malformed)?;
        let subtree = Subtree { start, end, hash };
        subtree.check()?;
        let all = rest;
        while rest.starts_with('\u{2014}') {
            next_line(&mut rest).ok_or(malformed)?;
        }
        let lines = &all[..all.len() - rest.len()];
        check_lines(lines)?;
        let proof = hashes(hash_lines(&mut rest)?).collect();
        let size = Checkpoint::parse(Note::parse(rest.as_bytes())?.text())?.size;
        if end > size {
            return Err(Error::Subtree);
        }
        Ok(Self {
            subtree,
            lines,
            proof,
            note: rest,
        })
    }

    /// Returns the cosignatures of the subtree.
    pub fn cosignatures(&self) -> impl Iterator<Item = SignatureLine<'a>> + use<'a> {
        signatures(self.lines)
    }

    /// Checks that the subtree is part of the tree of the reference checkpoint, whose signatures the caller has verified.
    ///
    /// # Errors
    /// [`Error::Proof`]: status 422.
    pub fn check_consistency(&self) -> Result<Checkpoint<'a>, Error> {
        let checkpoint = Checkpoint::parse(Note::parse(self.note.as_bytes())?.text())?;
        verify_consistency(
            &self.subtree,
            checkpoint.size,
            &checkpoint.root,
            &self.proof,
        )?;
        Ok(checkpoint)
    }
}
