//! Exceptions.

use core::fmt::Display;

use mldsa_arrow::batch_verify::{PreHash, QuorumError, RejectReason};
use mldsa_core::{Context, Mu, VerifyError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyValueError};
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
create_exception!(
    mldsa_batch,
    NoQuorum,
    MlDsaError,
    "Votes are no quorum; `reason` is the name of the reason."
);

/// Makes an exception with the text of an error.
pub(crate) fn bad(error: impl Display) -> PyErr {
    MlDsaError::new_err(error.to_string())
}

/// Names what cannot be used in an exception of its own. Others than those of values stay as they are.
pub(crate) fn unusable(py: Python<'_>, what: &str, error: PyErr) -> PyErr {
    let other =
        !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyMemoryError>(py);
    if other || error.is_instance_of::<MlDsaError>(py) {
        return error;
    }
    let named = bad(format!("{what}{}", error.value(py)));
    named.set_cause(py, Some(error));
    named
}

/// Makes the exception of a rejected signature.
pub(crate) fn rejected(py: Python<'_>, error: VerifyError) -> PyErr {
    let reason = RejectReason::from(error).name();
    with_reason(py, InvalidSignature::new_err(reason), reason)
}

/// Makes the exception of votes that are not a quorum.
pub(crate) fn no_quorum(py: Python<'_>, error: QuorumError) -> PyErr {
    let reason = match error {
        QuorumError::UnknownMember { .. } => "unknown_member",
        QuorumError::Duplicate { .. } => "duplicate",
        QuorumError::ConflictingClaims { .. } => "conflicting_claims",
        QuorumError::Rejected { reason, .. } => reason.name(),
        _ => "insufficient",
    };
    with_reason(py, NoQuorum::new_err(error.to_string()), reason)
}

fn with_reason(py: Python<'_>, exception: PyErr, reason: &str) -> PyErr {
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
    name.parse::<PreHash>()
        .map_err(|_| bad(format!("there is no hash {name}")))
}
