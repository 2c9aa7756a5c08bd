//! A verifier whose keys a running engine replaces.

use std::sync::{Arc, PoisonError, RwLock};

use mldsa_core::ParameterSet;

use crate::{BatchVerifier, KeySet};

/// A place for the verifier of the current epoch, shared by the threads of an engine.
///
/// Who verifies takes the current one first and keeps it for the batch, which thus
/// sees one set of keys from beginning to end; replacing waits for nobody.
///
/// ```
/// use batch_verify::{BatchVerifier, EpochVerifier, KeySet};
/// use mldsa_core::{MlDsa44, SigningKey};
///
/// let old = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
/// let new = SigningKey::<MlDsa44>::from_seed(&[2; 32]);
/// let keys = KeySet::<MlDsa44>::from_public_keys([old.verifying_key().as_bytes().as_slice()])?;
/// let engine = EpochVerifier::new(BatchVerifier::builder().keys(keys).build()?);
///
/// let running = engine.current();
/// let keys = running.keys().expect("a set");
/// let next = keys.with_ordered_keys([new.verifying_key().as_bytes().as_slice()])?;
/// engine.replace_keys(next.clone());
/// assert_eq!(engine.current().keys(), Some(&next));
/// assert_ne!(running.keys(), Some(&next));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EpochVerifier<P: ParameterSet> {
    current: RwLock<Arc<BatchVerifier<P>>>,
}

impl<P: ParameterSet> EpochVerifier<P> {
    /// Begins with `verifier`.
    #[must_use]
    pub fn new(verifier: BatchVerifier<P>) -> Self {
        Self {
            current: RwLock::new(Arc::new(verifier)),
        }
    }

    /// The verifier of now, for as long as the caller keeps it.
    #[must_use]
    pub fn current(&self) -> Arc<BatchVerifier<P>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// From the next [`current`](Self::current) on, verifies under `keys`. Returns
    /// the verifier that was replaced.
    pub fn replace_keys(&self, keys: KeySet<P>) -> Arc<BatchVerifier<P>> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(current.with_keys(keys));
        core::mem::replace(&mut current, next)
    }

    /// Replaces the whole verifier. Returns the one that was replaced.
    pub fn replace(&self, verifier: BatchVerifier<P>) -> Arc<BatchVerifier<P>> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        core::mem::replace(&mut current, Arc::new(verifier))
    }
}
