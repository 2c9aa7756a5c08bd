//! Builder of verifiers.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroUsize;
use std::sync::Arc;

use mldsa_core::{Backend, ParameterSet};

use super::lanes::Lanes;
use super::options::{Mode, Options};
use super::scheduler::Scheduler;
use super::verifier::{BatchVerifier, CommitteeVerifier};
use crate::executor::Pool;
use crate::{Accelerator, BuildError, Committee, Threads};

/// Options of a verifier `V`, a [`BatchVerifier`] or [`CommitteeVerifier`]: [`Mode::Full`] and
/// [`Threads::Shared`] by default.
#[must_use]
pub struct VerifierBuilder<P: ParameterSet, V> {
    options: Options,
    threads: Threads,
    accelerator: Option<Arc<dyn Accelerator<P>>>,
    key_cache_bytes: usize,
    backend: Backend,
    verifier: PhantomData<fn() -> V>,
}

impl<P: ParameterSet> BatchVerifier<P> {
    /// Returns the options of a verifier.
    pub fn builder() -> VerifierBuilder<P, Self> {
        VerifierBuilder::new()
    }
}

impl<P: ParameterSet> CommitteeVerifier<P> {
    /// Returns the options of a verifier. [`Committee::verifier`] makes one with the defaults.
    pub fn builder() -> VerifierBuilder<P, Self> {
        VerifierBuilder::new()
    }
}

impl<P: ParameterSet, V> VerifierBuilder<P, V> {
    fn new() -> Self {
        Self {
            options: Options::DEFAULT,
            threads: Threads::Shared,
            accelerator: None,
            key_cache_bytes: 8 << 20,
            backend: Backend::detect(),
            verifier: PhantomData,
        }
    }

    /// Sets the extent of the verification of a batch.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Sets the threads that verify.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Sets the number of items that a worker verifies at once, at least 1. Verdicts do not depend
    /// on it, and multiples of 8 fill the lanes. Without this option 8 to 32, chosen for each
    /// batch so that a worker has four chunks.
    pub fn batch_size(mut self, items: usize) -> Self {
        self.options.batch_size = NonZeroUsize::new(items.max(1));
        self
    }

    /// Keeps batches of fewer items on the calling thread (9: more than fit into lanes at
    /// once); waking another thread costs more than they do.
    pub fn inline_below(mut self, items: usize) -> Self {
        self.options.inline_below = items;
        self
    }

    /// Accepts HashML-DSA under hashes weaker than the parameter set (off).
    pub fn allow_weak_prehash(mut self, allow: bool) -> Self {
        self.options.allow_weak_prehash = allow;
        self
    }

    /// Lets a device verify batches that are large enough for it. Verdicts do not depend on it.
    pub fn accelerator(self, accelerator: impl Accelerator<P> + 'static) -> Self {
        let accelerator: Option<Arc<dyn Accelerator<P>>> = Some(Arc::new(accelerator));
        Self {
            accelerator,
            ..self
        }
    }

    fn scheduler(self, lanes: Lanes<P>) -> Result<Scheduler<P>, BuildError> {
        let mut scheduler = Scheduler::new(self.options, Pool::new(self.threads)?, lanes);
        scheduler.accelerator = self.accelerator;
        Ok(scheduler)
    }
}

impl<P: ParameterSet> VerifierBuilder<P, BatchVerifier<P>> {
    /// Bounds the memory for prepared keys (8 MiB), with the counters of other keys.
    ///
    /// A key is expanded after its second valid signature while there is room. If there is
    /// none, after its eighth, and the least recently used key is removed; or from the third
    /// on if that key has been idle for eight times the distance of the last two signatures.
    /// Where keys sign a few times each and then never again, 0 is faster.
    pub fn key_cache_bytes(self, key_cache_bytes: usize) -> Self {
        Self {
            key_cache_bytes,
            ..self
        }
    }

    /// Sets the instruction set (the detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Builds a verifier for items that carry their public keys.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] if the threads cannot be started.
    pub fn build(self) -> Result<BatchVerifier<P>, BuildError> {
        let lanes = Lanes::new(self.key_cache_bytes, self.backend);
        Ok(BatchVerifier {
            scheduler: self.scheduler(lanes)?,
        })
    }
}

impl<P: ParameterSet> VerifierBuilder<P, CommitteeVerifier<P>> {
    /// Builds a verifier for votes of the members of `committee`.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] if the threads cannot be started.
    pub fn build(self, committee: Committee<P>) -> Result<CommitteeVerifier<P>, BuildError> {
        let scheduler = self.scheduler(Lanes::without_cache())?;
        Ok(CommitteeVerifier::new(scheduler, committee))
    }
}

impl<P: ParameterSet, V> fmt::Debug for VerifierBuilder<P, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifierBuilder")
            .field("options", &self.options)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
