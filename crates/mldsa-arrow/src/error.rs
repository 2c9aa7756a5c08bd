//! Errors of columns.

use core::fmt;

use arrow_schema::DataType;

/// Reason why columns cannot be verified, whatever their rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnError {
    /// The batch has no such column.
    Missing {
        /// Name of the column.
        column: String,
    },
    /// The batch has several columns of one name.
    Ambiguous {
        /// Name of the columns.
        column: String,
    },
    /// A column has a type without an interpretation.
    Type {
        /// Name of the column.
        column: String,
        /// Its type.
        found: DataType,
        /// The types that it may have.
        expected: &'static str,
    },
    /// Columns have different lengths.
    Length {
        /// Name of the column.
        column: String,
        /// Its number of rows.
        found: usize,
        /// The number of rows of the keys.
        expected: usize,
    },
    /// A batch has more than 2^28 rows.
    TooManyRows {
        /// Its number of rows.
        found: usize,
    },
    /// A row of a key table has no id or no key.
    IncompleteKey {
        /// Position in the batch.
        row: usize,
    },
    /// An id of a key table has two different keys.
    ConflictingKey {
        /// Position of the second one in its batch.
        row: usize,
    },
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { column } => write!(f, "there is no column \"{column}\""),
            Self::Ambiguous { column } => write!(f, "several columns have the name \"{column}\""),
            Self::TooManyRows { found } => write!(f, "{found} rows, more than 2^28 at once"),
            Self::Type {
                column,
                found,
                expected,
            } => write!(
                f,
                "column \"{column}\" has type {found}, expected {expected}"
            ),
            Self::Length {
                column,
                found,
                expected,
            } => write!(
                f,
                "column \"{column}\" has {found} rows, expected {expected}, as the keys have"
            ),
            Self::IncompleteKey { row } => {
                write!(f, "row {row} of the key table has no id or no key")
            }
            Self::ConflictingKey { row } => write!(
                f,
                "row {row} of the key table has another key for an id of an earlier row"
            ),
        }
    }
}

impl core::error::Error for ColumnError {}
