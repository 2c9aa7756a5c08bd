//! File storage that aborts the process at a given step.
#![allow(unreachable_pub, reason = "a module of a test program")]

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::fs;
use std::path::PathBuf;

use mladsa_aggregate::errors::StorageError;
use mladsa_aggregate::storage::{FileLog, FileMark, LogStorage, MarkStorage};

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// Aborts the process at step `kill_at` of all operations.
pub fn step(kill_at: usize) {
    if STEPS.fetch_add(1, Relaxed) == kill_at {
        std::process::abort();
    }
}

/// File log with a kill point before, within and after each append.
pub struct KillingLog(pub FileLog, pub usize);

impl LogStorage for KillingLog {
    fn read(&mut self) -> Result<Vec<u8>, StorageError> {
        self.0.read()
    }

    fn size(&mut self) -> Result<u64, StorageError> {
        self.0.size()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        step(self.1);
        let (first, second) = bytes.split_at(bytes.len() / 3);
        self.0.append(first)?;
        step(self.1);
        self.0.append(second)?;
        step(self.1);
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        step(self.1);
        self.0.truncate(len)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        step(self.1);
        self.0.replace(bytes)?;
        step(self.1);
        Ok(())
    }
}

/// File mark with a kill point after the staging file was written, and after the rename.
pub struct KillingMark(pub FileMark, pub PathBuf, pub usize);

impl MarkStorage for KillingMark {
    fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        self.0.read()
    }

    fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
        fs::write(self.1.with_extension("next"), next).unwrap();
        step(self.2);
        self.0.publish(expected, next)?;
        step(self.2);
        Ok(())
    }
}
