//! Storage of a journal: a log and a high-water mark.

use alloc::vec::Vec;

use crate::error::StorageError;

/// Append-only byte log, owned by one process at a time. Every change is durable when its method
/// returns. Reads are coherent: [`Self::size`] sees every append of every process. With stale
/// reads, two processes without a common lock can both release something.
pub trait LogStorage: Send {
    /// Reads the whole log.
    ///
    /// # Errors
    /// [`StorageError`].
    fn read(&mut self) -> Result<Vec<u8>, StorageError>;

    /// Returns the current length of the log, read from the medium.
    ///
    /// # Errors
    /// [`StorageError`], also if the name no longer refers to the log that was opened.
    fn size(&mut self) -> Result<u64, StorageError>;

    /// Appends bytes and flushes them.
    ///
    /// # Errors
    /// [`StorageError`].
    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Cuts the log to `len` bytes and flushes it, also if it has that length already.
    ///
    /// # Errors
    /// [`StorageError`].
    fn truncate(&mut self, len: u64) -> Result<(), StorageError>;

    /// Replaces the whole log in one step, without giving up its ownership.
    ///
    /// # Errors
    /// [`StorageError`].
    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageError>;
}

/// High-water mark: the last state of the log. It detects a log that was restored from an
/// older copy, if it is stored where a restore of the log does not reach: on another device,
/// on another host or in a counter that only increases.
pub trait MarkStorage: Send {
    /// Reads the present mark, if there is one.
    ///
    /// # Errors
    /// [`StorageError`].
    fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError>;

    /// Replaces the mark by `next` in one durable step (compare-and-swap), only if the present
    /// mark is `expected`. Two processes that expect the same mark must not both succeed.
    ///
    /// # Errors
    /// [`StorageError`], also if the present mark is not `expected`.
    fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError>;
}

#[cfg(any(test, feature = "test-util"))]
pub(crate) mod memory {
    use alloc::vec::Vec;

    use super::{LogStorage, MarkStorage, StorageError};

    /// Log that a restart erases.
    #[derive(Default)]
    pub(crate) struct MemoryLog(Vec<u8>);

    impl LogStorage for MemoryLog {
        fn read(&mut self) -> Result<Vec<u8>, StorageError> {
            Ok(self.0.clone())
        }

        fn size(&mut self) -> Result<u64, StorageError> {
            Ok(self.0.len() as u64)
        }

        fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }

        fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
            self.0.truncate(usize::try_from(len).unwrap_or(usize::MAX));
            Ok(())
        }

        fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
            self.0 = bytes.into();
            Ok(())
        }
    }

    /// High-water mark that a restart erases.
    #[derive(Default)]
    pub(crate) struct MemoryMark(Option<Vec<u8>>);

    impl MarkStorage for MemoryMark {
        fn read(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
            Ok(self.0.clone())
        }

        fn publish(&mut self, expected: Option<&[u8]>, next: &[u8]) -> Result<(), StorageError> {
            if self.0.as_deref() != expected {
                return Err(StorageError::Failed);
            }
            self.0 = Some(next.into());
            Ok(())
        }
    }
}
