//! Durable one-time-key journal of one master seed.
//!
//! The log is flushed before the mark is replaced, and both before anything is released. So a
//! log with records after the marked position is the trace of a crash and may end in a torn
//! record; a log without the marked position was rolled back.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::error::{JournalError, StorageError};
use crate::journal::record::{Codec, HEADER_LEN, Position, RECORD_LEN, decode, task_key};
use crate::journal::states::{Attempt, Digest, JournalEntry, Progress, States};
use crate::journal::storage::{LogStorage, MarkStorage};
use crate::keys::label::Label;
use crate::keys::seed::MasterSeed;

/// Durable journal of the one-time keys of one master seed. It admits one committee for
/// each epoch, one payload for each slot, one commitment and one response for each attempt, and
/// attempts in order.
///
/// Every entry survives a loss of power before anything is released. If recording fails,
/// nothing is released, and the journal rejects every step until it is opened again. A journal
/// that was restored from a backup or copied with its machine is lost: retire the master seed.
pub struct OneTimeKeyJournal {
    log: Box<dyn LogStorage>,
    mark: Box<dyn MarkStorage>,
    codec: Codec,
    states: States,
    position: Position,
    // content of the storage as this process left it
    log_len: u64,
    published: Option<Vec<u8>>,
    // false from the start of a write until its end
    usable: bool,
}

impl OneTimeKeyJournal {
    /// Creates the journal of a seed that has never signed. Completes an interrupted creation;
    /// rejects storage that has ever held a complete journal.
    ///
    /// # Errors
    /// [`JournalError::Damaged`], [`JournalError::Storage`].
    pub fn create(
        log: impl LogStorage + 'static,
        mark: impl MarkStorage + 'static,
        seed: &MasterSeed,
    ) -> Result<Self, JournalError> {
        let mut journal = Self::unopened(Box::new(log), Box::new(mark), seed);
        let header = journal.codec.header(&journal.position);
        let stored = journal.log.read()?;
        // No record is written before the first mark, so nothing was released without it.
        if journal.mark.read()?.is_some() || !header.starts_with(&stored) {
            return Err(JournalError::Damaged);
        }
        journal.log.truncate(0)?;
        journal.log.append(&header)?;
        journal.log_len = HEADER_LEN as u64;
        journal.publish_mark()?;
        journal.usable = true;
        Ok(journal)
    }

    /// Opens the journal of `seed`. Anything missing or damaged, except a torn last record,
    /// is an error after which the seed must be retired.
    ///
    /// # Errors
    /// [`JournalError::Damaged`], [`JournalError::Storage`].
    pub fn open(
        log: impl LogStorage + 'static,
        mark: impl MarkStorage + 'static,
        seed: &MasterSeed,
    ) -> Result<Self, JournalError> {
        let mut journal = Self::unopened(Box::new(log), Box::new(mark), seed);
        let log = journal.log.read()?;
        let mark = journal.mark.read()?.ok_or(JournalError::Damaged)?;
        let marked = journal.codec.read_mark(&mark);
        let marked = marked.ok_or(JournalError::Damaged)?;
        journal.published = Some(mark);
        let (start, records) = journal
            .codec
            .read_header(&log)
            .ok_or(JournalError::Damaged)?;
        journal.position = start;
        let mut contains_mark = start == marked;
        let mut rest = records;
        while let Some((record, later)) = rest.split_first_chunk() {
            let Some((entry, after)) = journal.codec.replay(&journal.position, record) else {
                break;
            };
            if !matches!(journal.states.admit(&entry), Ok(true)) {
                break;
            }
            journal.states.apply(&entry);
            journal.position = after;
            contains_mark |= after == marked;
            rest = later;
        }
        // Without the marked position the log was rolled back. More than one torn record at
        // its end is damage.
        if !contains_mark || rest.len() > RECORD_LEN {
            return Err(JournalError::Damaged);
        }
        journal.log_len = (log.len() - rest.len()) as u64;
        if !rest.is_empty() || journal.position != marked {
            journal.log.truncate(journal.log_len)?;
            journal.publish_mark()?;
        }
        journal.usable = true;
        Ok(journal)
    }

    /// Creates a journal that a restart erases, for tests and measurements. **A signer that
    /// restarts with an empty journal reveals its keys.**
    ///
    /// # Errors
    /// None: memory does not fail.
    #[cfg(any(test, feature = "test-util"))]
    pub fn in_memory(seed: &MasterSeed) -> Result<Self, JournalError> {
        use crate::journal::storage::memory::{MemoryLog, MemoryMark};

        Self::create(MemoryLog::default(), MemoryMark::default(), seed)
    }

    fn unopened(log: Box<dyn LogStorage>, mark: Box<dyn MarkStorage>, seed: &MasterSeed) -> Self {
        let codec = Codec::new(seed);
        Self {
            log,
            mark,
            position: codec.start(),
            codec,
            states: States::default(),
            log_len: 0,
            published: None,
            usable: false,
        }
    }

    /// Returns the identity of the committee that the seed serves in `epoch`.
    pub fn committee(&self, epoch: u64) -> Option<[u8; 32]> {
        self.states.committee(epoch)
    }

    /// Returns the last closed epoch.
    pub fn closed_epoch(&self) -> Option<u64> {
        self.states.closed()
    }

    /// Closes `epoch` and all before it: nothing more is released for them, and their records
    /// are removed from the log.
    ///
    /// # Errors
    /// [`JournalError::Storage`].
    pub fn close_epoch(&mut self, epoch: u64) -> Result<(), JournalError> {
        self.record(&[JournalEntry::Closed(epoch)])?;
        self.usable = false;
        self.check_storage()?;
        // The new log starts at the present position, so both logs contain the marked one:
        // whichever a crash leaves is accepted.
        let old = self.log.read()?;
        let mut compact = self.codec.header(&self.position).to_vec();
        let mut position = self.position;
        let records = old.get(HEADER_LEN..).ok_or(JournalError::Damaged)?;
        let closed = JournalEntry::Closed(epoch);
        let kept = records.as_chunks::<RECORD_LEN>().0.iter();
        let kept = kept.filter_map(decode);
        let kept = kept.filter(|entry| entry.epoch() > epoch);
        for entry in core::iter::once(closed).chain(kept) {
            let (record, after) = self.codec.record(&position, &entry);
            compact.extend_from_slice(&record);
            position = after;
        }
        self.log.replace(&compact)?;
        self.position = position;
        self.log_len = compact.len() as u64;
        self.publish_mark()?;
        self.usable = true;
        Ok(())
    }

    pub(crate) fn check_seed(&self, seed: &MasterSeed) -> Result<(), JournalError> {
        let own = self.codec.fingerprint == seed.fingerprint();
        own.then_some(()).ok_or(JournalError::OtherSeed)
    }

    /// Binds the seed to a committee for `epoch`, or confirms the recorded one.
    pub(crate) fn bind(&mut self, epoch: u64, identity: &Digest) -> Result<(), JournalError> {
        self.record(&[JournalEntry::Committee(epoch, *identity)])
    }

    pub(crate) fn check_committee(
        &self,
        epoch: u64,
        identity: &Digest,
    ) -> Result<(), JournalError> {
        self.check_usable()?;
        let known = self.states.committee(epoch) == Some(*identity);
        known.then_some(()).ok_or(JournalError::EpochConflict)
    }

    /// Records a commitment to a task, or confirms the recorded one.
    pub(crate) fn commit(
        &mut self,
        attempt: &Attempt,
        commitment: &Digest,
        task: &Digest,
    ) -> Result<(), JournalError> {
        self.record(&[JournalEntry::Committed(*attempt, *commitment, *task)])
    }

    /// Checks that this commitment is recorded, answered or not.
    pub(crate) fn resume(
        &self,
        attempt: &Attempt,
        commitment: &Digest,
    ) -> Result<(), JournalError> {
        self.check_usable()?;
        let progress = self.states.progress(attempt);
        match progress.as_ref().and_then(Progress::commitment) {
            Some((known, _)) if known == commitment => Ok(()),
            _ => Err(JournalError::KeyReused),
        }
    }

    /// Records the hashes after which a commitment is revealed, or confirms the recorded ones.
    pub(crate) fn reveal(
        &mut self,
        attempt: &Attempt,
        commitment: &Digest,
        hashes: &[u8; 64],
    ) -> Result<(), JournalError> {
        self.resume(attempt, commitment)?;
        self.record(&[JournalEntry::Revealed(*attempt, *hashes)])
    }

    /// Records the challenge that a commitment answers, or confirms the recorded one. The
    /// commitment was revealed after these hashes.
    pub(crate) fn respond(
        &mut self,
        attempt: &Attempt,
        commitment: &Digest,
        hashes: &[u8; 64],
        c_tilde: &[u8; 64],
    ) -> Result<(), JournalError> {
        self.resume(attempt, commitment)?;
        let progress = self.states.progress(attempt);
        let known = progress.as_ref().and_then(Progress::commitment);
        if known != Some((commitment, Some(hashes))) {
            return Err(JournalError::KeyReused);
        }
        self.record(&[JournalEntry::Responded(*attempt, *c_tilde)])
    }

    /// Retires this attempt and all before it, with one flush.
    pub(crate) fn retire(&mut self, attempt: &Attempt) -> Result<(), JournalError> {
        let all = (0..=attempt.number)
            .map(|number| JournalEntry::Retired(Attempt { number, ..*attempt }));
        self.record(&all.collect::<Vec<_>>())
    }

    pub(crate) fn is_retired(&self, attempt: &Attempt) -> bool {
        self.states.progress(attempt) == Some(Progress::Retired)
    }

    /// Names an attempt at a task. Its key is of the seed and the label, not of the member, because
    /// the PRF does not depend on the member.
    pub(crate) fn attempt(&self, epoch: u64, task: &Label, number: u8) -> Attempt {
        let key = task_key(&self.codec.fingerprint, task.as_bytes());
        Attempt { epoch, key, number }
    }

    fn check_usable(&self) -> Result<(), JournalError> {
        let failed = JournalError::Storage(StorageError::Failed);
        self.usable.then_some(()).ok_or(failed)
    }

    /// Records the new ones of `entries` durably. They are independent of each other.
    fn record(&mut self, entries: &[JournalEntry]) -> Result<(), JournalError> {
        self.check_usable()?;
        let mut bytes = Vec::new();
        let mut new = Vec::new();
        let mut position = self.position;
        for entry in entries {
            if self.states.admit(entry)? {
                let (record, after) = self.codec.record(&position, entry);
                bytes.extend_from_slice(&record);
                new.push(entry);
                position = after;
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        // After an error from here on, only reading the storage again shows its state.
        self.usable = false;
        self.check_storage()?;
        self.log.append(&bytes)?;
        self.log_len += bytes.len() as u64;
        // Detects another writer where locks do not work. Publishing compares the mark.
        self.check_log()?;
        for entry in new {
            self.states.apply(entry);
        }
        self.position = position;
        self.publish_mark()?;
        self.usable = true;
        Ok(())
    }

    /// Checks that the storage holds what this process wrote last.
    fn check_storage(&mut self) -> Result<(), StorageError> {
        self.check_log()?;
        let mark = self.mark.read()?;
        let unchanged = mark == self.published;
        unchanged.then_some(()).ok_or(StorageError::Failed)
    }

    fn check_log(&mut self) -> Result<(), StorageError> {
        let unchanged = self.log.size()? == self.log_len;
        unchanged.then_some(()).ok_or(StorageError::Failed)
    }

    fn publish_mark(&mut self) -> Result<(), StorageError> {
        let next = self.codec.mark(&self.position);
        self.mark.publish(self.published.as_deref(), &next)?;
        self.published = Some(next.to_vec());
        Ok(())
    }
}

impl fmt::Debug for OneTimeKeyJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OneTimeKeyJournal({} records)", self.position.count)
    }
}
