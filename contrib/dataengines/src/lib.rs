//! ML-DSA (FIPS 204) in the SQL of Apache DataFusion and Ballista.
//!
//! - `mldsa_verify(key, message, signature)`, `mldsa_verify(key, message, context, signature)` and
//!   `mldsa_verify(set, key, message, context, signature)`: whether the signature is valid. Never null.
//! - `mldsa_reason` of the same arguments: the name of the reason of a rejection; null for a valid signature.
//! - `mldsa_mu(key, message)` and `mldsa_mu(key, message, context)`: the 64 bytes of the message
//!   representative; null where key or message is null, or key or context has a wrong length.
//! - `mldsa_weight(member, weight, valid, message)` and `mldsa_weight(member, weight, valid, message, context)`,
//!   an aggregate: the sum, a decimal number, of the weights of the members with a valid row in the group, each
//!   member once. A member is a key or an id (bytes, text or an integer); no key may have two ids. Rows with a null do not
//!   count. Two weights of one member are an error, and so are two messages or contexts of valid rows.
//!
//! A null context is the empty one. Where the arguments have wrong types, the query is refused when it is planned.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod file;
mod scalar;
mod weight;

use std::fmt::Display;
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use mldsa_arrow::Options;
use scalar::{Function, Output};

pub use file::register_parquet;

/// Registers the functions.
///
/// # Errors
/// An error of the registry, or of the verifier that the functions share.
pub fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    // One verifier serves all threads, each of which verifies its own batches.
    let verifier = Options::default().build();
    let verifier = Arc::new(verifier.map_err(|error| DataFusionError::External(Box::new(error)))?);
    for output in [Output::Valid, Output::Reason, Output::Mu] {
        let function = Function::new(output, &verifier);
        registry.register_udf(Arc::new(ScalarUDF::new_from_impl(function)))?;
    }
    registry.register_udaf(Arc::new(AggregateUDF::new_from_impl(weight::Weight::new())))?;
    Ok(())
}

/// Makes an error of the arguments of a function.
fn refused(function: &str, why: impl Display) -> DataFusionError {
    DataFusionError::Plan(format!("{function}: {why}"))
}
