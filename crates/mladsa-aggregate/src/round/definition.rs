//! Definition of a round: signers, task and attempt, with the aggregate key, message and `mu`
//! that follow from them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::{Poly, vectors};
use mldsa_core::{Context, MlDsa87, Mu, MuBuilder, VerifyingKey};

use crate::epoch::agreed::AgreedRoots;
use crate::epoch::authenticate::AuthenticatedKey;
use crate::epoch::merkle::{Node, root};
use crate::epoch::message::{MessageKind, SignedMessage, Subject};
use crate::epoch::registry::Registry;
use crate::error::{EncodingError, RoundError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::journal::states::Attempt;
use crate::keys::matrix::{K, Matrix, P, encode_key, vector};
use crate::keys::nonce::SIGMA_OFFSET;
use crate::keys::scope::{EpochLabel, Scope};
use crate::member_id::MemberId;
use crate::wire::framing::lp;
use crate::wire::signer_set::SignerSet;
use crate::wire::task::{AttemptId, SigningTask, TaskKind};

/// Form of a commitment to w.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitmentMode {
    /// All of w ("base mode"). Every observer of a round can recover the one-time keys.
    Open,
    /// The high bits of w, and the low bits plus a secret offset ("offset mode").
    Offset,
}

impl CommitmentMode {
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Open => b"base",
            Self::Offset => b"offset",
        }
    }

    /// Half-width of a nonce.
    pub(crate) fn sigma(self) -> i32 {
        match self {
            Self::Open => 12 * P.beta(),
            Self::Offset => SIGMA_OFFSET as i32,
        }
    }

    fn max_signers(self) -> usize {
        match self {
            Self::Open => 1024,
            Self::Offset => Registry::MAX_MEMBERS,
        }
    }
}

/// Width R(n) of the offsets: the largest power of two that is at most 4,096 with
/// R^2 n <= 2^26; `None` where that is below 64, and for no signers.
pub fn offset_width(n: usize) -> Option<u32> {
    let fits = |width: &u32| u64::from(width * width).saturating_mul(n as u64) <= 1 << 26 && n > 0;
    (6..=12).rev().map(|bits| 1 << bits).find(fits)
}

/// One attempt of one signer set at one task. It contains only public values that every signer
/// and verifier computes from authenticated parts.
pub struct Round {
    registry: Arc<Registry>,
    mode: CommitmentMode,
    width: u32,
    task: SigningTask,
    subject: Subject,
    // labels of the attempt and of the task in their scope
    attempt_label: EpochLabel,
    task_label: EpochLabel,
    keys: Vec<AuthenticatedKey>,
    signer_set: SignerSet,
    aggregate_key: VerifyingKey<MlDsa87>,
    participants_root: Node,
    context: Vec<u8>,
    message: Vec<u8>,
    mu: Mu,
}

/// Inputs of a round that depend on the commitment mode.
pub(crate) struct Setting<'a> {
    pub(crate) registry: &'a Arc<Registry>,
    pub(crate) scope: Scope,
    pub(crate) subject: Subject,
    pub(crate) mode: CommitmentMode,
    /// Replaces the width of [`offset_width`], for published vectors only.
    pub(crate) width: Option<u32>,
    /// The sum of all t, if it is known.
    pub(crate) t: Option<&'a [Poly]>,
}

impl Round {
    /// A round of exactly the members whose keys are given, all authenticated against `agreed`.
    ///
    /// # Errors
    /// [`RoundError::NoSigners`], [`RoundError::TooManySigners`],
    /// [`RoundError::DuplicateSigner`]; [`RoundError::OtherKey`] for a key of another attempt
    /// or list of roots; [`RoundError::Roots`] for a member that has not acknowledged the list;
    /// [`RoundError::Encoding`] for an attempt above 63.
    pub fn new(
        agreed: &AgreedRoots,
        task: &SigningTask,
        attempt: u8,
        keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Arc<Self>, RoundError> {
        let keys: Vec<_> = keys.into_iter().collect();
        for key in &keys {
            agreed.root(&key.id)?;
        }
        let setting = Setting {
            registry: agreed.registry(),
            scope: agreed.registry().scope(agreed.plan().epoch()),
            subject: agreed.subject(&task.id().attempt(attempt)?),
            mode: CommitmentMode::Offset,
            width: None,
            t: None,
        };
        Self::assemble(setting, task, keys)
    }

    pub(crate) fn assemble(
        setting: Setting<'_>,
        task: &SigningTask,
        mut keys: Vec<AuthenticatedKey>,
    ) -> Result<Arc<Self>, RoundError> {
        let Setting {
            registry,
            scope,
            subject,
            mode,
            width,
            t,
        } = setting;
        if keys.len() > mode.max_signers() {
            return Err(RoundError::TooManySigners);
        }
        keys.sort_by_key(|key| key.id);
        if keys
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.id == b.id))
        {
            return Err(RoundError::DuplicateSigner);
        }
        let mut positions = Vec::with_capacity(keys.len());
        for key in &keys {
            if key.source != subject.roots || key.attempt != subject.attempt {
                return Err(RoundError::OtherKey);
            }
            let position = registry.position(&key.id);
            positions.push(position.ok_or(RoundError::UnknownMember)?);
        }
        let leaves: Vec<Node> = keys.iter().map(|key| key.leaf).collect();
        let participants_root = root(&leaves).ok_or(RoundError::NoSigners)?;
        let width = match (mode, width) {
            (CommitmentMode::Open, _) => 0,
            (CommitmentMode::Offset, Some(width)) => width,
            (CommitmentMode::Offset, None) => {
                offset_width(keys.len()).ok_or(RoundError::TooManySigners)?
            }
        };
        let aggregate_key = match t {
            Some(t) => encode_key(registry.matrix(), t)?,
            None => aggregate_key(registry.matrix(), &keys)?,
        };
        let (context, message) = match task.kind() {
            TaskKind::Consensus => {
                let context = [task.domain(), &participants_root].concat();
                (context, task.payload().to_vec())
            }
            TaskKind::Decision => {
                let epoch = subject.epoch.to_be_bytes();
                let parts: [&[u8]; 4] =
                    [task.payload(), &participants_root, registry.root(), &epoch];
                (task.domain().to_vec(), lp(&parts))
            }
        };
        let ctx = Context::new(&context).map_err(|_| EncodingError::Length)?;
        let mut mu = MuBuilder::from_tr(aggregate_key.tr(), ctx);
        mu.update(&message);
        Ok(Arc::new(Self {
            registry: Arc::clone(registry),
            mode,
            width,
            task: task.clone(),
            attempt_label: scope.label(subject.attempt.as_bytes()),
            task_label: scope.label(subject.attempt.task()),
            subject,
            keys,
            signer_set: SignerSet::new(registry.len(), &positions)?,
            aggregate_key,
            participants_root,
            mu: mu.finish(),
            context,
            message,
        }))
    }

    /// The aggregate key: the ordinary ML-DSA-87 key of these signers for this attempt, the sum
    /// of their one-time public keys.
    #[must_use]
    pub fn aggregate_key(&self) -> &VerifyingKey<MlDsa87> {
        &self.aggregate_key
    }

    /// The signed message, under the context [`Self::context`].
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The FIPS 204 context: the domain, and for a consensus task the participants' root after
    /// it.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        &self.context
    }

    /// The message representative `mu`.
    #[must_use]
    pub fn mu(&self) -> &Mu {
        &self.mu
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> &SigningTask {
        &self.task
    }

    /// The attempt.
    #[must_use]
    pub fn attempt_id(&self) -> &AttemptId {
        &self.subject.attempt
    }

    /// The Merkle root over the participants' one-time keys.
    #[must_use]
    pub fn participants_root(&self) -> &[u8; 32] {
        &self.participants_root
    }

    /// The signers in id order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &MemberId> {
        self.keys.iter().map(|key| &key.id)
    }

    pub(crate) fn mode(&self) -> CommitmentMode {
        self.mode
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.subject
    }

    pub(crate) fn attempt_label(&self) -> &EpochLabel {
        &self.attempt_label
    }

    pub(crate) fn signer_set(&self) -> &SignerSet {
        &self.signer_set
    }

    pub(crate) fn matrix(&self) -> &Matrix {
        self.registry.matrix()
    }

    /// Largest coefficient of a member's response.
    pub(crate) fn response_bound(&self) -> i32 {
        self.mode.sigma() + P.beta()
    }

    /// Whether signers, attempt, message and parameters are the same.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.mu == other.mu && self.width == other.width && self.subject == other.subject
    }

    /// The attempt in the journal of a seed.
    pub(crate) fn attempt(&self, journal: &OneTimeKeyJournal) -> Attempt {
        Attempt {
            epoch: self.subject.epoch,
            key: journal.task_key(&self.task_label),
            number: self.subject.attempt.attempt(),
        }
    }

    /// Position of a signer.
    pub(crate) fn position(&self, id: &MemberId) -> Option<usize> {
        self.keys.binary_search_by_key(id, |key| key.id).ok()
    }

    pub(crate) fn key(&self, position: usize) -> Option<&AuthenticatedKey> {
        self.keys.get(position)
    }

    /// Position of the sender of a message, which must be of this round and answer `about`.
    pub(crate) fn position_of(
        &self,
        message: &SignedMessage,
        kind: MessageKind,
        about: &[u8; 64],
    ) -> Result<usize, RoundError> {
        let position = self
            .position(message.id())
            .ok_or(RoundError::UnknownMember)?;
        let fits = message.kind() == kind
            && *message.subject() == self.subject
            && message.about() == about;
        fits.then_some(position).ok_or(RoundError::OtherRound)
    }
}

impl fmt::Debug for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Round")
            .field("mode", &self.mode)
            .field("signers", &self.keys.len())
            .finish_non_exhaustive()
    }
}

/// `pkEncode(rho, Power2Round(sum of t).t1)`.
fn aggregate_key(
    matrix: &Matrix,
    keys: &[AuthenticatedKey],
) -> Result<VerifyingKey<MlDsa87>, EncodingError> {
    let (mut sum, mut t) = (vector(K), vector(K));
    for key in keys {
        key.public_key.unpack(&mut t);
        vectors::add(&mut sum, &t);
    }
    encode_key(matrix, &sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_rule() {
        assert_eq!(offset_width(0), None);
        for (n, width) in [
            (1, 4096),
            (4, 4096),
            (5, 2048),
            (16, 2048),
            (17, 1024),
            (64, 1024),
            (65, 512),
            (256, 512),
            (257, 256),
            (1024, 256),
            (1025, 128),
            (4096, 128),
            (4097, 64),
            (16384, 64),
        ] {
            assert_eq!(offset_width(n), Some(width));
        }
        assert_eq!(offset_width(16385), None);
        assert_eq!(offset_width(usize::MAX), None);
    }
}
