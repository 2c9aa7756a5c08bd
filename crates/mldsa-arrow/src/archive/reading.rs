//! What is read from files, whatever their format.

use arrow_array::RecordBatch;

/// Names of the columns that are read.
pub(crate) struct Wanted<'a> {
    /// Hex in files of text.
    pub(crate) bytes: Vec<&'a str>,
    pub(crate) texts: Vec<&'a str>,
    /// The one of which null is a value: an object of JSON that lacks it is malformed.
    pub(crate) required: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.bytes.iter().chain(&self.texts).copied()
    }
}

/// Rows of a unit.
pub(crate) struct Read {
    pub(crate) batch: RecordBatch,
    /// Rows that could not be read; their bytes are null.
    pub(crate) malformed: Vec<bool>,
}
