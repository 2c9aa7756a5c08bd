//! The door to verification in lanes for sibling crates.

use crate::backend::Backend;
use crate::error::VerifyError;
use crate::hash::transcript::{Context, Mu};
use crate::keys::{PreparedVerifyingKeyRef, VerifyingKey};
use crate::lanes::job::{Job, JobKey, JobMessage};
use crate::params::ParameterSet;
use crate::scheme::verify::{verify_jobs, verify_one};

/// The key of one signature of a group.
#[derive(Debug)]
pub enum LaneKey<'a, P: ParameterSet> {
    /// Expanded before.
    Prepared(PreparedVerifyingKeyRef<'a, P>),
    /// Expanded for this signature.
    Cold(&'a VerifyingKey<P>),
    /// An encoded key: its `tr` is computed in lanes too.
    Encoded(Backend, &'a P::PublicKeyBytes),
}

impl<P: ParameterSet> Clone for LaneKey<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

// Derived, it would ask for byte arrays that are `Copy`.
impl<P: ParameterSet> Copy for LaneKey<'_, P> {}

impl<P: ParameterSet> LaneKey<'_, P> {
    fn backend(&self) -> Backend {
        match self {
            Self::Prepared(key) => key.backend(),
            Self::Cold(key) => key.backend(),
            Self::Encoded(backend, _) => *backend,
        }
    }
}

/// What one signature of a group signs.
#[derive(Clone, Copy, Debug)]
pub enum LaneMessage<'a> {
    /// A message under a context, the pure form.
    Pure(Context<'a>, &'a [u8]),
    /// An externally computed message representative.
    Mu(&'a Mu),
}

/// One signature of a group.
#[derive(Clone, Copy, Debug)]
pub struct LaneItem<'a, P: ParameterSet> {
    /// The signer.
    pub key: LaneKey<'a, P>,
    /// What was signed.
    pub message: LaneMessage<'a>,
    /// The signature, of any length: a wrong one is an error of this item.
    pub signature: &'a [u8],
}

impl<'a, P: ParameterSet> LaneItem<'a, P> {
    fn job(&self) -> Job<'a> {
        Job {
            key: match self.key {
                LaneKey::Prepared(key) => key.job_key(),
                LaneKey::Cold(key) => key.job_key(),
                LaneKey::Encoded(_, encoded) => JobKey::Cold(encoded.as_ref(), None),
            },
            message: match self.message {
                LaneMessage::Pure(ctx, message) => JobMessage::Pure(ctx.as_bytes(), message),
                LaneMessage::Mu(mu) => JobMessage::Mu(mu.as_bytes()),
            },
            signature: self.signature,
        }
    }
}

/// Verifies the signatures `item(0)` to `item(results.len() - 1)` together and
/// writes every result: what [`VerifyingKey::verify`] returns for each.
///
/// Any number, keys and message lengths in any mix; eight at a time share their
/// hashing. A bad signature costs its neighbours nothing and does not change
/// their results. `item` must return the same item for the same index; it may
/// be asked more than once. No allocation.
///
/// The keys' backend computes; keys of different backends are verified one by one.
pub fn verify_lanes<'a, P: ParameterSet>(
    item: impl Fn(usize) -> LaneItem<'a, P>,
    results: &mut [Result<(), VerifyError>],
) {
    if results.is_empty() {
        return;
    }
    results.fill(Err(VerifyError::ChallengeMismatch));
    let backend = item(0).key.backend();
    if (1..results.len()).all(|n| item(n).key.backend() == backend) {
        return verify_jobs::<P>(backend, &|n| item(n).job(), results);
    }
    for (n, result) in results.iter_mut().enumerate() {
        let item = item(n);
        *result = verify_one::<P>(item.key.backend(), item.job());
    }
}
