//! Verification in lanes, for sibling crates.

use core::fmt;
use core::marker::PhantomData;

use crate::backend::Backend;
use crate::coding::encode::PublicKeyParts;
use crate::error::VerifyError;
use crate::keys::VerifyingKey;
use crate::keys::no_alloc::PreparedVerifyingKeyRef;
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::params::ParameterSet;
use crate::scheme::verify::{verify_jobs, verify_one};

/// One signature to verify, with its key, its message and the backend of its key.
#[derive(Clone, Copy)]
pub struct Verification<'a, P> {
    backend: Backend,
    job: Job<'a>,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> Verification<'a, P> {
    /// Makes a verification under a key that was expanded before.
    pub fn prepared(
        key: PreparedVerifyingKeyRef<'a, P>,
        message: JobMessage<'a>,
        signature: &'a [u8],
    ) -> Self {
        Self::new(key.backend(), key.job_key(), message, signature)
    }

    /// Makes a verification under a key that is expanded for this signature.
    pub fn unprepared(
        key: &'a VerifyingKey<P>,
        message: JobMessage<'a>,
        signature: &'a [u8],
    ) -> Self {
        Self::new(key.backend(), key.job_key(), message, signature)
    }

    /// Makes a verification under an encoded key: its `tr` is computed in lanes too.
    pub fn encoded(
        backend: Backend,
        key: &'a P::PublicKeyBytes,
        message: JobMessage<'a>,
        signature: &'a [u8],
    ) -> Self {
        let key = JobKey::Encoded(PublicKeyParts::of::<P>(key), None);
        Self::new(backend, key, message, signature)
    }

    fn new(
        backend: Backend,
        key: JobKey<'a>,
        message: JobMessage<'a>,
        signature: &'a [u8],
    ) -> Self {
        Self {
            backend,
            job: Job::new(key, message, signature),
            set: PhantomData,
        }
    }
}

impl<P> fmt::Debug for Verification<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Verification").field(&self.job).finish()
    }
}

/// Verifies the signatures `item(0)` to `item(results.len() - 1)` together and
/// writes every result: what [`VerifyingKey::verify_with_context`] returns for each.
///
/// Any number, keys and message lengths in any mix; eight at a time share their
/// hashing. A bad signature costs its neighbours nothing and does not change
/// their results. `item` must return the same item for the same index; it may
/// be called more than once for an index. No allocation.
///
/// The keys' backend computes; keys of different backends are verified one by one.
pub fn verify_lanes<'a, P: ParameterSet>(
    item: impl Fn(usize) -> Verification<'a, P>,
    results: &mut [Result<(), VerifyError>],
) {
    if results.is_empty() {
        return;
    }
    results.fill(Err(VerifyError::ChallengeMismatch));
    let backend = item(0).backend;
    if (1..results.len()).all(|n| item(n).backend == backend) {
        return verify_jobs::<P>(backend, &|n| item(n).job, results);
    }
    for (n, result) in results.iter_mut().enumerate() {
        let item = item(n);
        *result = verify_one::<P>(item.backend, item.job);
    }
}
