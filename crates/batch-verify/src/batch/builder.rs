//! Builder of verifiers.

use core::fmt;
use core::num::NonZeroUsize;
use std::sync::Arc;

use mldsa_core::{Backend, ParameterSet};

use super::lanes::Lanes;
use super::options::{Mode, Options};
use super::scheduler::Scheduler;
use super::verifier::{BatchVerifier, CommitteeVerifier};
use crate::executor::Pool;
use crate::{Accelerator, BuildError, Committee, Threads};

/// Options of a verifier: [`Mode::Full`] and [`Threads::Shared`] by default.
#[must_use]
pub struct BatchVerifierBuilder<P: ParameterSet> {
    options: Options,
    threads: Threads,
    key_cache_bytes: usize,
    backend: Backend,
    accelerator: Option<Arc<dyn Accelerator<P>>>,
}

impl<P: ParameterSet> fmt::Debug for BatchVerifierBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchVerifierBuilder")
            .field("options", &self.options)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl<P: ParameterSet> BatchVerifier<P> {
    /// Options of a verifier.
    pub fn builder() -> BatchVerifierBuilder<P> {
        BatchVerifierBuilder {
            options: Options::DEFAULT,
            threads: Threads::Shared,
            key_cache_bytes: 8 << 20,
            backend: Backend::detect(),
            accelerator: None,
        }
    }
}

impl<P: ParameterSet> BatchVerifierBuilder<P> {
    /// Extent of the verification of a batch.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Threads that verify.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Number of items that a worker verifies at once, at least 1. Verdicts do not depend on
    /// it, and multiples of 8 fill the lanes. Without this option 8 to 32, chosen for each
    /// batch so that a worker has four chunks.
    pub fn batch_size(mut self, items: usize) -> Self {
        self.options.batch_size = NonZeroUsize::new(items.max(1));
        self
    }

    /// Batches of fewer items stay on the calling thread (9: more than fit into lanes at
    /// once); waking another thread costs more than they do.
    pub fn inline_below(mut self, items: usize) -> Self {
        self.options.inline_below = items;
        self
    }

    /// Upper bound on the memory for prepared keys that are in no committee (8 MiB), with the
    /// counters of other keys. Ignored by [`build_for`](Self::build_for).
    ///
    /// A key is expanded after its second valid signature while there is room. If there is
    /// none, after its eighth, and the least recently used key is removed; or from the third
    /// on if that key has been idle for eight times the distance of the last two signatures.
    /// Where keys sign a few times each and then never again, 0 is faster.
    pub fn key_cache_bytes(mut self, bytes: usize) -> Self {
        self.key_cache_bytes = bytes;
        self
    }

    /// Accepts HashML-DSA under hashes weaker than the parameter set (off).
    pub fn allow_weak_prehash(mut self, allow: bool) -> Self {
        self.options.allow_weak_prehash = allow;
        self
    }

    /// Instruction set for keys that are in no committee (the detected one). Verdicts do not
    /// depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Lets a device verify batches that are large enough for it. Verdicts do not depend on it.
    pub fn accelerator(mut self, accelerator: impl Accelerator<P> + 'static) -> Self {
        self.accelerator = Some(Arc::new(accelerator));
        self
    }

    /// Builds a verifier for items that carry their public keys.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] when the pool has zero threads or cannot be started.
    pub fn build(self) -> Result<BatchVerifier<P>, BuildError> {
        Ok(BatchVerifier {
            scheduler: self.scheduler()?,
        })
    }

    /// Builds a verifier for votes of the members of `committee`.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_for(self, committee: Committee<P>) -> Result<CommitteeVerifier<P>, BuildError> {
        let scheduler = self.key_cache_bytes(0).scheduler()?;
        Ok(CommitteeVerifier::new(scheduler, committee))
    }

    fn scheduler(self) -> Result<Scheduler<P>, BuildError> {
        let pool = Pool::new(self.threads).ok_or(BuildError::ThreadPool)?;
        let lanes = Lanes::new(self.key_cache_bytes, self.backend);
        let mut scheduler = Scheduler::new(self.options, pool, lanes);
        scheduler.accelerator = self.accelerator;
        Ok(scheduler)
    }
}
