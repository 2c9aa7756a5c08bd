//! Byte strings of a column, whatever its encoding.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, BinaryViewArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
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
    /// Positions of the values; `None` where the row is null or there is no such value.
    Dictionary(Vec<Option<usize>>, Box<Self>),
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
            Some(dictionary) => {
                let values = dictionary.values();
                let is_there = |key: &usize| *key < values.len();
                let keys = integers(dictionary.keys(), |key| {
                    usize::try_from(key).ok().filter(is_there)
                });
                let values = Self::plain(values, kind).map(Box::new);
                keys.zip(values)
                    .map(|(keys, values)| Self::Dictionary(keys, values))
            }
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
            Self::Dictionary(keys, values) => values.get(keys[row]?),
            Self::Null => None,
        }
    }
}

/// Converts each value of a column of integers; `None` if it has another type.
pub(crate) fn integers<R>(
    array: &dyn Array,
    convert: impl Fn(i128) -> Option<R>,
) -> Option<Vec<Option<R>>> {
    fn of<T: ArrowPrimitiveType<Native: Into<i128>>, R>(
        array: &dyn Array,
        convert: impl Fn(i128) -> Option<R>,
    ) -> Vec<Option<R>> {
        let values = array.as_primitive::<T>().iter();
        values.map(|value| convert(value?.into())).collect()
    }
    Some(match array.data_type() {
        DataType::Int8 => of::<Int8Type, R>(array, convert),
        DataType::Int16 => of::<Int16Type, R>(array, convert),
        DataType::Int32 => of::<Int32Type, R>(array, convert),
        DataType::Int64 => of::<Int64Type, R>(array, convert),
        DataType::UInt8 => of::<UInt8Type, R>(array, convert),
        DataType::UInt16 => of::<UInt16Type, R>(array, convert),
        DataType::UInt32 => of::<UInt32Type, R>(array, convert),
        DataType::UInt64 => of::<UInt64Type, R>(array, convert),
        _ => return None,
    })
}
