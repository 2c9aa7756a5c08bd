//! Byte strings that Python lends.

use arrow_buffer::Buffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyMemoryView;

use crate::errors::bad;

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

/// A column of byte strings, which are not copied again: a sequence of objects with buffers, or the rows of one
/// two-dimensional buffer of bytes.
pub(crate) struct Column(pub(crate) Vec<Buffer>);

impl FromPyObject<'_, '_> for Column {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(view) = PyMemoryView::from(&object) {
            let shape = view.getattr("shape")?.extract::<(usize, usize)>();
            if let (Ok((rows, width)), 1) = (shape, view.getattr("itemsize")?.extract()?) {
                if width == 0 && rows > 0 {
                    return Err(bad("a row of a buffer has no bytes"));
                }
                let all = buffer(copy(&view)?);
                let rows = (0..rows).map(|row| all.slice_with_length(row * width, width));
                return Ok(Self(rows.collect()));
            }
        }
        let list: Vec<Bytes> = object.extract()?;
        Ok(Self(list.into_iter().map(|one| buffer(one.0)).collect()))
    }
}

fn buffer(bytes: PyBackedBytes) -> Buffer {
    Buffer::from(bytes::Bytes::from_owner(bytes))
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Buffer::as_slice)
    }
}
