//! Many signatures: byte strings, and Arrow.

use std::fmt::Display;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::available_parallelism;

use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use mldsa_arrow::batch_verify::{
    AnyBatchVerifier, AnyItem, Item, RejectReason, ThreadPool, Threads,
};
use mldsa_arrow::{ContextOf, Inputs, KeyOf, MessageOf, SetOf, Verdicts};
use mldsa_core::Set;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use crate::buffers::{Bytes, Column, Given, same_rows};
use crate::errors::{bad, context, unusable};

#[pyclass(frozen, module = "mldsa_batch")]
pub(crate) struct Verifier {
    arrow: mldsa_arrow::Verifier,
    lists: AnyBatchVerifier,
    piece: usize,
}

/// Rows that a thread verifies before the interpreter looks for signals, in about 20 ms.
pub(crate) const PIECE: usize = 256;

/// Reads the name of a set.
fn set_of<S: FromStr<Err: Display>>(set: Given<&str>) -> PyResult<Option<S>> {
    set.0.map(str::parse).transpose().map_err(bad)
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

type Step<'a> = dyn FnMut(RecordBatch) -> PyResult<()> + 'a;

/// Calls a step with each batch of an object: a batch, a table, a data frame or a stream.
fn each_batch(object: &Bound<'_, PyAny>, step: &mut Step<'_>) -> PyResult<()> {
    let of_pyarrow = object.get_type().module()?.to_cow()?.starts_with("pyarrow");
    if of_pyarrow && object.hasattr("read_next_batch")? {
        stream(
            &object.getattr("schema")?.call_method0("empty_table")?,
            step,
        )?;
        for batch in object.try_iter()? {
            let batch = batch?;
            validate(&batch)?;
            array(&batch, step)?;
        }
        return Ok(());
    }
    if of_pyarrow {
        validate(object)?;
    }
    if object.hasattr("__arrow_c_array__")? {
        return array(object, step);
    }
    if object.hasattr("__arrow_c_stream__")? {
        return stream(object, step);
    }
    let kind = object.get_type();
    Err(bad(format!("{kind} lends no columns of Arrow")))
}

/// Lets pyarrow check what it lends: it knows the sizes of buffers, which the interface does not have.
fn validate(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let full = [("full", true)].into_py_dict(object.py())?;
    let checked = object.call_method("validate", (), Some(&full));
    checked.map_err(|error| unusable(object.py(), "", error))?;
    Ok(())
}

fn array(object: &Bound<'_, PyAny>, step: &mut Step<'_>) -> PyResult<()> {
    let batch = guarded(|| object.extract::<PyRecordBatch>());
    step(
        batch
            .map_err(|error| unusable(object.py(), "", error))?
            .into_inner(),
    )
}

fn stream(object: &Bound<'_, PyAny>, step: &mut Step<'_>) -> PyResult<()> {
    let py = object.py();
    let batches = guarded(|| object.extract::<PyRecordBatchReader>()?.into_reader());
    let mut batches = batches.map_err(|error| unusable(py, "", error))?;
    // A stream without batches has columns too.
    step(RecordBatch::new_empty(batches.schema()))?;
    while let Some(batch) = guarded(|| Ok(py.detach(|| batches.next())))? {
        py.check_signals()?;
        step(batch.map_err(bad)?)?;
    }
    Ok(())
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
        let verifier = AnyBatchVerifier::builder().threads(threads);
        let lists = verifier.key_cache_bytes(key_cache_bytes).build();
        let lists = lists.map_err(bad)?;
        Ok(Self {
            arrow: lists.clone().into(),
            lists,
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
        let (set, context) = (set_of::<Set>(set)?, self::context(context.bytes())?);
        let mut keys = Column::new(keys, "keys")?;
        let mut messages = Column::new(messages, "messages")?;
        let mut signatures = Column::new(signatures, "signatures")?;
        let rows = same_rows(keys.rows().1, [messages.rows(), signatures.rows()])?;
        let mut found = Vec::new();
        while found.len() < rows {
            py.check_signals()?;
            let keys = keys.take(self.piece)?;
            let (messages, signatures) = (messages.take(self.piece)?, signatures.take(self.piece)?);
            let report = py.detach(|| {
                let rows = keys.iter().zip(&messages).zip(&signatures);
                self.lists
                    .verify_batch(rows.map(|((key, message), signature)| {
                        let item = Item::new(key, message.as_ref(), context, signature);
                        set.map_or_else(|| item.into(), |set| AnyItem::from((set, item)))
                    }))
            });
            found.try_reserve(keys.len()).map_err(bad)?;
            let reasons = report.verdicts().iter().map(|verdict| verdict.err());
            found.extend(reasons.map(|reason| reason.map(RejectReason::name)));
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
                None => set_of(set)?.map_or(SetOf::Key, SetOf::All),
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
                    py.detach(|| self.arrow.verify_batch(&piece, inputs).map_err(bad))?;
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
