//! Simulated storage that fails at a chosen step and loses unflushed data at a power cut. Several
//! journals may have it open at once: it has no locks.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::{Arc, Mutex, MutexGuard};

use mladsa_aggregate::OneTimeKeyJournal;
use mladsa_aggregate::errors::StorageError;
use mladsa_aggregate::storage::{LogStorage, MarkStorage};

#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    log: Vec<u8>,
    // part of the log that survives a power cut
    flushed: Vec<u8>,
    mark: Option<Vec<u8>>,
    steps: usize,
    fail_at: Option<usize>,
    // another process that writes before the next append
    other: Option<Box<OneTimeKeyJournal>>,
}

impl Disk {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Number of modifying steps so far.
    pub fn steps(&self) -> usize {
        self.state().steps
    }

    /// All modifying steps from this one on fail.
    pub fn fail_at(&self, step: usize) {
        self.state().fail_at = Some(step);
    }

    pub fn repair(&self) {
        self.state().fail_at = None;
    }

    /// Restarts after a power cut. Of the unflushed bytes at the end, `keep` survive.
    pub fn cut_power(&self, keep: usize) {
        let mut state = self.state();
        let flushed = state.flushed.len();
        let len = state.log.len().min(flushed.saturating_add(keep));
        if state.log.starts_with(&state.flushed) {
            state.log.truncate(len);
        } else {
            state.log = state.flushed.clone();
        }
        state.flushed = state.log.clone();
        state.fail_at = None;
    }

    /// Lets `other` write to the log between the next check and the next append.
    pub fn write_between(&self, other: OneTimeKeyJournal) {
        self.state().other = Some(Box::new(other));
    }

    fn step(&self) -> Result<MutexGuard<'_, State>, StorageError> {
        let mut state = self.state();
        if state.fail_at.is_some_and(|at| state.steps >= at) {
            return Err(StorageError::Failed);
        }
        state.steps += 1;
        Ok(state)
    }

    fn flush(&self) -> Result<(), StorageError> {
        let mut state = self.step()?;
        state.flushed = state.log.clone();
        Ok(())
    }
}

impl LogStorage for Disk {
    fn read(&mut self) -> Result<Vec<u8>, StorageError> {
        Ok(self.state().log.clone())
    }

    fn size(&mut self) -> Result<u64, StorageError> {
        Ok(self.state().log.len() as u64)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let other = self.state().other.take();
        if let Some(mut other) = other {
            other.close_epoch(0).unwrap();
        }
        match self.step() {
            Ok(mut state) => state.log.extend_from_slice(bytes),
            Err(error) => {
                // A part was written.
                let part = &bytes[..bytes.len() / 2];
                self.state().log.extend_from_slice(part);
                return Err(error);
            }
        }
        self.flush()
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        self.step()?.log.truncate(len as usize);
        self.flush()
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let mut state = self.step()?;
        state.log = bytes.to_vec();
        state.flushed = bytes.to_vec();
        Ok(())
    }
}

impl MarkStorage for Disk {
    fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.state().mark.clone())
    }

    fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
        let mut state = self.step()?;
        if state.mark.as_deref() != expected {
            return Err(StorageError::Failed);
        }
        state.mark = Some(next.to_vec());
        Ok(())
    }
}
