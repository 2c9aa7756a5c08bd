//! Which labels may be used in an epoch.

use alloc::vec::Vec;

use crate::epoch::merkle::{Hash, depth};
use crate::epoch::registry::Registry;
use crate::error::Error;
use crate::keys::content_key::CONTENT_PUBLIC_KEY_LEN;
use crate::wire::framing::hash_lp;
use crate::wire::label::{BaseLabel, ContentLabel, MAX_ATTEMPTS};

/// Attempts that a plan foresees for each content unless told otherwise.
pub const DEFAULT_ATTEMPTS: u8 = 4;

/// Attempts that a committee of `n` needs to decide although each of the f members
/// that may fail, fewer than a third, stays silent in an attempt of its own: f and
/// [`DEFAULT_ATTEMPTS`], but no more than 64.
pub fn attempts_for(n: usize) -> u8 {
    let silent = n.saturating_sub(1) / 3;
    u8::try_from(silent)
        .unwrap_or(u8::MAX)
        .saturating_add(DEFAULT_ATTEMPTS)
        .min(MAX_ATTEMPTS)
}

/// Leaves of one epoch tree.
pub const MAX_LEAVES: usize = 1 << 20;

/// The contents of one epoch, the same for all members: base labels in order,
/// each with the same number of attempts. Every label has one place in the tree,
/// so that a member cannot hold two keys for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochPlan {
    epoch: u64,
    attempts: u8,
    contents: Vec<BaseLabel>,
    // label and position, by label
    sorted: Vec<(BaseLabel, u32)>,
}

impl EpochPlan {
    /// A plan with [`DEFAULT_ATTEMPTS`].
    ///
    /// # Errors
    /// As [`Self::with_attempts`].
    pub fn new(epoch: u64, contents: Vec<BaseLabel>) -> Result<Self, Error> {
        Self::with_attempts(epoch, contents, DEFAULT_ATTEMPTS)
    }

    /// A plan with `attempts` keys for each content.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`] without contents, [`Error::DuplicateId`] for a
    /// repeated one, [`Error::OutOfRange`] for no attempts, more than 64, or more
    /// than [`MAX_LEAVES`] leaves.
    pub fn with_attempts(
        epoch: u64,
        contents: Vec<BaseLabel>,
        attempts: u8,
    ) -> Result<Self, Error> {
        if contents.is_empty() {
            return Err(Error::EmptyCohort);
        }
        if !(1..=MAX_ATTEMPTS).contains(&attempts)
            || contents.len() > MAX_LEAVES / usize::from(attempts)
        {
            return Err(Error::OutOfRange);
        }
        let mut sorted: Vec<_> = contents.iter().cloned().zip(0..).collect();
        sorted.sort();
        if sorted
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.0 == b.0))
        {
            return Err(Error::DuplicateId);
        }
        Ok(Self {
            epoch,
            attempts,
            contents,
            sorted,
        })
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Keys of each member: contents times attempts.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.contents.len() * usize::from(self.attempts)
    }

    /// Keys for each content.
    pub fn attempts(&self) -> u8 {
        self.attempts
    }

    /// Levels of every tree of this epoch.
    pub fn depth(&self) -> usize {
        depth(self.len())
    }

    /// Bytes of an opening in this epoch: 6,144 + 4 + 32 for each level.
    pub fn opening_len(&self) -> usize {
        CONTENT_PUBLIC_KEY_LEN + 4 + 32 * self.depth()
    }

    /// The place of a label in every tree.
    ///
    /// # Errors
    /// [`Error::UnknownLabel`]; [`Error::AttemptsExhausted`] for an attempt that
    /// the plan does not foresee.
    pub fn index(&self, label: &ContentLabel) -> Result<u32, Error> {
        let at = self
            .sorted
            .binary_search_by(|(base, _)| base.as_bytes().cmp(label.base()))
            .map_err(|_| Error::UnknownLabel)?;
        if label.attempt() >= self.attempts {
            return Err(Error::AttemptsExhausted);
        }
        let (_, content) = self.sorted.get(at).ok_or(Error::UnknownLabel)?;
        Ok(content * u32::from(self.attempts) + u32::from(label.attempt()))
    }

    /// All labels in tree order.
    pub(crate) fn labels(&self) -> impl Iterator<Item = ContentLabel> {
        self.contents
            .iter()
            .flat_map(|base| (0..self.attempts).filter_map(|attempt| base.attempt(attempt).ok()))
    }

    /// What a seed is bound to for the epoch: the matrix, the members and the
    /// contents.
    pub(crate) fn binding(&self, registry: &Registry) -> Hash {
        let parts: [&[u8]; 3] = [registry.matrix().rho(), registry.root(), &self.digest()];
        hash_lp(b"MLADSA epoch", &parts)
    }

    fn digest(&self) -> Hash {
        let parts: Vec<&[u8]> = self.contents.iter().map(BaseLabel::as_bytes).collect();
        let contents: Hash = hash_lp(&[], &parts);
        hash_lp(
            b"MLADSA plan",
            &[&self.epoch.to_be_bytes(), &[self.attempts], &contents],
        )
    }
}
