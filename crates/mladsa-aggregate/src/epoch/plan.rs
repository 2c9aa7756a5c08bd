//! Plan of an epoch: the tasks that may be signed.

use alloc::vec::Vec;

use crate::epoch::merkle::{Node, depth};
use crate::epoch::registry::Registry;
use crate::error::RootsError;
use crate::keys::one_time_key::OneTimePublicKey;
use crate::wire::framing::hash_lp;
use crate::wire::task::{AttemptId, MAX_ATTEMPTS, TaskId};

/// Plan of one epoch, the same for all members: tasks in order, each with the same number of
/// attempts. Every attempt has one position in the tree, so that a member cannot have two keys
/// for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochPlan {
    epoch: u64,
    attempts: u8,
    tasks: Vec<TaskId>,
    // identifier and position, by identifier
    sorted: Vec<(TaskId, u32)>,
}

impl EpochPlan {
    /// Default number of attempts for each task.
    pub const DEFAULT_ATTEMPTS: u8 = 4;
    /// Maximum number of keys: tasks times attempts.
    pub const MAX_KEYS: usize = 1 << 20;

    /// Number of attempts for a committee of `n` members in which f of them, fewer than a
    /// third, are silent in one attempt each: f + [`Self::DEFAULT_ATTEMPTS`], at most 64.
    #[must_use]
    pub fn attempts_for(n: usize) -> u8 {
        let silent = n.saturating_sub(1) / 3;
        u8::try_from(silent)
            .unwrap_or(u8::MAX)
            .saturating_add(Self::DEFAULT_ATTEMPTS)
            .min(MAX_ATTEMPTS)
    }

    /// A plan with [`Self::DEFAULT_ATTEMPTS`].
    ///
    /// # Errors
    /// As [`Self::with_attempts`].
    pub fn new(epoch: u64, tasks: Vec<TaskId>) -> Result<Self, RootsError> {
        Self::with_attempts(epoch, tasks, Self::DEFAULT_ATTEMPTS)
    }

    /// A plan with `attempts` keys for each task.
    ///
    /// # Errors
    /// [`RootsError::EmptyPlan`], [`RootsError::DuplicateTask`]; [`RootsError::PlanSize`] for
    /// no attempts, more than 64, or more than [`Self::MAX_KEYS`] keys.
    pub fn with_attempts(epoch: u64, tasks: Vec<TaskId>, attempts: u8) -> Result<Self, RootsError> {
        if tasks.is_empty() {
            return Err(RootsError::EmptyPlan);
        }
        if !(1..=MAX_ATTEMPTS).contains(&attempts)
            || tasks.len() > Self::MAX_KEYS / usize::from(attempts)
        {
            return Err(RootsError::PlanSize);
        }
        let mut sorted: Vec<_> = tasks.iter().cloned().zip(0..).collect();
        sorted.sort();
        if sorted
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.0 == b.0))
        {
            return Err(RootsError::DuplicateTask);
        }
        Ok(Self {
            epoch,
            attempts,
            tasks,
            sorted,
        })
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Number of keys of each member: tasks times attempts.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.tasks.len() * usize::from(self.attempts)
    }

    /// Number of attempts for each task.
    #[must_use]
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// Number of levels above the leaves of every tree of this epoch.
    pub(crate) fn depth(&self) -> usize {
        depth(self.len())
    }

    /// Bytes of an opening in this epoch: 6,148 and 32 for each level of the tree.
    #[must_use]
    pub fn opening_len(&self) -> usize {
        OneTimePublicKey::LEN + 4 + 32 * self.depth()
    }

    /// Position of an attempt in every tree.
    ///
    /// # Errors
    /// [`RootsError::UnknownTask`], [`RootsError::AttemptsExhausted`].
    pub fn index(&self, attempt: &AttemptId) -> Result<u32, RootsError> {
        let at = self
            .sorted
            .binary_search_by(|(task, _)| task.as_bytes().cmp(attempt.task()))
            .map_err(|_| RootsError::UnknownTask)?;
        if attempt.attempt() >= self.attempts {
            return Err(RootsError::AttemptsExhausted);
        }
        let (_, task) = self.sorted.get(at).ok_or(RootsError::UnknownTask)?;
        Ok(task * u32::from(self.attempts) + u32::from(attempt.attempt()))
    }

    /// All attempts in tree order.
    pub(crate) fn attempt_ids(&self) -> impl Iterator<Item = AttemptId> {
        self.tasks
            .iter()
            .flat_map(|task| (0..self.attempts).filter_map(|attempt| task.attempt(attempt).ok()))
    }

    /// Digest of committee and tasks, to which a seed is bound for the epoch.
    pub(crate) fn binding(&self, registry: &Registry) -> Node {
        let identity = registry.identity(self.epoch);
        hash_lp(b"MLADSA epoch", &[&identity, &self.digest()])
    }

    fn digest(&self) -> Node {
        let parts: Vec<&[u8]> = self.tasks.iter().map(TaskId::as_bytes).collect();
        let tasks: Node = hash_lp(&[], &parts);
        hash_lp(
            b"MLADSA plan",
            &[&self.epoch.to_be_bytes(), &[self.attempts], &tasks],
        )
    }
}
