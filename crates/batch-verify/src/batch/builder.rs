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

/// Options of a verifier `V`, a [`BatchVerifier`], [`CommitteeVerifier`] or
/// [`AnyBatchVerifier`](crate::AnyBatchVerifier): [`Mode::Full`] and [`Threads::Shared`] by default.
#[must_use]
pub struct VerifierBuilder<V: Verifier> {
    options: Options,
    pub(crate) threads: Threads,
    pub(crate) accelerators: V::Accelerators,
    key_cache_bytes: usize,
    backend: Backend,
}

/// A verifier that has a builder.
pub trait Verifier {
    /// The devices that help it.
    type Accelerators: Default;
}

/// A verifier of items that carry their public keys.
pub trait ItemVerifier: Verifier {}

impl<P: ParameterSet> ItemVerifier for BatchVerifier<P> {}

/// The device of one parameter set.
type OneAccelerator<P> = Option<Arc<dyn Accelerator<P>>>;

impl<P: ParameterSet> Verifier for BatchVerifier<P> {
    type Accelerators = OneAccelerator<P>;
}

impl<P: ParameterSet> Verifier for CommitteeVerifier<P> {
    type Accelerators = OneAccelerator<P>;
}

impl<P: ParameterSet> BatchVerifier<P> {
    /// Returns the options of a verifier.
    pub fn builder() -> VerifierBuilder<Self> {
        VerifierBuilder::new()
    }
}

impl<P: ParameterSet> CommitteeVerifier<P> {
    /// Returns the options of a verifier. [`Committee::verifier`] makes one with the defaults.
    pub fn builder() -> VerifierBuilder<Self> {
        VerifierBuilder::new()
    }
}

impl<V: Verifier> VerifierBuilder<V> {
    pub(crate) fn new() -> Self {
        Self {
            options: Options::DEFAULT,
            threads: Threads::Shared,
            accelerators: V::Accelerators::default(),
            key_cache_bytes: 8 << 20,
            backend: Backend::detect(),
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

    /// Returns the same options for a verifier of one set.
    pub(crate) fn of_set<P: ParameterSet>(
        &self,
        accelerators: OneAccelerator<P>,
    ) -> VerifierBuilder<BatchVerifier<P>> {
        VerifierBuilder {
            options: self.options,
            threads: self.threads.clone(),
            accelerators,
            key_cache_bytes: self.key_cache_bytes,
            backend: self.backend,
        }
    }
}

impl<V: ItemVerifier> VerifierBuilder<V> {
    /// Sets the instruction set (the detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

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
}

impl<P: ParameterSet, V: Verifier<Accelerators = OneAccelerator<P>>> VerifierBuilder<V> {
    /// Lets a device verify batches that are large enough for it. Verdicts do not depend on it.
    pub fn accelerator(mut self, accelerator: impl Accelerator<P> + 'static) -> Self {
        self.accelerators = Some(Arc::new(accelerator));
        self
    }

    fn scheduler(self, lanes: Lanes<P>) -> Result<Scheduler<P>, BuildError> {
        let mut scheduler = Scheduler::new(self.options, Pool::new(self.threads)?, lanes);
        scheduler.accelerator = self.accelerators;
        Ok(scheduler)
    }
}

impl<P: ParameterSet> VerifierBuilder<BatchVerifier<P>> {
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

impl<P: ParameterSet> VerifierBuilder<CommitteeVerifier<P>> {
    /// Builds a verifier for votes of the members of `committee`.
    ///
    /// # Errors
    /// [`BuildError::ThreadPool`] if the threads cannot be started.
    pub fn build(self, committee: Committee<P>) -> Result<CommitteeVerifier<P>, BuildError> {
        let scheduler = self.scheduler(Lanes::without_cache())?;
        Ok(CommitteeVerifier::new(scheduler, committee))
    }
}

impl<V: Verifier> fmt::Debug for VerifierBuilder<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifierBuilder")
            .field("options", &self.options)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
