//! The guard of one master seed: the rules of `states`, made durable.
//!
//! Log: `"MLADSAG2" || fingerprint || BE64 count || digest || mac` (112 bytes), then
//! records of 152 bytes: kind, attempt, six zeros, BE64 number, BE64 epoch, key,
//! value (64 bytes, zero-filled) and 32 bytes over the digest before and the record,
//! which are both checksum and rolling digest. Count and digest in the header say
//! where the first record goes on: zero for a new log, the last state of the log
//! before for a compacted one. Mark: `"MLADSAH2" || fingerprint || BE64 count ||
//! digest || mac`. All digests are keyed with `PRF(seed, "F.guard", "", 32)`: nobody
//! without the seed writes a log or a mark.
//!
//! The log is flushed before the mark is replaced, and both before anything is
//! released. So a log that is ahead of its mark is the trace of a crash, and its
//! last record may be torn; a log behind its mark was rolled back.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::Backend;
use mldsa_core::internals::{Secret, declassify, declassify_in_place, shake256_lanes};
use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::guard::medium::{LogMedium, MarkMedium, MediumError};
use crate::guard::memory::{MemoryLogForTests, MemoryMarkForTests};
use crate::guard::states::{Attempt, Entry, Progress, States};
use crate::keys::scope::EpochLabel;
use crate::keys::seed::{MasterSeed, SeedFingerprint};
use crate::wire::framing::{Reader, hash_lp, lp};

const LOG: &[u8; 8] = b"MLADSAG2";
const MARK: &[u8; 8] = b"MLADSAH2";
const HEADER_LEN: usize = 112;
const RECORD_LEN: usize = 152;
const BODY_LEN: usize = 120;

type Digest = [u8; 32];

/// The durable one-time guard of one master seed. It holds the seed to one plan and
/// one list of roots for each epoch, to one payload for each base label, to one
/// commitment and one response for each attempt, and attempts to their order.
///
/// What it has recorded survives the loss of power before anything is released. If
/// recording fails, nothing is; a guard whose flush failed refuses everything until
/// it is opened anew. A guard that was restored from a backup or copied with its
/// machine is lost: retire the master seed.
pub struct Guard {
    log: Box<dyn LogMedium>,
    mark: Box<dyn MarkMedium>,
    fingerprint: SeedFingerprint,
    key: Secret<Digest>,
    states: States,
    count: u64,
    digest: Digest,
    // what the media have to hold: nobody else writes to them
    len: u64,
    marked: Vec<u8>,
    // false from before a write until it is complete
    usable: bool,
}

impl Guard {
    /// Makes the guard of a seed that has never signed. Completes a creation that
    /// was interrupted; refuses media that have ever held a complete one.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    pub fn create(
        log: impl LogMedium + 'static,
        mark: impl MarkMedium + 'static,
        seed: &MasterSeed,
    ) -> Result<Self, Error> {
        let mut guard = Self::empty(Box::new(log), Box::new(mark), seed);
        guard.digest = published(guard.mac(b"start", guard.fingerprint.as_bytes()));
        let header = guard.header();
        let log = guard.log.read().map_err(failure)?;
        let mark = guard.mark.read().map_err(failure)?;
        // Without a mark no record has ever been written, so nothing was released.
        let begun = header.get(..log.len()).is_some_and(|own| same(own, &log));
        if mark.is_some() || !begun {
            return Err(Error::GuardFailure);
        }
        let header = published(header);
        if log.len() < HEADER_LEN {
            guard.log.truncate(0).map_err(failure)?;
            guard.log.append(&header).map_err(failure)?;
        }
        guard.log.flush().map_err(failure)?;
        guard.len = HEADER_LEN as u64;
        guard.raise_mark()?;
        guard.usable = true;
        Ok(guard)
    }

    /// Opens the guard of `seed`. Whatever is missing or damaged, but for a last
    /// record that a crash tore, is a failure: then the seed is to be retired.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    pub fn open(
        log: impl LogMedium + 'static,
        mark: impl MarkMedium + 'static,
        seed: &MasterSeed,
    ) -> Result<Self, Error> {
        let mut guard = Self::empty(Box::new(log), Box::new(mark), seed);
        let log = guard.log.read().map_err(failure)?;
        let marked = guard.mark.read().map_err(failure)?;
        guard.marked = marked.ok_or(Error::GuardFailure)?;
        let mark = guard.parse_mark()?;
        let records = guard.parse_header(&log)?;
        let mut known = (guard.count, guard.digest) == mark;
        let mut rest = records;
        while let Some((record, later)) = rest.split_first_chunk() {
            if guard.replay(record).is_err() {
                break;
            }
            known |= (guard.count, guard.digest) == mark;
            rest = later;
        }
        // Behind the mark, or another history: rolled back. Anything but one torn
        // record at the end: damaged.
        if !known || rest.len() > RECORD_LEN {
            return Err(Error::GuardFailure);
        }
        guard.len = (log.len() - rest.len()) as u64;
        if !rest.is_empty() {
            guard.log.truncate(guard.len).map_err(failure)?;
        }
        if !rest.is_empty() || guard.count != mark.0 {
            guard.log.flush().map_err(failure)?;
            guard.raise_mark()?;
        }
        guard.usable = true;
        Ok(guard)
    }

    /// A guard that a restart erases. **A signer that restarts with an empty guard
    /// gives its keys away**: for tests, simulations and measurements only.
    ///
    /// # Errors
    /// None: memory does not fail.
    pub fn in_memory_for_tests(seed: &MasterSeed) -> Result<Self, Error> {
        let (log, mark) = (MemoryLogForTests::default(), MemoryMarkForTests::default());
        Self::create(log, mark, seed)
    }

    /// The seed that it belongs to.
    pub fn fingerprint(&self) -> SeedFingerprint {
        self.fingerprint
    }

    /// The digest of the list of roots that the seed acknowledged for `epoch`.
    pub fn roots(&self, epoch: u64) -> Option<Digest> {
        self.states.roots(epoch)
    }

    /// The last epoch that was closed.
    pub fn closed(&self) -> Option<u64> {
        self.states.closed()
    }

    /// The last epoch that the seed has served or closed: one that takes its place
    /// has to be closed up to there.
    pub fn last_epoch(&self) -> Option<u64> {
        self.states.last_epoch()
    }

    /// Ends `epoch` and all before it: nothing more is released for them, and their
    /// records leave the log.
    ///
    /// # Errors
    /// [`Error::GuardFailure`].
    pub fn close_epoch(&mut self, epoch: u64) -> Result<(), Error> {
        self.record(&[Entry::Closed(epoch)])?;
        self.usable = false;
        self.unchanged()?;
        // The new log goes on where the old one ends, so the present mark is known
        // to both: whichever is there after a crash is accepted.
        let old = self.log.read().map_err(failure)?;
        let mut compact = published(self.header()).to_vec();
        let (mut count, mut digest) = (self.count, self.digest);
        let records = old.get(HEADER_LEN..).unwrap_or_default();
        let closed = Entry::Closed(epoch);
        let kept = records.as_chunks::<RECORD_LEN>().0.iter();
        let kept = kept.filter_map(|record| decode(record).ok().map(|(_, entry)| entry));
        let kept = kept.filter(|entry| entry.epoch() > epoch);
        for entry in core::iter::once(closed).chain(kept) {
            let (record, chained) = self.encode(count, &digest, &entry);
            compact.extend_from_slice(&published(record));
            (count, digest) = (count + 1, published(chained));
        }
        self.log.replace(&compact).map_err(failure)?;
        (self.count, self.digest) = (count, digest);
        self.len = compact.len() as u64;
        self.raise_mark()?;
        self.usable = true;
        Ok(())
    }

    /// Binds the seed to what it serves in `epoch`.
    pub(crate) fn bind(&mut self, epoch: u64, plan: &Digest) -> Result<(), Error> {
        self.record(&[Entry::Plan(epoch, *plan)])
    }

    /// Binds it to a list of roots too.
    pub(crate) fn agree(&mut self, epoch: u64, plan: &Digest, roots: &Digest) -> Result<(), Error> {
        self.record(&[Entry::Plan(epoch, *plan)])?;
        self.record(&[Entry::Roots(epoch, *roots)])
    }

    /// Refuses what was not acknowledged.
    pub(crate) fn has_agreed(&self, epoch: u64, roots: &Digest) -> Result<(), Error> {
        match self.states.roots(epoch) {
            _ if !self.usable => Err(Error::GuardFailure),
            Some(known) if known == *roots => Ok(()),
            _ => Err(Error::RootsNotAgreed),
        }
    }

    /// Fresh to committed, or the same commitment again.
    pub(crate) fn commit(
        &mut self,
        attempt: &Attempt,
        digest: &Digest,
        decision: &Digest,
    ) -> Result<(), Error> {
        self.record(&[Entry::Committed(*attempt, *digest, *decision)])
    }

    /// A restart between commitment and response, or after a response that may not
    /// have arrived. What was answered is settled by [`Self::respond`].
    pub(crate) fn resume(&self, attempt: &Attempt, digest: &Digest) -> Result<(), Error> {
        match self.states.progress(attempt) {
            _ if !self.usable => Err(Error::GuardFailure),
            Some(Progress::Committed(known) | Progress::Responded(known, _))
                if known == *digest =>
            {
                Ok(())
            }
            _ => Err(Error::OneTimeViolation),
        }
    }

    /// Committed to responded, or the same response again.
    pub(crate) fn respond(
        &mut self,
        attempt: &Attempt,
        digest: &Digest,
        c_tilde: &[u8; 64],
    ) -> Result<(), Error> {
        self.resume(attempt, digest)?;
        self.record(&[Entry::Responded(*attempt, *c_tilde)])
    }

    /// Any state to retired, for all attempts up to this one: one flush.
    pub(crate) fn retire(&mut self, attempt: &Attempt) -> Result<(), Error> {
        let all = (0..=attempt.number).map(|number| Entry::Retired(Attempt { number, ..*attempt }));
        self.record(&all.collect::<Vec<_>>())
    }

    /// The name of a decision in the guard: of the seed and of the label, not of the
    /// member, because the PRF does not know it.
    pub(crate) fn decision_key(&self, base: &EpochLabel) -> Digest {
        onetime_key(&self.fingerprint, base.as_bytes())
    }

    /// Records what is new of `entries` durably. They do not depend on each other.
    fn record(&mut self, entries: &[Entry]) -> Result<(), Error> {
        if !self.usable {
            return Err(Error::GuardFailure);
        }
        let mut bytes = Vec::new();
        let mut new = Vec::new();
        let (mut count, mut digest) = (self.count, self.digest);
        for entry in entries {
            if self.states.admit(entry)? {
                let (record, chained) = self.encode(count, &digest, entry);
                bytes.extend_from_slice(&published(record));
                new.push(entry);
                (count, digest) = (count + 1, published(chained));
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        // Whatever fails from here on leaves a store that only a restart can
        // judge.
        self.usable = false;
        self.unchanged()?;
        self.log.append(&bytes).map_err(failure)?;
        self.log.flush().map_err(failure)?;
        self.len += bytes.len() as u64;
        // Another writer, where locks do not work, shows in the length.
        self.unchanged()?;
        for entry in new {
            self.states.apply(entry);
        }
        (self.count, self.digest) = (count, digest);
        self.raise_mark()?;
        self.usable = true;
        Ok(())
    }

    /// The media hold what this process put there.
    fn unchanged(&mut self) -> Result<(), Error> {
        let len = self.log.size().map_err(failure)?;
        let mark = self.mark.read().map_err(failure)?;
        (len == self.len && mark.as_ref() == Some(&self.marked))
            .then_some(())
            .ok_or(Error::GuardFailure)
    }

    fn raise_mark(&mut self) -> Result<(), Error> {
        let mut mark = MARK.to_vec();
        mark.extend_from_slice(self.fingerprint.as_bytes());
        mark.extend_from_slice(&self.count.to_be_bytes());
        mark.extend_from_slice(&self.digest);
        mark.extend_from_slice(&published(self.mac(b"mark", &mark)));
        self.mark.stage(&mark).map_err(failure)?;
        self.mark.publish().map_err(failure)?;
        self.marked = mark;
        Ok(())
    }

    fn empty(log: Box<dyn LogMedium>, mark: Box<dyn MarkMedium>, seed: &MasterSeed) -> Self {
        let mut key = Secret::<Digest>::zeroed();
        let framed = lp(&[b"F.guard", b""]);
        shake256_lanes(Backend::detect(), [seed.prf(&framed, key.expose_mut())]);
        Self {
            log,
            mark,
            fingerprint: seed.fingerprint(),
            key,
            states: States::default(),
            count: 0,
            digest: [0; 32],
            len: 0,
            marked: Vec::new(),
            usable: false,
        }
    }

    /// A keyed digest. Until it is [`published`] it is a secret: who learns that of a
    /// record of his own can write it.
    fn mac(&self, what: &[u8], bytes: &[u8]) -> Digest {
        hash_lp(b"MLADSA guard", &[self.key.expose(), what, bytes])
    }

    fn header(&self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[..8].copy_from_slice(LOG);
        header[8..40].copy_from_slice(self.fingerprint.as_bytes());
        header[40..48].copy_from_slice(&self.count.to_be_bytes());
        header[48..80].copy_from_slice(&self.digest);
        let mac = self.mac(b"log", &header[..80]);
        header[80..].copy_from_slice(&mac);
        header
    }

    /// Takes up where a log goes on from, and returns its records.
    fn parse_header<'a>(&mut self, log: &'a [u8]) -> Result<&'a [u8], Error> {
        let (header, records) = log
            .split_at_checked(HEADER_LEN)
            .ok_or(Error::GuardFailure)?;
        let mut reader = Reader::new(header, LOG).map_err(|_| Error::GuardFailure)?;
        let _fingerprint: Digest = reader.array()?;
        self.count = u64::from_be_bytes(reader.array()?);
        self.digest = reader.array()?;
        // One encoding only: fingerprint and mac are compared with it.
        same(&self.header(), header)
            .then_some(records)
            .ok_or(Error::GuardFailure)
    }

    fn parse_mark(&self) -> Result<(u64, Digest), Error> {
        let (body, mac) = self
            .marked
            .split_last_chunk::<32>()
            .ok_or(Error::GuardFailure)?;
        let mut reader = Reader::new(body, MARK).map_err(|_| Error::GuardFailure)?;
        let mut parse = || -> Result<(Digest, u64, Digest), Error> {
            let fingerprint = reader.array()?;
            let count = u64::from_be_bytes(reader.array()?);
            Ok((fingerprint, count, reader.array()?))
        };
        let (fingerprint, count, digest) = parse().map_err(|_| Error::GuardFailure)?;
        let whole = body.len() == 80 && fingerprint == *self.fingerprint.as_bytes();
        (whole && same(&self.mac(b"mark", body), mac))
            .then_some((count, digest))
            .ok_or(Error::GuardFailure)
    }

    /// Takes up one record from the log.
    fn replay(&mut self, record: &[u8; RECORD_LEN]) -> Result<(), Error> {
        let (number, entry) = decode(record)?;
        let (expected, digest) = self.encode(number, &self.digest, &entry);
        if number != self.count || !same(&expected, record) || !self.states.admit(&entry)? {
            return Err(Error::GuardFailure);
        }
        self.states.apply(&entry);
        self.count += 1;
        // The same as what was read.
        self.digest = published(digest);
        Ok(())
    }

    /// A record, and the rolling digest behind it.
    fn encode(&self, number: u64, before: &Digest, entry: &Entry) -> ([u8; RECORD_LEN], Digest) {
        let mut record = [0; RECORD_LEN];
        let (body, digest) = record.split_at_mut(BODY_LEN);
        let attempt = match entry {
            Entry::Plan(_, value) => {
                body[0] = 1;
                body[56..88].copy_from_slice(value);
                None
            }
            Entry::Roots(_, value) => {
                body[0] = 2;
                body[56..88].copy_from_slice(value);
                None
            }
            Entry::Committed(attempt, commitment, decision) => {
                body[0] = 3;
                body[56..88].copy_from_slice(commitment);
                body[88..].copy_from_slice(decision);
                Some(attempt)
            }
            Entry::Responded(attempt, c_tilde) => {
                body[0] = 4;
                body[56..].copy_from_slice(c_tilde);
                Some(attempt)
            }
            Entry::Retired(attempt) => {
                body[0] = 5;
                Some(attempt)
            }
            Entry::Closed(_) => {
                body[0] = 6;
                None
            }
        };
        body[8..16].copy_from_slice(&number.to_be_bytes());
        body[16..24].copy_from_slice(&entry.epoch().to_be_bytes());
        if let Some(attempt) = attempt {
            body[1] = attempt.number;
            body[24..56].copy_from_slice(&attempt.key);
        }
        let mut chained = before.to_vec();
        chained.extend_from_slice(body);
        let chained = self.mac(b"record", &chained);
        digest.copy_from_slice(&chained);
        (record, chained)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({} records)", self.count)
    }
}

/// What the guard writes to its files.
fn published<const LEN: usize>(mut bytes: [u8; LEN]) -> [u8; LEN] {
    declassify_in_place(&mut bytes, "a keyed digest of the guard");
    bytes
}

/// Whether a file has what the guard computed. Constant time in where they differ.
fn same(own: &[u8], read: &[u8]) -> bool {
    declassify(
        bool::from(own.ct_eq(read)),
        "verdict over a file of the guard",
    )
}

/// `SHAKE256("F.onetime" || lp(fingerprint, label), 32)`.
pub(crate) fn onetime_key(fingerprint: &SeedFingerprint, label: &[u8]) -> Digest {
    hash_lp(b"F.onetime", &[fingerprint.as_bytes(), label])
}

/// What a record says. That it says it in the one admissible way, and whether its
/// digest is right, is settled by encoding it again.
fn decode(record: &[u8; RECORD_LEN]) -> Result<(u64, Entry), Error> {
    let (head, tail) = record.split_at(8);
    let mut reader = Reader::rest_of(tail);
    let number = u64::from_be_bytes(reader.array()?);
    let epoch = u64::from_be_bytes(reader.array()?);
    let attempt = Attempt {
        epoch,
        key: reader.array()?,
        number: head[1],
    };
    let value: [u8; 64] = reader.array()?;
    let (first, second) = value.split_at(32);
    let digest = |half: &[u8]| half.try_into().map_err(|_| Error::GuardFailure);
    let entry = match head[0] {
        1 => Entry::Plan(epoch, digest(first)?),
        2 => Entry::Roots(epoch, digest(first)?),
        3 => Entry::Committed(attempt, digest(first)?, digest(second)?),
        4 => Entry::Responded(attempt, value),
        5 => Entry::Retired(attempt),
        6 => Entry::Closed(epoch),
        _ => return Err(Error::GuardFailure),
    };
    Ok((number, entry))
}

fn failure(_: MediumError) -> Error {
    Error::GuardFailure
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fingerprint, count and digest are public: without a key in it, anybody who can
    /// write to the log could go on with it.
    #[test]
    fn who_has_not_the_seed_writes_no_record() {
        let guards = [1, 2].map(|n| {
            let seed = MasterSeed::from_bytes(&[n; 32]);
            Guard::in_memory_for_tests(&seed).unwrap()
        });
        let [own, other] = guards.each_ref().map(|guard| {
            let entry = Entry::Closed(7);
            guard.encode(3, &[4; 32], &entry)
        });
        assert_eq!(own.0[..BODY_LEN], other.0[..BODY_LEN]);
        assert_ne!(own.0[BODY_LEN..], other.0[BODY_LEN..]);
        let [own, other] = guards.each_ref().map(|guard| guard.mac(b"mark", b"mark"));
        assert_ne!(own, other);
    }
}
