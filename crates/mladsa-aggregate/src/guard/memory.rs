//! Media that a restart erases: for tests and simulations.

use alloc::vec::Vec;

use crate::guard::medium::{LogMedium, MarkMedium, MediumError};

/// A log that a restart erases. **A signer that restarts with an empty guard gives
/// its keys away**: for tests, simulations and measurements only.
#[derive(Clone, Debug, Default)]
pub struct MemoryLogForTests(Vec<u8>);

impl LogMedium for MemoryLogForTests {
    fn read(&mut self) -> Result<Vec<u8>, MediumError> {
        Ok(self.0.clone())
    }

    fn size(&mut self) -> Result<u64, MediumError> {
        Ok(self.0.len() as u64)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<(), MediumError> {
        self.0.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.0 = bytes.into();
        Ok(())
    }
}

/// A mark that a restart erases: for tests, simulations and measurements only.
#[derive(Clone, Debug, Default)]
pub struct MemoryMarkForTests {
    present: Option<Vec<u8>>,
    next: Option<Vec<u8>>,
}

impl MarkMedium for MemoryMarkForTests {
    fn read(&mut self) -> Result<Option<Vec<u8>>, MediumError> {
        Ok(self.present.clone())
    }

    fn stage(&mut self, bytes: &[u8]) -> Result<(), MediumError> {
        self.next = Some(bytes.into());
        Ok(())
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        self.present = Some(self.next.take().ok_or(MediumError)?);
        Ok(())
    }
}
