//! Many signatures: byte strings, and Arrow.

use std::sync::Arc;

use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryViewArray, RecordBatch};
use mldsa_arrow::batch_verify::{ThreadPool, Threads};
use mldsa_arrow::{ContextOf, Inputs, KeyOf, MessageOf, Options, Set, SetOf, Verdicts};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use pyo3_arrow::PyRecordBatch;

use crate::buffers::Column;
use crate::errors::{bad, context};

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Verifier(mldsa_arrow::Verifier);

/// Imports a batch. The interface has no sizes of buffers; pyarrow knows them, and checks its own batches.
fn import(batch: &Bound<'_, PyAny>) -> PyResult<PyRecordBatch> {
    if batch.get_type().module()?.to_cow()?.starts_with("pyarrow") {
        let full = [("full", true)].into_py_dict(batch.py())?;
        let checked = batch.call_method("validate", (), Some(&full));
        checked.map_err(bad)?;
    }
    batch.extract()
}

/// Returns the set of all rows, or the one of the key.
fn set_of<C>(set: Option<&str>) -> PyResult<SetOf<C>> {
    Ok(match set {
        None => SetOf::Key,
        Some(name) => SetOf::All(name.parse::<Set>().map_err(bad)?),
    })
}

/// Makes a column of values, each shorter than 4 GiB.
fn column(name: &str, values: &Column) -> PyResult<BinaryViewArray> {
    let mut builder = BinaryViewBuilder::with_capacity(values.len());
    for (row, value) in values.0.iter().enumerate() {
        let len = u32::try_from(value.len())
            .ok()
            .filter(|len| *len < u32::MAX);
        let error = || bad(format!("row {row} of column \"{name}\" has 4 GiB or more"));
        let len = len.ok_or_else(error)?;
        let block = builder.append_block(value.clone());
        builder.try_append_view(block, 0, len).map_err(bad)?;
    }
    Ok(builder.finish())
}

/// Checks that of two options at most one is there.
fn exclude<A, B>(one: (&str, Option<A>), other: (&str, Option<B>)) -> PyResult<()> {
    match (one, other) {
        ((one, Some(_)), (other, Some(_))) => {
            Err(bad(format!("{one} and {other} exclude each other")))
        }
        _ => Ok(()),
    }
}

fn reasons(verdicts: &Verdicts) -> Vec<Option<String>> {
    let names = verdicts.reason.values().as_string::<i32>();
    let codes = verdicts.reason.keys().iter();
    codes
        .map(|code| Some(names.value(code? as usize).to_owned()))
        .collect()
}

#[pymethods]
impl Verifier {
    #[new]
    #[pyo3(signature = (*, threads = None, key_cache_bytes = 64 << 20))]
    fn new(threads: Option<usize>, key_cache_bytes: usize) -> PyResult<Self> {
        let threads = match threads {
            None => Threads::Shared,
            Some(threads) => Threads::Pool(ThreadPool::new(threads).map_err(bad)?),
        };
        let options = Options::default().threads(threads);
        let verifier = options.key_cache_bytes(key_cache_bytes).build();
        Ok(Self(verifier.map_err(bad)?))
    }

    #[pyo3(signature = (keys, messages, signatures, context = crate::EMPTY, *, set = None))]
    fn verify_many(
        &self,
        py: Python<'_>,
        keys: Column,
        messages: Column,
        signatures: Column,
        context: &[u8],
        set: Option<&str>,
    ) -> PyResult<Vec<Option<String>>> {
        let (set, context) = (set_of(set)?, self::context(context)?);
        let verdicts = py.detach(|| {
            let keys = column("keys", &keys)?;
            let messages = column("messages", &messages)?;
            let signatures = column("signatures", &signatures)?;
            let message = mldsa_arrow::Column::new("messages", &messages);
            let inputs = Inputs {
                set,
                key: KeyOf::Column(mldsa_arrow::Column::new("keys", &keys)),
                message: MessageOf::Message(message, ContextOf::All(context)),
                signature: mldsa_arrow::Column::new("signatures", &signatures),
            };
            self.0.verify(&inputs).map_err(bad)
        });
        Ok(reasons(&verdicts?))
    }

    #[pyo3(signature = (batch, *, key = "key", message = "message", signature = "signature", mu = None,
                        context = None, context_column = None, set = None, set_column = None))]
    #[allow(clippy::too_many_arguments, reason = "they are names of Python")]
    fn verify_batch(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        key: &str,
        message: &str,
        signature: &str,
        mu: Option<&str>,
        context: Option<&[u8]>,
        context_column: Option<&str>,
        set: Option<&str>,
        set_column: Option<&str>,
    ) -> PyResult<PyRecordBatch> {
        exclude(("set", set), ("set_column", set_column))?;
        exclude(("mu", mu), ("context", context))?;
        exclude(("mu", mu), ("context_column", context_column))?;
        exclude(("context", context), ("context_column", context_column))?;
        let inputs = Inputs {
            set: match set_column {
                Some(column) => SetOf::Column(column),
                None => set_of(set)?,
            },
            key: KeyOf::Column(key),
            message: match (mu, context_column) {
                (Some(mu), _) => MessageOf::Mu(mu),
                (None, Some(column)) => MessageOf::Message(message, ContextOf::Column(column)),
                (None, None) => {
                    let context = self::context(context.unwrap_or_default())?;
                    MessageOf::Message(message, ContextOf::All(context))
                }
            },
            signature,
        };
        let batch = import(batch)?;
        let names = [
            Some(key),
            Some(signature),
            mu.or(Some(message)),
            context_column,
            set_column,
        ];
        let verdicts = py.detach(|| {
            let batch = batch.as_ref();
            // The library that lends the columns may not have checked what it has read.
            for name in names.into_iter().flatten() {
                if let Some(column) = batch.column_by_name(name) {
                    let checked = column.to_data().validate_full();
                    checked.map_err(|error| bad(format!("column \"{name}\": {error}")))?;
                }
            }
            self.0.verify_batch(batch, inputs).map_err(bad)
        })?;
        let columns: [(&str, Arc<dyn Array>, bool); 2] = [
            ("valid", Arc::new(verdicts.valid), false),
            ("reason", Arc::new(verdicts.reason), true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(bad)?;
        Ok(PyRecordBatch::new(batch))
    }
}
