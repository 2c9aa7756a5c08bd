//! The choices of a verifier, collected.

use core::fmt;
use std::sync::Arc;

use mldsa_core::{Backend, Context, ParameterSet};

use crate::batch::Metrics;
use crate::cache::KeyCache;
use crate::executor::executor;
use crate::judge::Judge;
use crate::schedule::Schedule;
use crate::{BatchSize, BatchVerifier, BuildError, Duplicates, KeySet, Mode, Summary, Threads};

/// Collects the choices for a [`BatchVerifier`]: no key set, the empty context,
/// [`Mode::Full`], [`Threads::Shared`], [`BatchSize::Auto`] and [`Duplicates::Once`],
/// unless told otherwise.
#[must_use]
pub struct Builder<P: ParameterSet> {
    keys: Option<KeySet<P>>,
    context: Vec<u8>,
    mode: Mode,
    threads: Threads,
    batch_size: BatchSize,
    inline_below: usize,
    duplicates: Duplicates,
    key_cache_bytes: usize,
    allow_weak_prehash: bool,
    backend: Backend,
    metrics: Option<Metrics>,
}

impl<P: ParameterSet> BatchVerifier<P> {
    /// Chooses the rest first.
    pub fn builder() -> Builder<P> {
        Builder::new()
    }
}

impl<P: ParameterSet> Builder<P> {
    fn new() -> Self {
        Self {
            keys: None,
            context: Vec::new(),
            mode: Mode::Full,
            threads: Threads::Shared,
            batch_size: BatchSize::Auto,
            inline_below: 9,
            duplicates: Duplicates::Once,
            key_cache_bytes: 8 << 20,
            allow_weak_prehash: false,
            backend: Backend::detect(),
            metrics: None,
        }
    }

    /// The signers that items may name by [`SignerId`](crate::SignerId). Items
    /// that carry their public key need no set; if their key is in it, they use
    /// it.
    pub fn keys(self, keys: KeySet<P>) -> Self {
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The context of every item without its own, a [`Context`] or at most 255
    /// bytes; name the network and the kind of message in it.
    pub fn context(self, context: impl AsRef<[u8]>) -> Self {
        Self {
            context: context.as_ref().to_vec(),
            ..self
        }
    }

    /// How far [`verify`](BatchVerifier::verify) and its relatives go.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Whose threads do the work.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// How many items a worker takes at once.
    pub fn batch_size(self, batch_size: BatchSize) -> Self {
        Self { batch_size, ..self }
    }

    /// Batches of fewer items stay on the calling thread (9: more than fit into
    /// lanes side by side); waking another costs more than they do.
    pub fn inline_below(self, items: usize) -> Self {
        Self {
            inline_below: items,
            ..self
        }
    }

    /// What happens to repeats.
    pub fn duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// Memory for the expanded keys of signers that are in no set (8 MiB), and for what is
    /// remembered of others. A key is expanded after its second valid signature. If the
    /// memory is full, after its eighth, when the one that was not used for the longest
    /// time leaves, or from the third on, if that one has been idle for eight times as
    /// long as lay between the last two; with 0 none ever is. Only valid signatures are
    /// uses. A kept key pays after some more of them: where keys sign a few times each and
    /// then no more, or all alike and more of them than fit, 0 serves better.
    pub fn key_cache_bytes(self, bytes: usize) -> Self {
        Self {
            key_cache_bytes: bytes,
            ..self
        }
    }

    /// Accept HashML-DSA under hashes weaker than the parameter set (off).
    pub fn allow_weak_prehash(self, allow: bool) -> Self {
        Self {
            allow_weak_prehash: allow,
            ..self
        }
    }

    /// Which instruction set verifies under keys that are in no set (the
    /// detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Called with the figures of every batch, on the thread that asked for it.
    /// If it panics, the verdicts stand and the panic is dropped.
    pub fn metrics(self, metrics: impl Fn(&Summary) + Send + Sync + 'static) -> Self {
        Self {
            metrics: Some(Arc::new(metrics)),
            ..self
        }
    }

    /// Builds the verifier.
    ///
    /// # Errors
    /// [`BuildError::ContextTooLong`] above 255 bytes of context,
    /// [`BuildError::BatchSize`] for batches of zero, [`BuildError::ThreadPool`]
    /// when the pool has zero threads or cannot be started.
    pub fn build(self) -> Result<BatchVerifier<P>, BuildError> {
        Context::new(&self.context).map_err(|_| BuildError::ContextTooLong)?;
        if self.batch_size == BatchSize::Fixed(0) {
            return Err(BuildError::BatchSize);
        }
        Ok(BatchVerifier {
            judge: Judge {
                keys: self.keys,
                key_cache: Arc::new(KeyCache::new(self.key_cache_bytes)),
                context: self.context.into(),
                allow_weak_prehash: self.allow_weak_prehash,
                backend: self.backend,
            },
            mode: self.mode,
            schedule: Schedule::new(
                executor(self.threads).ok_or(BuildError::ThreadPool)?,
                self.batch_size,
                self.inline_below,
                self.duplicates,
            ),
            metrics: self.metrics,
        })
    }
}

impl<P: ParameterSet> fmt::Debug for Builder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("set", &P::NAME)
            .field("keys", &self.keys)
            .field("context", &self.context)
            .field("mode", &self.mode)
            .field("threads", &self.threads)
            .field("batch_size", &self.batch_size)
            .field("duplicates", &self.duplicates)
            .finish_non_exhaustive()
    }
}
