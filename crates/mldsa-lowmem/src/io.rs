//! Access to memory that is not a slice: a flash chip, a serial line, a mailbox.

/// Random access to an encoding in external memory. Verification reads rows several
/// times and detects a read that returns other bytes.
pub trait Reader {
    /// Error of a failed read.
    type Error;

    /// Returns the length of the encoding in bytes.
    fn size(&self) -> usize;

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// Those of the memory; the operation ends with the first one. A read past the end is an error.
    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), Self::Error>;
}
