//! Many signatures: byte strings, and Arrow.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use arrow_array::builder::BinaryViewBuilder;
use arrow_array::{Array, BinaryViewArray, RecordBatch, RecordBatchReader};
use arrow_buffer::Buffer;
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use mldsa_arrow::batch_verify::{ThreadPool, Threads};
use mldsa_arrow::{ContextOf, Inputs, KeyOf, MessageOf, Options, Reason, Set, SetOf, Verdicts};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use crate::buffers::{Bytes, Column, Given, same_rows};
use crate::errors::{bad, context};

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Verifier {
    verifier: mldsa_arrow::Verifier,
    piece: usize,
}

/// Rows that a thread verifies before the interpreter looks for signals, in about 20 ms.
pub(crate) const PIECE: usize = 256;

/// Returns the set of all rows, or the one of the key.
fn set_of<C>(set: Given<&str>) -> PyResult<SetOf<C>> {
    Ok(match set.0 {
        None => SetOf::Key,
        Some(name) => SetOf::All(name.parse::<Set>().map_err(bad)?),
    })
}

/// Makes a column of values, each shorter than 4 GiB. The first is that of row `first`.
fn column(name: &str, first: usize, values: &[Buffer]) -> PyResult<BinaryViewArray> {
    let mut builder = BinaryViewBuilder::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let len = u32::try_from(value.len())
            .ok()
            .filter(|len| *len < u32::MAX);
        let error = || {
            bad(format!(
                "row {} of column \"{name}\" has 4 GiB or more",
                first + row
            ))
        };
        let len = len.ok_or_else(error)?;
        let block = builder.append_block(value.clone());
        builder.try_append_view(block, 0, len).map_err(bad)?;
    }
    Ok(builder.finish())
}

/// Checks that of some options at most one is there.
fn exclude<const N: usize>(options: [(&str, bool); N]) -> PyResult<()> {
    let mut given = options
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name));
    match (given.next(), given.next()) {
        (Some(one), Some(other)) => Err(bad(format!("{one} and {other} exclude each other"))),
        _ => Ok(()),
    }
}

/// Runs a step of the Arrow interface, which panics where a library breaks its rules.
fn guarded<T>(step: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(step))
        .unwrap_or_else(|_| Err(bad("the columns do not follow the interface of Arrow")))
}

/// Calls a step with each batch of an object: a batch, a table, a data frame or a stream.
fn each_batch(
    object: &Bound<'_, PyAny>,
    step: &mut dyn FnMut(RecordBatch) -> PyResult<()>,
) -> PyResult<()> {
    let py = object.py();
    // The interface has no sizes of buffers; pyarrow knows them, and checks what it lends.
    if object.get_type().module()?.to_cow()?.starts_with("pyarrow") {
        if object.hasattr("read_next_batch")? {
            each_batch(
                &object.getattr("schema")?.call_method0("empty_table")?,
                step,
            )?;
            for batch in object.try_iter()? {
                each_batch(&batch?, step)?;
            }
            return Ok(());
        }
        let full = [("full", true)].into_py_dict(py)?;
        object
            .call_method("validate", (), Some(&full))
            .map_err(bad)?;
    }
    if object.hasattr("__arrow_c_array__")? {
        let batch = guarded(|| object.extract::<PyRecordBatch>().map_err(bad))?;
        return step(batch.into_inner());
    }
    if !object.hasattr("__arrow_c_stream__")? {
        return Err(bad(format!(
            "{} lends no columns of Arrow",
            object.get_type()
        )));
    }
    let reader = |object: &Bound<'_, PyAny>| object.extract::<PyRecordBatchReader>()?.into_reader();
    let mut stream = guarded(|| reader(object).map_err(bad))?;
    step(RecordBatch::new_empty(stream.schema()))?;
    while let Some(batch) = guarded(|| Ok(py.detach(|| stream.next())))? {
        step(batch.map_err(bad)?)?;
    }
    Ok(())
}

/// Names of the reasons, by the values of the dictionary of verdicts.
static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| Reason::all().map(Reason::name).collect());

fn reasons(verdicts: &Verdicts) -> impl Iterator<Item = Option<&'static str>> {
    let codes = verdicts.reason.keys().iter();
    codes.map(|code| NAMES.get(code? as usize).copied())
}

#[pymethods]
impl Verifier {
    #[new]
    #[pyo3(signature = (*, threads = None, key_cache_bytes = 64 << 20))]
    fn new(threads: Option<usize>, key_cache_bytes: usize) -> PyResult<Self> {
        let count = threads.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get));
        let threads = match threads {
            None => Threads::Shared,
            Some(threads) => Threads::Pool(ThreadPool::new(threads).map_err(bad)?),
        };
        let options = Options::default().threads(threads);
        let verifier = options.key_cache_bytes(key_cache_bytes).build();
        Ok(Self {
            verifier: verifier.map_err(bad)?,
            piece: PIECE.saturating_mul(count),
        })
    }

    #[pyo3(signature = (keys, messages, signatures, *, context = Given(None), set = Given(None)))]
    fn verify_batch(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        context: Given<Bytes>,
        set: Given<&str>,
    ) -> PyResult<Vec<Option<&'static str>>> {
        let (set, context) = (set_of(set)?, self::context(context.bytes())?);
        let mut keys = Column::new(keys, "keys")?;
        let mut messages = Column::new(messages, "messages")?;
        let mut signatures = Column::new(signatures, "signatures")?;
        let rows = same_rows(keys.rows().1, [messages.rows(), signatures.rows()])?;
        let mut found = Vec::new();
        while found.len() < rows {
            py.check_signals()?;
            let first = found.len();
            let (keys, messages, signatures) = (
                keys.take(self.piece)?,
                messages.take(self.piece)?,
                signatures.take(self.piece)?,
            );
            let verdicts = py.detach(|| {
                let keys = column("keys", first, &keys)?;
                let messages = column("messages", first, &messages)?;
                let signatures = column("signatures", first, &signatures)?;
                let message = mldsa_arrow::Column::new("messages", &messages);
                let inputs = Inputs {
                    set,
                    key: KeyOf::Column(mldsa_arrow::Column::new("keys", &keys)),
                    message: MessageOf::Message(message, ContextOf::All(context)),
                    signature: mldsa_arrow::Column::new("signatures", &signatures),
                };
                self.verifier.verify(&inputs).map_err(bad)
            })?;
            found.try_reserve(self.piece).map_err(bad)?;
            found.extend(reasons(&verdicts));
        }
        Ok(found)
    }

    #[pyo3(signature = (columns, *, key = "key", message = "message", signature = "signature",
                        mu = Given(None), context = Given(None), context_column = Given(None),
                        set = Given(None), set_column = Given(None)))]
    #[allow(clippy::too_many_arguments, reason = "they are names of Python")]
    fn verify_arrow(
        &self,
        py: Python<'_>,
        columns: &Bound<'_, PyAny>,
        key: &str,
        message: &str,
        signature: &str,
        mu: Given<&str>,
        context: Given<Bytes>,
        context_column: Given<&str>,
        set: Given<&str>,
        set_column: Given<&str>,
    ) -> PyResult<PyRecordBatch> {
        exclude([
            ("set", set.0.is_some()),
            ("set_column", set_column.0.is_some()),
        ])?;
        exclude([
            ("mu", mu.0.is_some()),
            ("context", context.0.is_some()),
            ("context_column", context_column.0.is_some()),
        ])?;
        let context = self::context(context.bytes())?;
        let inputs = Inputs {
            set: match set_column.0 {
                Some(column) => SetOf::Column(column),
                None => set_of(set)?,
            },
            key: KeyOf::Column(key),
            message: match (mu.0, context_column.0) {
                (Some(mu), _) => MessageOf::Mu(mu),
                (None, Some(column)) => MessageOf::Message(message, ContextOf::Column(column)),
                (None, None) => MessageOf::Message(message, ContextOf::All(context)),
            },
            signature,
        };
        let names = [
            Some(key),
            Some(signature),
            mu.0.or(Some(message)),
            context_column.0,
            set_column.0,
        ];
        let mut found = Vec::new();
        each_batch(columns, &mut |batch| {
            py.detach(|| check(&batch, &names))?;
            // A batch without rows has columns too.
            for start in (0..batch.num_rows().max(1)).step_by(self.piece) {
                py.check_signals()?;
                let piece = batch.slice(start, self.piece.min(batch.num_rows() - start));
                let verdicts =
                    py.detach(|| self.verifier.verify_batch(&piece, inputs).map_err(bad))?;
                found.push(batch_of(verdicts).map_err(bad)?);
            }
            Ok(())
        })?;
        let schema = found
            .first()
            .ok_or_else(|| bad("there is no batch"))?
            .schema();
        let all = concat_batches(&schema, &found).map_err(bad)?;
        Ok(PyRecordBatch::new(all))
    }
}

/// Checks columns that the library that lends them may not have checked when it read them.
fn check(batch: &RecordBatch, names: &[Option<&str>]) -> PyResult<()> {
    for name in names.iter().flatten() {
        if let Some(column) = batch.column_by_name(name) {
            let checked = column.to_data().validate_full();
            checked.map_err(|error| bad(format!("column \"{name}\": {error}")))?;
        }
    }
    Ok(())
}

fn batch_of(verdicts: Verdicts) -> Result<RecordBatch, ArrowError> {
    let columns: [(&str, Arc<dyn Array>, bool); 2] = [
        ("valid", Arc::new(verdicts.valid), false),
        ("reason", Arc::new(verdicts.reason), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}
