//! Tables of keys, by id.

use core::fmt;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrow_array::RecordBatch;

use crate::ColumnError;
use crate::bytes::{Bytes, Column, Kind, integers};

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

/// Returns the column of a name.
pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &'a str) -> Result<Column<'a>, ColumnError> {
    let schema = batch.schema_ref();
    let fields = schema.fields().iter().zip(batch.columns());
    let mut named = fields.filter(|(field, _)| field.name() == name);
    let column = || name.to_owned();
    match (named.next(), named.next()) {
        (Some((_, array)), None) => Ok(Column::new(name, array)),
        (None, _) => Err(ColumnError::Missing { column: column() }),
        _ => Err(ColumnError::Ambiguous { column: column() }),
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
        if let Some(ids) = integers(self.array, |id| Some(Id::Integer(id))) {
            return Ok(ids);
        }
        let bytes = self.bytes().map_err(|_| {
            self.type_error(
                "an integer type, Binary, LargeBinary, BinaryView, FixedSizeBinary, Utf8, \
                 LargeUtf8 or Utf8View, or a Dictionary of bytes or text",
            )
        })?;
        let ids = bytes.into_iter();
        Ok(ids.map(|bytes| bytes.map(Id::Bytes)).collect())
    }
}
