//! A disk for guards that fails when it is told to and, when the power is cut,
//! loses what was not flushed. Several may have it open: it knows no locks.
#![allow(unreachable_pub, reason = "a module of several test programs")]

use std::sync::{Arc, Mutex, MutexGuard};

use mladsa_aggregate::{Guard, LogMedium, MarkMedium, MediumError};

#[derive(Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    log: Vec<u8>,
    // what of it survives the loss of power
    flushed: Vec<u8>,
    mark: Option<Vec<u8>>,
    staged: Option<Vec<u8>>,
    steps: usize,
    fail_at: Option<usize>,
    // another process that writes before the next append
    other: Option<Box<Guard>>,
}

impl Disk {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn log(&self) -> impl LogMedium + use<> {
        self.clone()
    }

    pub fn mark(&self) -> impl MarkMedium + use<> {
        self.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// How many steps that change something there have been.
    pub fn steps(&self) -> usize {
        self.state().steps
    }

    /// From this step on nothing works.
    pub fn fail_at(&self, step: usize) {
        self.state().fail_at = Some(step);
    }

    pub fn repair(&self) {
        self.state().fail_at = None;
    }

    /// The disk as it comes up again: of what was appended and not flushed, `keep`
    /// bytes got through.
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
        state.staged = None;
        state.fail_at = None;
    }

    /// Lets `other` write to the log between the next look and the next append.
    pub fn write_between(&self, other: Guard) {
        self.state().other = Some(Box::new(other));
    }

    /// Counts a step; `false` when it is to fail.
    fn step(&self) -> Result<MutexGuard<'_, State>, MediumError> {
        let mut state = self.state();
        if state.fail_at.is_some_and(|at| state.steps >= at) {
            return Err(MediumError);
        }
        state.steps += 1;
        Ok(state)
    }
}

impl LogMedium for Disk {
    fn read(&mut self) -> Result<Vec<u8>, MediumError> {
        Ok(self.state().log.clone())
    }

    fn size(&mut self) -> Result<u64, MediumError> {
        Ok(self.state().log.len() as u64)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        let other = self.state().other.take();
        if let Some(mut other) = other {
            other.close_epoch(0).unwrap();
        }
        match self.step() {
            Ok(mut state) => state.log.extend_from_slice(bytes),
            Err(error) => {
                // The power went in the middle of it.
                self.state()
                    .log
                    .extend_from_slice(&bytes[..bytes.len() / 2]);
                return Err(error);
            }
        }
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<(), MediumError> {
        self.step()?.log.truncate(len as usize);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        let mut state = self.step()?;
        state.flushed = state.log.clone();
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        let mut state = self.step()?;
        state.log = bytes.to_vec();
        state.flushed = bytes.to_vec();
        Ok(())
    }
}

impl MarkMedium for Disk {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        Ok(self.state().mark.clone())
    }

    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.step()?.staged = Some(bytes.to_vec());
        Ok(())
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        let mut state = self.step()?;
        state.mark = Some(state.staged.take().ok_or(MediumError)?);
        Ok(())
    }
}
