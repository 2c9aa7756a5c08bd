//! The public door: build a verifier once, hand it batches.

use core::fmt;

use mldsa_core::{Context, MuBuilder, ParameterSet, PreHashed, VerifyingKey};

use crate::schedule::Executor;
use crate::{Item, KeySet, Message, Mode, Outcome, Reason, Report, Signer, Threads};

/// Verifies batches of signatures under one parameter set.
///
/// Immutable and `Sync`: one verifier serves any number of threads at once.
/// If a closure of the caller panics, the panic reaches the caller of the
/// batch; it never becomes a verdict.
pub struct BatchVerifier<P: ParameterSet> {
    keys: Option<KeySet<P>>,
    context: Vec<u8>,
    mode: Mode,
    executor: Executor,
    allow_weak_prehash: bool,
}

impl<P: ParameterSet> BatchVerifier<P> {
    /// A verifier with no key set, the empty context, [`Mode::Full`] and
    /// [`Threads::Shared`], unless told otherwise.
    pub fn builder() -> Builder<P> {
        Builder {
            keys: None,
            context: Vec::new(),
            mode: Mode::Full,
            threads: Threads::Shared,
            allow_weak_prehash: false,
        }
    }

    /// Verifies `items`; the report has one outcome per item, in input order.
    /// An empty batch gives an empty report.
    #[must_use]
    pub fn verify(&self, items: &[Item<'_>]) -> Report {
        self.verify_by(items, |_, item| *item)
    }

    /// Like [`verify`](Self::verify) for the caller's own type: `project` shows
    /// the item in each element, called at most once per element and on any
    /// worker.
    #[must_use]
    pub fn verify_by<'a, T: Sync>(
        &self,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
    ) -> Report {
        self.run(self.mode, elements, project)
    }

    /// Whether every item is valid, and if not, which is the first that is not.
    /// Stops early; the verifier's mode plays no part.
    ///
    /// # Errors
    /// [`BatchError::Empty`] for an empty batch, [`BatchError::Invalid`] with
    /// the lowest failing index.
    pub fn verify_all(&self, items: &[Item<'_>]) -> Result<(), BatchError> {
        if items.is_empty() {
            return Err(BatchError::Empty);
        }
        match self
            .run(Mode::FirstInvalid, items, |_, item| *item)
            .first_invalid()
        {
            Some((index, reason)) => Err(BatchError::Invalid { index, reason }),
            None => Ok(()),
        }
    }

    /// One boolean per item. Verifies everything; the verifier's mode plays no
    /// part.
    #[must_use]
    pub fn verify_each(&self, items: &[Item<'_>]) -> Vec<bool> {
        let report = self.run(Mode::Full, items, |_, item| *item);
        report
            .outcomes()
            .iter()
            .map(|&outcome| outcome == Outcome::Valid)
            .collect()
    }

    fn run<'a, T: Sync>(
        &self,
        mode: Mode,
        elements: &'a [T],
        project: impl Fn(usize, &'a T) -> Item<'a> + Sync,
    ) -> Report {
        Report::new(self.executor.run(mode, elements.len(), |index| {
            match self.check(project(index, &elements[index])) {
                Ok(()) => Outcome::Valid,
                Err(reason) => Outcome::Invalid(reason),
            }
        }))
    }

    /// The verdict on one item, cheap checks first.
    fn check(&self, item: Item<'_>) -> Result<(), Reason> {
        let ad_hoc;
        let key = match item.signer {
            Signer::Id(id) => {
                let keys = self.keys.as_ref().ok_or(Reason::UnknownSigner)?;
                let key = keys.key(id).ok_or(Reason::UnknownSigner)?;
                check_signature_length::<P>(item.signature)?;
                key
            }
            Signer::Key(bytes) => {
                if bytes.len() != P::PK_LEN {
                    return Err(Reason::PublicKeyLength);
                }
                // Before the key is hashed into `tr`.
                check_signature_length::<P>(item.signature)?;
                ad_hoc =
                    VerifyingKey::<P>::from_bytes(bytes).map_err(|_| Reason::PublicKeyLength)?;
                &ad_hoc
            }
        };
        let context = match item.context {
            Some(context) => context,
            // `build` has checked the length.
            None => Context::new(&self.context).map_err(|_| Reason::Other)?,
        };
        match item.message {
            Message::Bytes(message) => key.verify(message, context, item.signature)?,
            Message::Parts(parts) => {
                let mut mu = MuBuilder::from_tr(key.tr(), context);
                parts.iter().for_each(|part| mu.update(part));
                key.verify_mu(&mu.finish(), item.signature)?;
            }
            Message::Mu(mu) => key.verify_mu(mu, item.signature)?,
            Message::PreHashed { hash, digest } => {
                let digest = if self.allow_weak_prehash {
                    PreHashed::new_allow_weak(hash, digest)?
                } else {
                    PreHashed::new(hash, digest)?
                };
                key.verify_prehashed(&digest, context, item.signature)?;
            }
        }
        Ok(())
    }
}

fn check_signature_length<P: ParameterSet>(signature: &[u8]) -> Result<(), Reason> {
    if signature.len() == P::SIG_LEN {
        Ok(())
    } else {
        Err(Reason::SignatureLength)
    }
}

impl<P: ParameterSet> fmt::Debug for BatchVerifier<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchVerifier")
            .field("set", &P::NAME)
            .field("keys", &self.keys)
            .field("context", &self.context)
            .field("mode", &self.mode)
            .field("executor", &self.executor)
            .field("allow_weak_prehash", &self.allow_weak_prehash)
            .finish()
    }
}

/// Collects the choices for a [`BatchVerifier`].
#[derive(Debug)]
#[must_use]
pub struct Builder<P: ParameterSet> {
    keys: Option<KeySet<P>>,
    context: Vec<u8>,
    mode: Mode,
    threads: Threads,
    allow_weak_prehash: bool,
}

impl<P: ParameterSet> Builder<P> {
    /// The signers that items may name by [`SignerId`](crate::SignerId). Items
    /// that carry their public key need no set.
    pub fn keys(self, keys: KeySet<P>) -> Self {
        Self {
            keys: Some(keys),
            ..self
        }
    }

    /// The context (at most 255 bytes) of every item without its own; name the
    /// network and the kind of message in it.
    pub fn context(self, context: &[u8]) -> Self {
        Self {
            context: context.to_vec(),
            ..self
        }
    }

    /// How far [`verify`](BatchVerifier::verify) and
    /// [`verify_by`](BatchVerifier::verify_by) go.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Where the work runs.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Accept HashML-DSA under hashes weaker than the parameter set (off).
    pub fn allow_weak_prehash(self, allow: bool) -> Self {
        Self {
            allow_weak_prehash: allow,
            ..self
        }
    }

    /// Builds the verifier.
    ///
    /// # Errors
    /// [`BuildError::ContextTooLong`] above 255 bytes of context,
    /// [`BuildError::ThreadPool`] when the pool has zero threads or cannot be
    /// started.
    pub fn build(self) -> Result<BatchVerifier<P>, BuildError> {
        Context::new(&self.context).map_err(|_| BuildError::ContextTooLong)?;
        Ok(BatchVerifier {
            keys: self.keys,
            context: self.context,
            mode: self.mode,
            executor: Executor::new(self.threads)?,
            allow_weak_prehash: self.allow_weak_prehash,
        })
    }
}

/// Why a verifier could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The context has more than 255 bytes.
    ContextTooLong,
    /// A pool of zero threads was asked for, or the threads could not start.
    ThreadPool,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextTooLong => "the context has more than 255 bytes",
            Self::ThreadPool => "the thread pool could not be started",
        })
    }
}

impl core::error::Error for BuildError {}

/// Why [`BatchVerifier::verify_all`] refused a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchError {
    /// There was nothing to verify.
    Empty,
    /// The item with the lowest index that failed.
    Invalid {
        /// Its index.
        index: usize,
        /// Why it failed.
        reason: Reason,
    },
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the batch is empty"),
            Self::Invalid { index, reason } => write!(f, "item {index} is invalid: {reason}"),
        }
    }
}

impl core::error::Error for BatchError {}
