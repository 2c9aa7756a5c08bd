//! Exceptions.

use core::fmt::Display;

use mldsa_arrow::batch_verify::{PreHash, RejectReason};
use mldsa_core::{Context, Mu, VerifyError};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    mldsa_batch,
    MlDsaError,
    PyValueError,
    "An argument is unusable."
);
create_exception!(
    mldsa_batch,
    InvalidSignature,
    MlDsaError,
    "The signature is rejected; `reason` is the name of the reason."
);

/// An exception with the text of an error.
pub(crate) fn bad(error: impl Display) -> PyErr {
    MlDsaError::new_err(error.to_string())
}

/// The exception of a rejected signature.
pub(crate) fn rejected(py: Python<'_>, error: VerifyError) -> PyErr {
    let reason = RejectReason::from(error).name();
    let exception = InvalidSignature::new_err(reason);
    match exception.value(py).setattr("reason", reason) {
        Ok(()) => exception,
        Err(error) => error,
    }
}

pub(crate) fn context(bytes: &[u8]) -> PyResult<Context<'_>> {
    Context::new(bytes).map_err(bad)
}

pub(crate) fn mu(bytes: &[u8]) -> PyResult<Mu> {
    let bytes = <[u8; 64]>::try_from(bytes).map_err(|_| bad("mu does not have 64 bytes"))?;
    Ok(Mu::from_bytes(bytes))
}

pub(crate) fn hash(name: &str) -> PyResult<PreHash> {
    PreHash::from_name(name).ok_or_else(|| bad(format!("there is no hash {name}")))
}
