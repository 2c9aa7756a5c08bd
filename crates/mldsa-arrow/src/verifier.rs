//! Verification of columns.

use arrow_array::types::Int8Type;
use arrow_array::{BooleanArray, DictionaryArray, Int8Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use batch_verify::{
    AnyBatchVerifier, Backend, BuildError, Item, RejectReason, Threads, VerifierBuilder,
};

use crate::bytes::Column;
use crate::inputs::{Inputs, Rows};
use crate::reason::names;
use crate::{ColumnError, Reason, Set};

/// Rows that are verified together: they bound the memory besides the columns.
const CHUNK: usize = 16_384;

/// Verdicts on the rows of a batch, in their order.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// Whether the signature is valid. No row is null.
    pub valid: BooleanArray,
    /// Name of the [`Reason`] of a row that is not valid; null for a valid one. All batches share the
    /// values of the dictionary.
    pub reason: DictionaryArray<Int8Type>,
}

impl Verdicts {
    fn new(reasons: &[Option<Reason>]) -> Self {
        let rows = reasons.len();
        let valid = BooleanBuffer::collect_bool(rows, |row| reasons[row].is_none());
        let codes = reasons.iter().map(|reason| reason.map_or(0, Reason::code));
        let nulls = NullBuffer::new(!&valid);
        let codes = Int8Array::new(codes.collect(), Some(nulls));
        Self {
            valid: BooleanArray::new(valid, None),
            reason: DictionaryArray::new(codes, names()),
        }
    }
}

/// Verifies batches of columns. Prepared keys stay from batch to batch, in bounded memory.
///
/// Clones, threads and engines may share it: it has no other state.
#[derive(Clone, Debug)]
pub struct Verifier(AnyBatchVerifier);

/// A verifier of columns that shares threads and prepared keys with this one.
impl From<AnyBatchVerifier> for Verifier {
    fn from(verifier: AnyBatchVerifier) -> Self {
        Self(verifier)
    }
}

/// Options of a [`Verifier`].
#[must_use]
#[derive(Debug)]
pub struct Options(VerifierBuilder<AnyBatchVerifier>);

impl Default for Options {
    /// Uses the calling thread alone, as an engine that gives each of its threads a batch expects,
    /// and 32 MiB of prepared keys for each parameter set.
    fn default() -> Self {
        let options = Self(AnyBatchVerifier::builder());
        options.threads(Threads::Inline).key_cache_bytes(32 << 20)
    }
}

impl Options {
    /// Sets the threads that verify a batch.
    pub fn threads(self, threads: Threads) -> Self {
        Self(self.0.threads(threads))
    }

    /// Bounds the memory for prepared keys of each parameter set. A key takes 20, 36 or 64 KiB.
    pub fn key_cache_bytes(self, bytes: usize) -> Self {
        Self(self.0.key_cache_bytes(bytes))
    }

    /// Sets the instruction set (the detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self(self.0.backend(backend))
    }

    /// Lets a GPU verify chunks that are large enough for it. It is opened for each parameter set when it is
    /// needed; without one the CPU verifies, and `on_fault` of the options learns why.
    #[cfg(feature = "gpu")]
    pub fn gpu(self, options: &mldsa_gpu::GpuOptions) -> Self {
        let gpu = || options.clone();
        Self(self.0.accelerators(
            mldsa_gpu::LazyGpu::new(gpu()),
            mldsa_gpu::LazyGpu::new(gpu()),
            mldsa_gpu::LazyGpu::new(gpu()),
        ))
    }

    /// Builds a verifier.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] if the threads cannot be started.
    pub fn build(self) -> Result<Verifier, BuildError> {
        Ok(Verifier(self.0.build()?))
    }
}

impl Verifier {
    /// Verifies the rows of a batch, whose columns `inputs` names. There are as many verdicts as rows, in their
    /// order; a malformed row has a reason and does not affect the others.
    ///
    /// # Errors
    /// [`ColumnError`] if a column is missing or has another type.
    pub fn verify_batch(
        &self,
        batch: &RecordBatch,
        inputs: Inputs<'_, &str>,
    ) -> Result<Verdicts, ColumnError> {
        self.verify(&inputs.of(batch)?)
    }

    /// Verifies columns, as [`verify_batch`](Self::verify_batch) does.
    ///
    /// # Errors
    /// [`ColumnError`] if a column has another type or length.
    pub fn verify(&self, inputs: &Inputs<'_, Column<'_>>) -> Result<Verdicts, ColumnError> {
        let rows = Rows::new(inputs)?;
        let mut reasons = Vec::with_capacity(rows.count);
        for start in (0..rows.count).step_by(CHUNK) {
            let end = rows.count.min(start + CHUNK);
            let mus = rows.mus(start..end);
            let items = (start..end).zip(&mus);
            let items = items.map(|(row, mu)| rows.item(row, mu.as_ref()));
            let items: Vec<Result<(Set, Item<'_>), Reason>> = items.collect();
            let report = self
                .0
                .verify_batch(items.iter().filter_map(|item| item.as_ref().ok().copied()));
            let mut verdicts = report.verdicts().iter();
            reasons.extend(items.iter().map(|item| match item {
                Ok(_) => {
                    let missing = Err(RejectReason::NotVerified);
                    let verdict = verdicts.next().copied().unwrap_or(missing);
                    verdict.err().map(Reason::Rejected)
                }
                Err(reason) => Some(*reason),
            }));
        }
        Ok(Verdicts::new(&reasons))
    }
}
