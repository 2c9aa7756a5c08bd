//! Byte strings that Python lends.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyMemoryView;

/// Bytes as they are, or a copy of another object with a buffer.
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

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn copy(view: &Bound<'_, PyMemoryView>) -> PyResult<PyBackedBytes> {
    Ok(view.call_method0("tobytes")?.extract()?)
}

/// A column of byte strings: a sequence of objects with buffers, or the rows of one two-dimensional buffer
/// of bytes.
pub(crate) enum Column {
    List(Vec<Bytes>),
    Rows {
        bytes: PyBackedBytes,
        rows: usize,
        width: usize,
    },
}

impl FromPyObject<'_, '_> for Column {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(view) = PyMemoryView::from(&object) {
            let shape = view.getattr("shape")?.extract::<(usize, usize)>();
            if let (Ok((rows, width)), 1) = (shape, view.getattr("itemsize")?.extract()?) {
                let bytes = copy(&view)?;
                return Ok(Self::Rows { bytes, rows, width });
            }
        }
        object.extract().map(Self::List)
    }
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Rows { rows, .. } => *rows,
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::List(list) => list.get(row).map(AsRef::as_ref),
            Self::Rows { bytes, width, .. } => bytes.get(row * width..(row + 1) * width),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|row| self.get(row))
    }
}
