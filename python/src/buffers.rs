//! Sequences, byte strings and options that Python lends.

use bytes::Bytes as Shared;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyDict, PyIterator, PyMemoryView, PyString};

use crate::errors::{bad, unusable};

/// Bytes as they are, or a copy of another object whose buffer is of bytes.
pub(crate) struct Bytes(PyBackedBytes);

impl FromPyObject<'_, '_> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        // The stable interface of Python 3.10 has no buffers.
        Ok(Self(match object.extract() {
            Ok(bytes) => bytes,
            Err(_) => copy(&PyMemoryView::from(&object)?)?,
        }))
    }
}

impl core::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Copies a view of bytes. Numbers of more bytes are a mistake of the caller.
fn copy(view: &Bound<'_, PyMemoryView>) -> PyResult<PyBackedBytes> {
    let format = view.getattr("format")?.extract::<String>()?;
    if !matches!(format.as_str(), "B" | "b" | "c" | "<B" | "<b") {
        return Err(PyTypeError::new_err(format!(
            "a buffer of the type \"{format}\" is none of bytes"
        )));
    }
    Ok(view.call_method0("tobytes")?.extract()?)
}

/// An option: absent, or a value. None is no value, since it would mean the default where a name was misspelt.
pub(crate) struct Given<T>(pub(crate) Option<T>);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Given<T> {
    type Error = T::Error;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, T::Error> {
        Ok(Self(Some(T::extract(object)?)))
    }
}

impl Given<Bytes> {
    /// Returns the bytes, or none.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A text, or its bytes.
#[derive(FromPyObject)]
pub(crate) enum Text {
    Text(PyBackedStr),
    Bytes(Bytes),
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A sequence, whose items are taken piece by piece: the length that it states reserves no memory.
pub(crate) struct Items<'py> {
    name: &'static str,
    len: usize,
    at: usize,
    iterator: Bound<'py, PyIterator>,
}

impl<'py> Items<'py> {
    pub(crate) fn new(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Self> {
        let keyed = object.is_instance_of::<PyDict>() || object.is_instance_of::<PyString>();
        if keyed || !object.hasattr("__getitem__")? {
            let kind = object.get_type();
            return Err(bad(format!("column \"{name}\": {kind} is no sequence")));
        }
        let len = object
            .len()
            .map_err(|error| unusable(object.py(), &format!("column \"{name}\": "), error))?;
        let iterator = object.try_iter()?;
        let mut items = Self {
            name,
            len,
            at: 0,
            iterator,
        };
        items.check_end()?;
        Ok(items)
    }

    /// Checks that there are no more items than the sequence stated.
    fn check_end(&mut self) -> PyResult<()> {
        if self.at == self.len && self.iterator.next().is_some() {
            let Self { name, len, .. } = self;
            return Err(bad(format!("column \"{name}\" has more than {len} rows")));
        }
        Ok(())
    }

    /// Returns the name and the number of rows.
    pub(crate) fn rows(&self) -> (&'static str, usize) {
        (self.name, self.len)
    }

    /// Takes the next items, at most `most`.
    pub(crate) fn take<T>(
        &mut self,
        most: usize,
        mut take: impl FnMut(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Vec<T>> {
        let mut taken = Vec::new();
        while taken.len() < most && self.at < self.len {
            let missing = || {
                bad(format!(
                    "column \"{}\" has {} rows, not {}",
                    self.name, self.at, self.len
                ))
            };
            let item = self.iterator.next().ok_or_else(missing)??;
            let value = take(item).map_err(|error| {
                let row = format!("row {} of column \"{}\": ", self.at, self.name);
                unusable(self.iterator.py(), &row, error)
            })?;
            taken
                .try_reserve(1)
                .map_err(|_| PyMemoryError::new_err(()))?;
            taken.push(value);
            self.at += 1;
            if self.at.is_multiple_of(4096) {
                self.iterator.py().check_signals()?;
            }
        }
        self.check_end()?;
        Ok(taken)
    }
}

/// A column of byte strings: a sequence of objects with buffers, or the rows of one two-dimensional buffer of bytes.
pub(crate) enum Column<'py> {
    Items(Items<'py>),
    Rows {
        name: &'static str,
        all: Shared,
        width: usize,
        len: usize,
        at: usize,
    },
}

impl<'py> Column<'py> {
    pub(crate) fn new(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Self> {
        if let Ok(view) = PyMemoryView::from(object)
            && let Ok((len, width)) = view.getattr("shape")?.extract::<(usize, usize)>()
        {
            if width == 0 && len > 0 {
                return Err(bad(format!("a row of column \"{name}\" has no bytes")));
            }
            let all = copy(&view);
            let all =
                all.map_err(|error| unusable(object.py(), &format!("column \"{name}\": "), error))?;
            let all = Shared::from_owner(all);
            return Ok(Self::Rows {
                name,
                all,
                width,
                len,
                at: 0,
            });
        }
        Items::new(object, name).map(Self::Items)
    }

    /// Takes the next rows, at most `most`.
    pub(crate) fn take(&mut self, most: usize) -> PyResult<Vec<Shared>> {
        match self {
            Self::Items(items) => items.take(most, |item| {
                Ok(Shared::from_owner(item.extract::<Bytes>()?))
            }),
            Self::Rows {
                all,
                width,
                len,
                at,
                ..
            } => {
                let rows = *at..at.saturating_add(most).min(*len);
                *at = rows.end;
                let row = |row| all.slice(row * *width..(row + 1) * *width);
                Ok(rows.map(row).collect())
            }
        }
    }

    /// Returns the name and the number of rows.
    pub(crate) fn rows(&self) -> (&'static str, usize) {
        match self {
            Self::Items(items) => items.rows(),
            Self::Rows { name, len, .. } => (name, *len),
        }
    }
}

/// Returns the number of rows, which has to be that of each other column.
pub(crate) fn same_rows<const N: usize>(
    rows: usize,
    columns: [(&str, usize); N],
) -> PyResult<usize> {
    match columns.into_iter().find(|(_, len)| *len != rows) {
        Some((name, len)) => Err(bad(format!("column \"{name}\" has {len} rows, not {rows}"))),
        None => Ok(rows),
    }
}
