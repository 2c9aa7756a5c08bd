//! Which logs and witnesses are believed (c2sp.org/tlog-policy).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

#[cfg(feature = "batch")]
use batch_verify::{Committee, CommitteeVerifier, Threads, Vote};
#[cfg(feature = "batch")]
use mldsa_core::{Context, MlDsa44};

use crate::checkpoint::{Checkpoint, number};
use crate::error::Error;
use crate::key::{CosignerKey, Vkey};
use crate::message::Cosignature;
#[cfg(feature = "batch")]
use crate::message::SignedMessage;
use crate::note::{MAX_BYTES, Note, SignatureLine};

/// The most logs, and the most witnesses and groups, of a policy.
pub const MAX_NAMES: usize = 128;

/// Logs, witnesses and the quorum of witnesses that makes a checkpoint valid. A policy of `n` keys takes
/// 22 kB for each key (twice as many with feature `batch`), and a note costs it at most `n` verifications.
///
/// Keys of other algorithms may stand in a policy. Their signatures are not verified here and never count.
#[derive(Debug)]
pub struct Policy {
    #[cfg(feature = "batch")]
    committee: Option<CommitteeVerifier<MlDsa44>>,
    logs: Vec<CosignerKey>,
    nodes: Vec<Node>,
    quorum: Option<usize>,
}

/// A name that a quorum can ask for. Groups follow their members.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "most nodes are witnesses")]
enum Node {
    Witness(CosignerKey),
    /// A witness whose algorithm is not ML-DSA-44.
    Other,
    Group {
        threshold: usize,
        members: Vec<usize>,
    },
}

/// The place of a line, its key, and what it has.
type Found<'a> = (usize, &'a CosignerKey, Result<Cosignature, Error>);

/// A line of a policy that is refused, counted from 1. Line 0: the quorum is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The line.
    pub line: usize,
    /// The reason.
    pub reason: Error,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl core::error::Error for PolicyError {}

/// A checkpoint that satisfies a policy.
#[derive(Clone, Debug)]
pub struct Verified<'a> {
    /// The checkpoint.
    pub checkpoint: Checkpoint<'a>,
    /// The names and the times of the witnesses that have signed, in the order of the policy. A time of 0
    /// says nothing about time.
    pub witnesses: Vec<(&'a str, u64)>,
}

impl Policy {
    /// Parses a policy.
    ///
    /// # Errors
    /// The first line that is refused, and why. [`Error::TooLarge`] above [`MAX_BYTES`] and [`MAX_NAMES`].
    pub fn parse(policy: &[u8]) -> Result<Self, PolicyError> {
        if policy.len() > MAX_BYTES {
            return Err(PolicyError {
                line: 0,
                reason: Error::TooLarge,
            });
        }
        let mut parser = Parser::default();
        for (line, text) in policy.split(|byte| *byte == b'\n').enumerate() {
            parser.line(text).map_err(|reason| PolicyError {
                line: line + 1,
                reason,
            })?;
        }
        let reason = Error::Malformed("quorum");
        let quorum = parser.quorum.ok_or(PolicyError { line: 0, reason })?;
        Ok(Self {
            #[cfg(feature = "batch")]
            committee: committee(&parser),
            logs: parser.logs,
            nodes: parser.nodes,
            quorum,
        })
    }

    /// Verifies a checkpoint: one of the logs has signed it under its own name, and so has the quorum.
    /// Every signature of a known key is verified, the first of each key, and the first line that is
    /// refused ends it.
    ///
    /// # Errors
    /// [`Error::NotSigned`] if no log has signed, [`Error::Quorum`], and those of [`Checkpoint::parse`],
    /// [`SignatureLine::cosignature`] and [`CosignerKey::verify`].
    pub fn verify<'a>(&'a self, note: &Note<'a>) -> Result<Verified<'a>, Error> {
        let checkpoint = Checkpoint::parse(note.text())?;
        let lines: Vec<SignatureLine<'_>> = note.signatures().collect();
        let mut found = Vec::new();
        let mut time = |key: &'a CosignerKey| {
            let own = |line: &SignatureLine<'_>| line.name == key.name() && line.id == key.id();
            let at = lines.iter().position(own)?;
            let cosignature = lines[at].cosignature();
            let time = cosignature.as_ref().map_or(0, |own| own.time);
            found.push((at, key, cosignature));
            Some(time)
        };
        let mut by_log = false;
        for log in &self.logs {
            by_log |= log.name() == checkpoint.origin && time(log).is_some();
        }
        if !by_log {
            return Err(Error::NotSigned);
        }
        let (mut witnesses, mut signed) = (Vec::new(), Vec::with_capacity(self.nodes.len()));
        for node in &self.nodes {
            signed.push(match node {
                Node::Other => false,
                Node::Witness(key) => {
                    let time = time(key);
                    witnesses.extend(time.map(|time| (key.name(), time)));
                    time.is_some()
                }
                Node::Group { threshold, members } => {
                    members.iter().filter(|member| signed[**member]).count() >= *threshold
                }
            });
        }
        found.sort_by_key(|(at, ..)| *at);
        self.check(&checkpoint, &found)?;
        if self.quorum.is_none_or(|quorum| signed[quorum]) {
            Ok(Verified {
                checkpoint,
                witnesses,
            })
        } else {
            Err(Error::Quorum)
        }
    }

    /// Verifies signatures of a checkpoint, one after the other.
    #[cfg(not(feature = "batch"))]
    fn check(&self, checkpoint: &Checkpoint<'_>, found: &[Found<'_>]) -> Result<(), Error> {
        let (origin, tree) = (checkpoint.origin, checkpoint.tree());
        let mut found = found.iter();
        found.try_for_each(|(_, key, own)| key.verify(origin, &tree, own.as_ref().map_err(|e| *e)?))
    }

    /// Verifies signatures of a checkpoint together, up to the first line that has none.
    #[cfg(feature = "batch")]
    fn check(&self, checkpoint: &Checkpoint<'_>, found: &[Found<'_>]) -> Result<(), Error> {
        let (origin, tree) = (checkpoint.origin, checkpoint.tree());
        let committee = self.committee.as_ref().ok_or(Error::NotSigned)?;
        let mut signed = Vec::new();
        let verdict = found.iter().try_for_each(|(_, key, own)| {
            let own = own.as_ref().map_err(|error| *error)?;
            let message = SignedMessage::new(key.name(), own.time, origin, &tree)?;
            let member = committee.committee().member_of(key.verifying_key());
            signed.push((member.ok_or(Error::NotSigned)?, message, &own.signature));
            Ok(())
        });
        let votes = signed.iter();
        let votes = votes.map(|(member, message, own)| Vote::new(*member, message.as_ref(), *own));
        let report = committee.verify_batch(votes);
        match report.require_all() {
            Err(_) if !signed.is_empty() => Err(Error::Signature),
            _ => verdict,
        }
    }
}

/// Makes the committee of all keys, or of none. A log and a witness may have the same key.
#[cfg(feature = "batch")]
fn committee(parser: &Parser) -> Option<CommitteeVerifier<MlDsa44>> {
    let witnesses = parser.nodes.iter().filter_map(|node| match node {
        Node::Witness(key) => Some(key),
        _ => None,
    });
    let keys = parser.logs.iter().chain(witnesses);
    let keys: BTreeSet<&[u8]> = keys.map(|key| key.verifying_key().as_ref()).collect();
    let committee = Committee::builder(Context::EMPTY).threads(Threads::Inline);
    let committee = committee.build(keys.into_iter().map(|key| (key, 1)));
    Some(committee.ok()?.verifier())
}

#[derive(Default)]
struct Parser {
    logs: Vec<CosignerKey>,
    nodes: Vec<Node>,
    /// Names of witnesses and groups, and whether a group has them.
    names: BTreeMap<Vec<u8>, (usize, bool)>,
    log_keys: BTreeSet<Vec<u8>>,
    witness_keys: BTreeSet<Vec<u8>>,
    quorum: Option<Option<usize>>,
}

impl Parser {
    fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        if line
            .iter()
            .any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f)
        {
            return Err(Error::Malformed("character"));
        }
        let items: Vec<&[u8]> = line
            .split(|byte| matches!(byte, b' ' | b'\t'))
            .filter(|item| !item.is_empty())
            .collect();
        match items[..] {
            [] => Ok(()),
            [first, ..] if first.starts_with(b"#") => Ok(()),
            [b"log", vkey] | [b"log", vkey, _] => {
                let log = key(vkey, &mut self.log_keys)?;
                self.logs.extend(log);
                Ok(())
            }
            [b"witness", name, vkey] | [b"witness", name, vkey, _] => {
                let witness = key(vkey, &mut self.witness_keys)?;
                self.define(name, witness.map_or(Node::Other, Node::Witness))
            }
            [b"group", name, threshold, ref members @ ..] if !members.is_empty() => {
                self.group(name, threshold, members)
            }
            [b"quorum", name] if self.quorum.is_none() => {
                let unknown = Error::Malformed("name");
                let node = match name {
                    b"none" => None,
                    _ => Some(self.names.get(name).ok_or(unknown)?.0),
                };
                self.quorum = Some(node);
                Ok(())
            }
            _ => Err(Error::Malformed("line")),
        }
    }

    fn group(&mut self, name: &[u8], threshold: &[u8], members: &[&[u8]]) -> Result<(), Error> {
        let count = members.len();
        let threshold = match threshold {
            b"any" => Some(1),
            b"all" => Some(count),
            other => core::str::from_utf8(other)
                .ok()
                .and_then(number)
                .and_then(|n| n.try_into().ok()),
        };
        let threshold = threshold.filter(|n| (1..=count).contains(n));
        let threshold = threshold.ok_or(Error::Malformed("threshold"))?;
        let mut nodes = Vec::new();
        for member in members {
            // Each name is a member of one group at most, so that a witness counts once.
            let (node, taken) = self
                .names
                .get_mut(*member)
                .ok_or(Error::Malformed("name"))?;
            if core::mem::replace(taken, true) {
                return Err(Error::Malformed("member"));
            }
            nodes.push(*node);
        }
        self.define(
            name,
            Node::Group {
                threshold,
                members: nodes,
            },
        )
    }

    fn define(&mut self, name: &[u8], node: Node) -> Result<(), Error> {
        if self.nodes.len() == MAX_NAMES {
            return Err(Error::TooLarge);
        }
        if name == b"none"
            || self
                .names
                .insert(name.into(), (self.nodes.len(), false))
                .is_some()
        {
            return Err(Error::Malformed("name"));
        }
        self.nodes.push(node);
        Ok(())
    }
}

/// Reads a key that is not yet among `known`. Returns nothing for a key of another algorithm.
fn key(vkey: &[u8], known: &mut BTreeSet<Vec<u8>>) -> Result<Option<CosignerKey>, Error> {
    let vkey = core::str::from_utf8(vkey).map_err(|_| Error::Malformed("verifier key"))?;
    if known.len() == MAX_NAMES {
        return Err(Error::TooLarge);
    }
    let read = match CosignerKey::parse(vkey) {
        Ok(key) => Some(key),
        Err(Error::Algorithm) => None,
        Err(error) => return Err(error),
    };
    // Two keys are the same whatever their names and types.
    if !known.insert(Vkey::parse(vkey)?.bytes.split_off(1)) {
        return Err(Error::Malformed("duplicate key"));
    }
    Ok(read)
}
