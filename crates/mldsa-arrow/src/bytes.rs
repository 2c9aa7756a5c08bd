//! Byte strings of a column, whatever its encoding.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;

use crate::ColumnError;

/// A column of an input, with the name that errors have.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The name.
    pub name: &'a str,
    /// The values.
    pub array: &'a dyn Array,
}

impl<'a> Column<'a> {
    /// Makes a column.
    pub fn new(name: &'a str, array: &'a dyn Array) -> Self {
        Self { name, array }
    }

    /// Returns the bytes of each row of a binary or text column; `None` for null.
    ///
    /// # Errors
    /// [`ColumnError::Type`] if the column has another type.
    pub fn bytes(&self) -> Result<Vec<Option<&'a [u8]>>, ColumnError> {
        let bytes = Bytes::new(*self, Kind::BinaryOrText)?;
        Ok((0..self.array.len()).map(|row| bytes.get(row)).collect())
    }

    pub(crate) fn type_error(&self, expected: &'static str) -> ColumnError {
        ColumnError::Type {
            column: self.name.to_owned(),
            found: self.array.data_type().clone(),
            expected,
        }
    }

    pub(crate) fn expect_rows(&self, rows: usize) -> Result<(), ColumnError> {
        if self.array.len() == rows {
            return Ok(());
        }
        Err(ColumnError::Length {
            column: self.name.to_owned(),
            found: self.array.len(),
            expected: rows,
        })
    }
}

/// The types that a column may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes.
    Binary,
    /// Bytes, or a text of which the UTF-8 bytes are taken.
    BinaryOrText,
    /// A text.
    Text,
}

impl Kind {
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Binary => {
                "Binary, LargeBinary, BinaryView or FixedSizeBinary, or a Dictionary of one"
            }
            Self::BinaryOrText => {
                "Binary, LargeBinary, BinaryView, FixedSizeBinary, Utf8, LargeUtf8 or Utf8View, \
                 or a Dictionary of one"
            }
            Self::Text => "Utf8, LargeUtf8 or Utf8View, or a Dictionary of one",
        }
    }

    fn admits(self, array: &dyn Array) -> bool {
        let is_text = matches!(
            array.data_type(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        );
        match self {
            Self::Binary => !is_text,
            Self::BinaryOrText => true,
            Self::Text => is_text,
        }
    }
}

/// A view of a column.
pub(crate) enum Bytes<'a> {
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    FixedSizeBinary(&'a FixedSizeBinaryArray),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Dictionary {
        array: &'a dyn Array,
        /// Positions of the values; any number where the row is null.
        keys: Vec<usize>,
        values: Box<Self>,
    },
    /// Every row is null.
    Null,
}

impl<'a> Bytes<'a> {
    /// Reads a column, whose type is as `kind` says or the type of nothing but nulls.
    pub(crate) fn new(column: Column<'a>, kind: Kind) -> Result<Self, ColumnError> {
        let array = column.array;
        if array.data_type() == &DataType::Null {
            return Ok(Self::Null);
        }
        let plain = match array.as_any_dictionary_opt() {
            None => Self::plain(array, kind),
            Some(dictionary) => Self::plain(dictionary.values(), kind).map(|values| {
                if dictionary.values().is_empty() {
                    return Self::Null;
                }
                Self::Dictionary {
                    array,
                    keys: dictionary.normalized_keys(),
                    values: Box::new(values),
                }
            }),
        };
        plain.ok_or_else(|| column.type_error(kind.expected()))
    }

    fn plain(array: &'a dyn Array, kind: Kind) -> Option<Self> {
        if !kind.admits(array) {
            return None;
        }
        Some(match array.data_type() {
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Self::FixedSizeBinary(array.as_fixed_size_binary()),
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            _ => return None,
        })
    }

    /// Returns the bytes of a row; `None` if it is null.
    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        fn valid<A: Array>(array: &A, row: usize) -> Option<&A> {
            array.is_valid(row).then_some(array)
        }
        match self {
            Self::Binary(array) => Some(valid(*array, row)?.value(row)),
            Self::LargeBinary(array) => Some(valid(*array, row)?.value(row)),
            Self::BinaryView(array) => Some(valid(*array, row)?.value(row)),
            Self::FixedSizeBinary(array) => Some(valid(*array, row)?.value(row)),
            Self::Utf8(array) => Some(valid(*array, row)?.value(row).as_bytes()),
            Self::LargeUtf8(array) => Some(valid(*array, row)?.value(row).as_bytes()),
            Self::Utf8View(array) => Some(valid(*array, row)?.value(row).as_bytes()),
            Self::Dictionary {
                array,
                keys,
                values,
            } if array.is_valid(row) => values.get(keys[row]),
            Self::Dictionary { .. } | Self::Null => None,
        }
    }
}
