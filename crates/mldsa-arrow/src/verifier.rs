//! Verification of columns.

use core::fmt;

use arrow_array::types::Int8Type;
use arrow_array::{BooleanArray, DictionaryArray, Int8Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use batch_verify::{
    Accelerator, Backend, BatchVerifier, BuildError, Item, MlDsa44, MlDsa65, MlDsa87, Mu,
    ParameterSet, Threads, VerifierBuilder,
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
#[derive(Clone)]
pub struct Verifier {
    ml_dsa_44: BatchVerifier<MlDsa44>,
    ml_dsa_65: BatchVerifier<MlDsa65>,
    ml_dsa_87: BatchVerifier<MlDsa87>,
}

/// Options of a [`Verifier`].
#[must_use]
#[derive(Debug)]
pub struct Options {
    ml_dsa_44: VerifierBuilder<BatchVerifier<MlDsa44>>,
    ml_dsa_65: VerifierBuilder<BatchVerifier<MlDsa65>>,
    ml_dsa_87: VerifierBuilder<BatchVerifier<MlDsa87>>,
}

impl Default for Options {
    /// Uses the calling thread alone, as an engine that gives each of its threads a batch expects,
    /// and 32 MiB of prepared keys for each parameter set.
    fn default() -> Self {
        let new = Self {
            ml_dsa_44: BatchVerifier::builder(),
            ml_dsa_65: BatchVerifier::builder(),
            ml_dsa_87: BatchVerifier::builder(),
        };
        new.threads(Threads::Inline).key_cache_bytes(32 << 20)
    }
}

impl Options {
    /// Sets the threads that verify a batch.
    pub fn threads(self, threads: Threads) -> Self {
        Self {
            ml_dsa_44: self.ml_dsa_44.threads(threads.clone()),
            ml_dsa_65: self.ml_dsa_65.threads(threads.clone()),
            ml_dsa_87: self.ml_dsa_87.threads(threads),
        }
    }

    /// Bounds the memory for prepared keys of each parameter set. A key takes 20, 36 or 64 KiB.
    pub fn key_cache_bytes(self, bytes: usize) -> Self {
        Self {
            ml_dsa_44: self.ml_dsa_44.key_cache_bytes(bytes),
            ml_dsa_65: self.ml_dsa_65.key_cache_bytes(bytes),
            ml_dsa_87: self.ml_dsa_87.key_cache_bytes(bytes),
        }
    }

    /// Sets the instruction set (the detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self {
            ml_dsa_44: self.ml_dsa_44.backend(backend),
            ml_dsa_65: self.ml_dsa_65.backend(backend),
            ml_dsa_87: self.ml_dsa_87.backend(backend),
        }
    }

    /// Lets a device for each parameter set verify chunks that are large enough for it. Verdicts do not
    /// depend on it.
    pub fn accelerators(
        self,
        ml_dsa_44: impl Accelerator<MlDsa44> + 'static,
        ml_dsa_65: impl Accelerator<MlDsa65> + 'static,
        ml_dsa_87: impl Accelerator<MlDsa87> + 'static,
    ) -> Self {
        Self {
            ml_dsa_44: self.ml_dsa_44.accelerator(ml_dsa_44),
            ml_dsa_65: self.ml_dsa_65.accelerator(ml_dsa_65),
            ml_dsa_87: self.ml_dsa_87.accelerator(ml_dsa_87),
        }
    }

    /// Lets a GPU verify chunks that are large enough for it. It is opened for each parameter set when it is
    /// needed; without one the CPU verifies, and `on_fault` of the options learns why.
    #[cfg(feature = "gpu")]
    pub fn gpu(self, options: &mldsa_gpu::GpuOptions) -> Self {
        self.accelerators(
            mldsa_gpu::LazyGpu::new(options.clone()),
            mldsa_gpu::LazyGpu::new(options.clone()),
            mldsa_gpu::LazyGpu::new(options.clone()),
        )
    }

    /// Builds a verifier.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] if the threads cannot be started.
    pub fn build(self) -> Result<Verifier, BuildError> {
        Ok(Verifier {
            ml_dsa_44: self.ml_dsa_44.build()?,
            ml_dsa_65: self.ml_dsa_65.build()?,
            ml_dsa_87: self.ml_dsa_87.build()?,
        })
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
            let mus: Vec<Option<Mu>> = (start..end).map(|row| rows.mu(row)).collect();
            let items = (start..end).zip(&mus);
            let items = items.map(|(row, mu)| rows.item(row, mu.as_ref()));
            let items: Vec<Result<(Set, Item<'_>), Reason>> = items.collect();
            reasons.extend(items.iter().map(|item| item.as_ref().err().copied()));
            let reasons = &mut reasons[start..];
            verify_set(&self.ml_dsa_44, Set::MlDsa44, &items, reasons);
            verify_set(&self.ml_dsa_65, Set::MlDsa65, &items, reasons);
            verify_set(&self.ml_dsa_87, Set::MlDsa87, &items, reasons);
        }
        Ok(Verdicts::new(&reasons))
    }
}

/// Writes the reasons of the rejected items of one set.
fn verify_set<P: ParameterSet>(
    verifier: &BatchVerifier<P>,
    set: Set,
    items: &[Result<(Set, Item<'_>), Reason>],
    reasons: &mut [Option<Reason>],
) {
    let of_set = || {
        let items = items.iter().enumerate();
        items.filter_map(|(n, item)| match item {
            Ok((of, item)) if *of == set => Some((n, *item)),
            _ => None,
        })
    };
    let report = verifier.verify_batch(of_set().map(|(_, item)| item));
    for ((n, _), verdict) in of_set().zip(report.verdicts()) {
        reasons[n] = verdict.err().map(Reason::Rejected);
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}
