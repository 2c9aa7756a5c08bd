//! Encoding of log and high-water mark.
//!
//! Log: a header `"MLADSAG4" || fingerprint || BE64 count || digest || mac` (112 bytes), then
//! records of 152 bytes: kind, attempt, six zeros, BE64 number, BE64 epoch, key, value (64
//! bytes, zero-filled) and a 32-byte keyed digest over the digest before and the record, which
//! is both checksum and rolling digest. Count and digest in the header are the position before
//! the first record: zero for a new log, the last position of the log before for a compacted
//! one. Mark: as the header, with `"MLADSAH4"`. All digests are keyed with
//! `PRF(seed, "F.guard", "", 32)`, so that only a holder of the seed can write them.

use mldsa_core::internals::{Secret, declassify, declassify_in_place};
use subtle::ConstantTimeEq;

use crate::journal::states::{Attempt, Digest, JournalEntry};
use crate::keys::seed::MasterSeed;
use crate::wire::framing::{Reader, hash_lp};

pub(crate) const HEADER_LEN: usize = 112;
pub(crate) const RECORD_LEN: usize = 152;
const BODY_LEN: usize = 120;

/// Number of records, and the rolling digest after the last of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) count: u64,
    pub(crate) digest: Digest,
}

/// Encoder and verifier for the journal of one seed.
pub(crate) struct Codec {
    pub(crate) fingerprint: Digest,
    key: Secret<Digest>,
}

impl Codec {
    pub(crate) fn new(seed: &MasterSeed) -> Self {
        Self {
            fingerprint: seed.fingerprint(),
            key: seed.derive(&[b"F.guard", b""]),
        }
    }

    /// Returns the position of a new log.
    pub(crate) fn start(&self) -> Position {
        Position {
            count: 0,
            digest: published(self.mac(b"start", &self.fingerprint)),
        }
    }

    pub(crate) fn header(&self, position: &Position) -> [u8; HEADER_LEN] {
        published(self.seal(b"MLADSAG4", b"log", position))
    }

    pub(crate) fn mark(&self, position: &Position) -> [u8; HEADER_LEN] {
        published(self.seal(b"MLADSAH4", b"mark", position))
    }

    /// Decodes the position in the header of a log, and the bytes after it.
    pub(crate) fn read_header<'a>(&self, log: &'a [u8]) -> Option<(Position, &'a [u8])> {
        let (header, records) = log.split_at_checked(HEADER_LEN)?;
        Some((self.unseal(b"MLADSAG4", b"log", header)?, records))
    }

    pub(crate) fn read_mark(&self, mark: &[u8]) -> Option<Position> {
        self.unseal(b"MLADSAH4", b"mark", mark)
    }

    /// Encodes the record of `entry` after `before`, and the position after it.
    pub(crate) fn record(
        &self,
        before: &Position,
        entry: &JournalEntry,
    ) -> ([u8; RECORD_LEN], Position) {
        let record = self.encode(before, entry);
        let after = Position {
            count: before.count + 1,
            digest: published(digest_of(&record)),
        };
        (published(record), after)
    }

    /// Decodes the entry of a record that follows on `before`, and the position after it.
    pub(crate) fn replay(
        &self,
        before: &Position,
        record: &[u8; RECORD_LEN],
    ) -> Option<(JournalEntry, Position)> {
        let entry = decode(record)?;
        let expected = self.encode(before, &entry);
        let after = Position {
            count: before.count + 1,
            digest: digest_of(record),
        };
        is_equal(&expected, record).then_some((entry, after))
    }

    /// Computes a keyed digest. It is secret until it is [`published`]: with the digest of a record
    /// of its own, another party could write that record.
    fn mac(&self, what: &[u8], bytes: &[u8]) -> Digest {
        hash_lp(b"MLADSA guard", &[self.key.expose(), what, bytes])
    }

    fn seal(&self, magic: &[u8; 8], what: &[u8], position: &Position) -> [u8; HEADER_LEN] {
        let mut sealed = [0; HEADER_LEN];
        sealed[..8].copy_from_slice(magic);
        sealed[8..40].copy_from_slice(&self.fingerprint);
        sealed[40..48].copy_from_slice(&position.count.to_be_bytes());
        sealed[48..80].copy_from_slice(&position.digest);
        let mac = self.mac(what, &sealed[..80]);
        sealed[80..].copy_from_slice(&mac);
        sealed
    }

    /// Decodes what `seal` encodes. There is one encoding only: magic, fingerprint and mac are
    /// compared with it.
    fn unseal(&self, magic: &[u8; 8], what: &[u8], sealed: &[u8]) -> Option<Position> {
        let mut reader = Reader::new(sealed, magic).ok()?;
        let _fingerprint: Digest = reader.array().ok()?;
        let position = Position {
            count: u64::from_be_bytes(reader.array().ok()?),
            digest: reader.array().ok()?,
        };
        is_equal(&self.seal(magic, what, &position), sealed).then_some(position)
    }

    fn encode(&self, before: &Position, entry: &JournalEntry) -> [u8; RECORD_LEN] {
        let mut record = [0; RECORD_LEN];
        let (body, digest) = record.split_at_mut(BODY_LEN);
        let (kind, attempt) = match entry {
            JournalEntry::Committee(_, identity) => {
                body[56..88].copy_from_slice(identity);
                (1, None)
            }
            JournalEntry::Committed(attempt, commitment, task) => {
                body[56..88].copy_from_slice(commitment);
                body[88..].copy_from_slice(task);
                (3, Some(attempt))
            }
            JournalEntry::Responded(attempt, c_tilde) => {
                body[56..].copy_from_slice(c_tilde);
                (4, Some(attempt))
            }
            JournalEntry::Revealed(attempt, hashes) => {
                body[56..].copy_from_slice(hashes);
                (7, Some(attempt))
            }
            JournalEntry::Retired(attempt) => (5, Some(attempt)),
            JournalEntry::Closed(_) => (6, None),
        };
        body[0] = kind;
        body[8..16].copy_from_slice(&before.count.to_be_bytes());
        body[16..24].copy_from_slice(&entry.epoch().to_be_bytes());
        if let Some(attempt) = attempt {
            body[1] = attempt.number;
            body[24..56].copy_from_slice(&attempt.key);
        }
        let mut chained = [0; 32 + BODY_LEN];
        chained[..32].copy_from_slice(&before.digest);
        chained[32..].copy_from_slice(body);
        digest.copy_from_slice(&self.mac(b"record", &chained));
        record
    }
}

fn digest_of(record: &[u8; RECORD_LEN]) -> Digest {
    let mut digest = [0; 32];
    digest.copy_from_slice(&record[BODY_LEN..]);
    digest
}

/// Decodes a record. [`Codec::replay`] encodes the entry again, which checks number, padding
/// and digest.
pub(crate) fn decode(record: &[u8; RECORD_LEN]) -> Option<JournalEntry> {
    let (head, tail) = record.split_at(16);
    let mut reader = Reader(tail);
    let epoch = u64::from_be_bytes(reader.array().ok()?);
    let attempt = Attempt {
        epoch,
        key: reader.array().ok()?,
        number: head[1],
    };
    let value: [u8; 64] = reader.array().ok()?;
    let (first, second) = (*value.first_chunk()?, *value.last_chunk()?);
    Some(match head[0] {
        1 => JournalEntry::Committee(epoch, first),
        3 => JournalEntry::Committed(attempt, first, second),
        4 => JournalEntry::Responded(attempt, value),
        5 => JournalEntry::Retired(attempt),
        6 => JournalEntry::Closed(epoch),
        7 => JournalEntry::Revealed(attempt, value),
        _ => return None,
    })
}

/// Marks bytes as public because the journal writes them to its storage.
fn published<const LEN: usize>(mut bytes: [u8; LEN]) -> [u8; LEN] {
    declassify_in_place(&mut bytes, "a keyed digest of the journal");
    bytes
}

/// Returns whether stored bytes are the computed ones. Constant time in the position of the first
/// difference.
fn is_equal(computed: &[u8], stored: &[u8]) -> bool {
    declassify(
        bool::from(computed.ct_eq(stored)),
        "verdict over a file of the journal",
    )
}

/// Computes the key of a task in the journal: `SHAKE256("F.onetime" || lp(fingerprint, label),
/// 32)`.
pub(crate) fn task_key(fingerprint: &Digest, label: &[u8]) -> Digest {
    hash_lp(b"F.onetime", &[fingerprint, label])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fingerprint, count and digest are public. Without a key in the digest, another party
    /// with write access could append records.
    #[test]
    fn record_digests_depend_on_the_seed() {
        let codecs = [1, 2].map(|n| Codec::new(&MasterSeed::from_bytes(&[n; 32])));
        let position = Position {
            count: 3,
            digest: [4; 32],
        };
        let [own, other] = codecs
            .each_ref()
            .map(|codec| codec.encode(&position, &JournalEntry::Closed(7)));
        assert_eq!(own[..BODY_LEN], other[..BODY_LEN]);
        assert_ne!(own[BODY_LEN..], other[BODY_LEN..]);
        let [own, other] = codecs.each_ref().map(|codec| codec.mac(b"mark", b"mark"));
        assert_ne!(own, other);
    }
}
