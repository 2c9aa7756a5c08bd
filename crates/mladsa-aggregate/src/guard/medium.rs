//! Where a guard is kept.

use alloc::vec::Vec;
use core::fmt;

/// A medium did not do what it was asked for. The guard then releases nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumError;

impl fmt::Display for MediumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the medium of the guard failed")
    }
}

impl core::error::Error for MediumError {}

/// An append-only string of bytes that one process owns.
pub trait LogMedium: Send {
    /// All of it.
    ///
    /// # Errors
    /// [`MediumError`].
    fn read(&mut self) -> Result<Vec<u8>, MediumError>;
    /// Its length at this moment, on the medium itself.
    ///
    /// # Errors
    /// [`MediumError`], also if this is no longer the log that was opened: its
    /// name leads elsewhere.
    fn size(&mut self) -> Result<u64, MediumError>;
    /// Writes behind the end.
    ///
    /// # Errors
    /// [`MediumError`].
    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError>;
    /// Cuts the end off.
    ///
    /// # Errors
    /// [`MediumError`].
    fn truncate(&mut self, len: u64) -> Result<(), MediumError>;
    /// Returns when what was written survives the loss of power.
    ///
    /// # Errors
    /// [`MediumError`].
    fn flush(&mut self) -> Result<(), MediumError>;
    /// Replaces all of it in one durable step, without letting another process in.
    ///
    /// # Errors
    /// [`MediumError`].
    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError>;
}

/// The high-water mark: the last state of the log, best kept where a restore of
/// the log does not reach: on another device, another host, in a counter that only
/// rises.
pub trait MarkMedium: Send {
    /// The mark, if there is one.
    ///
    /// # Errors
    /// [`MediumError`].
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError>;
    /// Prepares the next mark durably; the present one still counts.
    ///
    /// # Errors
    /// [`MediumError`].
    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError>;
    /// Puts the prepared mark in the place of the present one, durably and in one
    /// step.
    ///
    /// # Errors
    /// [`MediumError`].
    fn publish(&mut self) -> Result<(), MediumError>;
}
