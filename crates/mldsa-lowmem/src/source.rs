//! Edges to memory that is not a slice: a flash chip, a serial line, a mailbox.

/// Where key generation and signing deliver bytes, piece by piece; the pieces
/// cover an encoding exactly once, in no particular order.
pub trait Sink {
    /// What a failed write reports.
    type Error;

    /// Takes `bytes`, which stand at `offset` of the encoding.
    ///
    /// # Errors
    /// The sink's own; the operation ends with it.
    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// Random access to an encoding that lies elsewhere. Verification reads rows
/// again and again and finds out when a second read differs.
pub trait Source {
    /// What a failed read reports.
    type Error;

    /// Bytes of the encoding.
    fn size(&self) -> usize;

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// The source's own; the operation ends with it. A read past the end is an
    /// error.
    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), Self::Error>;
}
