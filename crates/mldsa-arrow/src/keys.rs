//! Tables of keys, by id.

use core::fmt;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::DataType;

use crate::ColumnError;
use crate::bytes::{Bytes, Column, Kind};

/// Encoded public keys by id, for rows that name their key. An id is an integer, or a text or bytes,
/// of which the bytes count.
#[derive(Clone, Default)]
pub struct KeyTable {
    by_bytes: HashMap<Box<[u8]>, Box<[u8]>>,
    by_integer: HashMap<i128, Box<[u8]>>,
}

impl KeyTable {
    /// Adds the keys of a batch, by the names of its columns. Keys are encoded; one of a wrong length
    /// is a reason of the rows that name it. The same pair may come again.
    ///
    /// # Errors
    /// [`ColumnError`] if a column is missing or has another type, or a row is incomplete or
    /// contradicts another one. The rows before it are in the table then.
    pub fn add(&mut self, batch: &RecordBatch, id: &str, key: &str) -> Result<(), ColumnError> {
        let ids = column(batch, id)?.ids()?;
        let keys = Bytes::new(column(batch, key)?, Kind::Binary)?;
        for (row, id) in ids.into_iter().enumerate() {
            let (Some(id), Some(key)) = (id, keys.get(row)) else {
                return Err(ColumnError::IncompleteKey { row });
            };
            let known = match id {
                Id::Bytes(id) => insert(self.by_bytes.entry(id.into()), key),
                Id::Integer(id) => insert(self.by_integer.entry(id), key),
            };
            if known != key {
                return Err(ColumnError::ConflictingKey { row });
            }
        }
        Ok(())
    }

    /// Returns the number of ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_bytes.len() + self.by_integer.len()
    }

    /// Returns whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, id: Id<'_>) -> Option<&[u8]> {
        let key = match id {
            Id::Bytes(id) => self.by_bytes.get(id),
            Id::Integer(id) => self.by_integer.get(&id),
        };
        key.map(|key| &**key)
    }
}

fn insert<'m, K>(entry: Entry<'m, K, Box<[u8]>>, key: &[u8]) -> &'m [u8] {
    entry.or_insert_with(|| key.into())
}

impl fmt::Debug for KeyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyTable({} keys)", self.len())
    }
}

/// Returns a column by its name.
pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &'a str) -> Result<Column<'a>, ColumnError> {
    match batch.column_by_name(name) {
        Some(array) => Ok(Column::new(name, array)),
        None => Err(ColumnError::Missing {
            column: name.to_owned(),
        }),
    }
}

/// An id of a key: an integer, or the bytes of a text or of a byte string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Id<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// An integer of any width.
    Integer(i128),
}

impl<'a> Column<'a> {
    /// Returns the value of each row of a column of integers, bytes or text; `None` for null.
    ///
    /// # Errors
    /// [`ColumnError::Type`] if the column has another type.
    pub fn ids(&self) -> Result<Vec<Option<Id<'a>>>, ColumnError> {
        fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(
            array: &dyn Array,
        ) -> Vec<Option<Id<'_>>> {
            let values = array.as_primitive::<T>().iter();
            values
                .map(|value| Some(Id::Integer(value?.into())))
                .collect()
        }
        let array = self.array;
        Ok(match array.data_type() {
            DataType::Int8 => integers::<Int8Type>(array),
            DataType::Int16 => integers::<Int16Type>(array),
            DataType::Int32 => integers::<Int32Type>(array),
            DataType::Int64 => integers::<Int64Type>(array),
            DataType::UInt8 => integers::<UInt8Type>(array),
            DataType::UInt16 => integers::<UInt16Type>(array),
            DataType::UInt32 => integers::<UInt32Type>(array),
            DataType::UInt64 => integers::<UInt64Type>(array),
            _ => {
                let bytes = self.bytes().map_err(|_| {
                    self.type_error(
                        "an integer type, Binary, LargeBinary, BinaryView, FixedSizeBinary, Utf8, \
                         LargeUtf8 or Utf8View, or a Dictionary of bytes or text",
                    )
                })?;
                let ids = bytes.into_iter();
                ids.map(|bytes| bytes.map(Id::Bytes)).collect()
            }
        })
    }
}
