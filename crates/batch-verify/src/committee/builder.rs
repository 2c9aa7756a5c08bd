//! Builder of committees.

use core::marker::PhantomData;
use std::sync::Arc;

use mldsa_core::{Backend, ParameterSet, Set};

use super::keys::{Choices, KeyTable};
use super::{Committee, KeyStorage, Threshold};
use crate::executor::Pool;
use crate::{BuildError, Threads};

/// Options of a [`Committee`] or [`AnyCommittee`](crate::AnyCommittee), of the type `C`: epoch 0, [`Threshold::TWO_THIRDS`], [`KeyStorage::BySize`] and
/// [`Threads::Shared`] by default. Successors take them over.
#[derive(Debug)]
#[must_use]
pub struct CommitteeBuilder<C> {
    pub(crate) set: Set,
    context: Vec<u8>,
    epoch: u64,
    threshold: Threshold,
    storage: KeyStorage,
    backend: Backend,
    pub(crate) threads: Threads,
    committee: PhantomData<fn() -> C>,
}

impl<C> CommitteeBuilder<C> {
    pub(crate) fn new(set: Set, context: &[u8]) -> Self {
        Self {
            set,
            context: context.to_vec(),
            epoch: 0,
            threshold: Threshold::default(),
            storage: KeyStorage::BySize,
            backend: Backend::detect(),
            threads: Threads::Shared,
            committee: PhantomData,
        }
    }

    /// Sets the epoch number.
    pub fn epoch(self, epoch: u64) -> Self {
        Self { epoch, ..self }
    }

    /// Sets the threshold of quorums: without this option, more than two thirds.
    pub fn threshold(self, threshold: Threshold) -> Self {
        Self { threshold, ..self }
    }

    /// Sets the storage of the keys.
    pub fn key_storage(self, storage: KeyStorage) -> Self {
        Self { storage, ..self }
    }

    /// Sets the instruction set for these keys (the detected one). Verdicts do not depend on it.
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Sets the threads that expand the keys.
    pub fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Builds the typed committee.
    pub(crate) fn typed<P: ParameterSet, K: AsRef<[u8]>>(
        self,
        members: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Committee<P>, BuildError> {
        let (keys, weights): (Vec<K>, Vec<u64>) = members.into_iter().unzip();
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let choices = Choices {
            storage: self.storage,
            backend: self.backend,
            pool: Pool::new(self.threads)?,
        };
        let table = Arc::new(KeyTable::new(&keys, choices)?);
        Committee::assemble(
            table,
            weights.into(),
            self.epoch,
            self.threshold,
            &self.context,
        )
    }
}

impl<P: ParameterSet> CommitteeBuilder<Committee<P>> {
    /// Builds the committee from pairs of public key and weight, in the order of the indices.
    /// Keys are encoded, or [`VerifyingKey`](mldsa_core::VerifyingKey)s.
    ///
    /// # Errors
    /// [`BuildError::KeyLength`], [`BuildError::DuplicateKey`], [`BuildError::ZeroWeight`],
    /// [`BuildError::Empty`], [`BuildError::TooMany`], [`BuildError::ContextTooLong`],
    /// [`BuildError::ThreadPool`].
    pub fn build<K: AsRef<[u8]>>(
        self,
        members: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<Committee<P>, BuildError> {
        self.typed(members)
    }
}
