//! Many signatures: lists of bytes, and Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryViewArray, RecordBatch};
use mldsa_arrow::batch_verify::{ThreadPool, Threads};
use mldsa_arrow::{Column, ContextOf, Inputs, KeyOf, MessageOf, Options, Set, SetOf, Verdicts};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3_arrow::PyRecordBatch;

use crate::errors::{bad, context};

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Verifier(mldsa_arrow::Verifier);

/// The set of all rows, or the one of the key.
fn set_of<C>(set: Option<&str>) -> PyResult<SetOf<C>> {
    Ok(match set {
        None => SetOf::Key,
        Some(name) => SetOf::All(name.parse::<Set>().map_err(bad)?),
    })
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
        keys: Vec<PyBackedBytes>,
        messages: Vec<PyBackedBytes>,
        signatures: Vec<PyBackedBytes>,
        context: &[u8],
        set: Option<&str>,
    ) -> PyResult<Vec<Option<String>>> {
        let (set, context) = (set_of(set)?, self::context(context)?);
        let verdicts = py.detach(|| {
            let column = |values: &[PyBackedBytes]| {
                BinaryViewArray::from_iter_values(values.iter().map(|value| -> &[u8] { value }))
            };
            let (keys, messages, signatures) =
                (column(&keys), column(&messages), column(&signatures));
            let message = Column::new("messages", &messages);
            self.0.verify(&Inputs {
                set,
                key: KeyOf::Column(Column::new("keys", &keys)),
                message: MessageOf::Message(message, ContextOf::All(context)),
                signature: Column::new("signatures", &signatures),
            })
        });
        Ok(reasons(&verdicts.map_err(bad)?))
    }

    #[pyo3(signature = (batch, *, key = "key", message = "message", signature = "signature", mu = None,
                        context = crate::EMPTY, context_column = None, set = None, set_column = None))]
    #[allow(clippy::too_many_arguments, reason = "they are names of Python")]
    fn verify_batch(
        &self,
        py: Python<'_>,
        batch: PyRecordBatch,
        key: &str,
        message: &str,
        signature: &str,
        mu: Option<&str>,
        context: &[u8],
        context_column: Option<&str>,
        set: Option<&str>,
        set_column: Option<&str>,
    ) -> PyResult<PyRecordBatch> {
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
                    MessageOf::Message(message, ContextOf::All(self::context(context)?))
                }
            },
            signature,
        };
        let verdicts = py.detach(|| self.0.verify_batch(batch.as_ref(), inputs));
        let verdicts = verdicts.map_err(bad)?;
        let columns: [(&str, Arc<dyn Array>, bool); 2] = [
            ("valid", Arc::new(verdicts.valid), false),
            ("reason", Arc::new(verdicts.reason), true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(bad)?;
        Ok(PyRecordBatch::new(batch))
    }
}
