//! Definition of a round: signers, task and attempt, with the aggregate key, message and `mu`
//! that follow from them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::vectors;
use mldsa_core::{Context, MlDsa87, Mu, MuBuilder, VerifyingKey};

use crate::committee::epoch::{AttemptId, Epoch};
use crate::committee::merkle::{Node, root};
use crate::committee::opening::AuthenticatedKey;
use crate::committee::view::{CommitteeView, MAX_MEMBERS};
use crate::error::{EncodingError, RoundError};
use crate::journal::one_time::OneTimeKeyJournal;
use crate::journal::states::Attempt;
use crate::keys::label::Label;
use crate::keys::matrix::{K, Matrix, P, encode_key, vector};
use crate::keys::nonce::SIGMA_OFFSET;
use crate::member_id::MemberName;
use crate::round::message::{Message, MessageKind, Subject};
use crate::round::task::{SigningTask, TaskKind};
use crate::wire::framing::lp;
use crate::wire::signer_set::SignerSet;

/// Largest coefficient of a member's response.
pub(crate) const RESPONSE_BOUND: i32 = SIGMA_OFFSET as i32 + 120;
const _: () = assert!(P.beta() == 120);

/// Computes the width R(n) of the offsets: the largest power of two that is at most 4,096 with R^2
/// n <= 2^26; `None` where that is below 64, and for no signers.
pub fn offset_width(n: usize) -> Option<u32> {
    let fits = |width: &u32| u64::from(width * width).saturating_mul(n as u64) <= 1 << 26 && n > 0;
    (6..=12).rev().map(|bits| 1 << bits).find(fits)
}

/// One attempt of one signer set at one task. It contains only public values that every signer
/// and verifier computes from authenticated parts.
pub struct Round {
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) width: u32,
    task: SigningTask,
    pub(crate) subject: Subject,
    pub(crate) attempt_label: Label,
    slot_label: Label,
    keys: Vec<AuthenticatedKey>,
    pub(crate) signer_set: SignerSet,
    aggregate_key: VerifyingKey<MlDsa87>,
    participants_root: Node,
    context: Vec<u8>,
    message: Vec<u8>,
    mu: Mu,
}

/// Inputs of a round that published vectors choose otherwise.
pub(crate) struct Setting<'a> {
    pub(crate) epoch: &'a Arc<Epoch>,
    pub(crate) subject: Subject,
    /// Number of members of the committee.
    pub(crate) size: usize,
    pub(crate) slot_label: Label,
    /// Root over the members that a decision names.
    pub(crate) members: Node,
    /// Replaces the width of [`offset_width`].
    pub(crate) width: Option<u32>,
}

impl Round {
    /// Creates a round of exactly the members whose keys are given, all authenticated against
    /// `committee`.
    ///
    /// # Errors
    /// [`RoundError::NoSigners`], [`RoundError::TooManySigners`],
    /// [`RoundError::DuplicateSigner`]; [`RoundError::OtherKey`] for a key of another attempt
    /// or committee; [`RoundError::Committee`] for a slot or attempt that the epoch lacks.
    pub fn new(
        committee: &CommitteeView,
        task: &SigningTask,
        attempt: u8,
        keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Arc<Self>, RoundError> {
        let epoch = committee.epoch();
        let attempt = AttemptId {
            slot: task.slot(),
            number: attempt,
        };
        epoch.index(attempt)?;
        let setting = Setting {
            epoch,
            subject: Subject {
                committee: *committee.identity(),
                attempt,
            },
            size: committee.len(),
            slot_label: epoch.slot_label(attempt.slot),
            members: *committee.identity(),
            width: None,
        };
        Self::assemble(setting, task, keys.into_iter().collect())
    }

    pub(crate) fn assemble(
        setting: Setting<'_>,
        task: &SigningTask,
        mut keys: Vec<AuthenticatedKey>,
    ) -> Result<Arc<Self>, RoundError> {
        let Setting {
            epoch,
            subject,
            slot_label,
            ..
        } = setting;
        if keys.len() > MAX_MEMBERS {
            return Err(RoundError::TooManySigners);
        }
        keys.sort_by_key(|key| key.position);
        if keys
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.position == b.position))
        {
            return Err(RoundError::DuplicateSigner);
        }
        if keys
            .iter()
            .any(|key| key.source != subject.committee || key.attempt != subject.attempt)
        {
            return Err(RoundError::OtherKey);
        }
        let positions: Vec<_> = keys.iter().map(|key| key.position).collect();
        let leaves: Vec<Node> = keys.iter().map(|key| key.leaf).collect();
        let participants_root = root(&leaves).ok_or(RoundError::NoSigners)?;
        let width = match setting.width {
            Some(width) => width,
            None => offset_width(keys.len()).ok_or(RoundError::TooManySigners)?,
        };
        let aggregate_key = aggregate_key(&epoch.matrix, &keys)?;
        let (domain, payload) = (epoch.domain(), task.payload());
        let (context, message) = match task.kind {
            TaskKind::Consensus => ([domain, &participants_root].concat(), payload.to_vec()),
            TaskKind::Decision => {
                let number = epoch.number().to_be_bytes();
                let parts: [&[u8]; 4] = [payload, &participants_root, &setting.members, &number];
                (domain.to_vec(), lp(&parts))
            }
        };
        let ctx = Context::new(&context).map_err(|_| EncodingError::Length)?;
        let mut mu = MuBuilder::from_tr(aggregate_key.tr(), ctx);
        mu.update(&message);
        Ok(Arc::new(Self {
            epoch: Arc::clone(epoch),
            width,
            task: task.clone(),
            attempt_label: slot_label.with_attempt(subject.attempt.number),
            slot_label,
            subject,
            keys,
            signer_set: SignerSet::new(setting.size, &positions)?,
            aggregate_key,
            participants_root,
            mu: mu.finish(),
            context,
            message,
        }))
    }

    /// Returns the aggregate key: the ordinary ML-DSA-87 key of these signers for this attempt, the
    /// sum of their one-time public keys.
    pub fn aggregate_key(&self) -> &VerifyingKey<MlDsa87> {
        &self.aggregate_key
    }

    /// Returns the signed message, under the context [`Self::context`].
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Returns the FIPS 204 context: the domain, and for a consensus task the participants' root
    /// after it.
    pub fn context(&self) -> &[u8] {
        &self.context
    }

    /// Returns the message representative `mu`.
    pub fn mu(&self) -> &Mu {
        &self.mu
    }

    /// Returns the task.
    pub fn task(&self) -> &SigningTask {
        &self.task
    }

    /// Returns the attempt.
    pub fn attempt_id(&self) -> AttemptId {
        self.subject.attempt
    }

    /// Returns the Merkle root over the participants' one-time keys.
    pub fn participants_root(&self) -> &[u8; 32] {
        &self.participants_root
    }

    /// Returns the signers in id order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &MemberName> {
        self.keys.iter().map(|key| &key.id)
    }

    /// Returns whether signers, attempt, message and parameters are the same.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.mu == other.mu && self.width == other.width && self.subject == other.subject
    }

    /// Returns the attempt in the journal of a seed.
    pub(crate) fn attempt(&self, journal: &OneTimeKeyJournal) -> Attempt {
        let number = self.subject.attempt.number;
        journal.attempt(self.epoch.number(), &self.slot_label, number)
    }

    pub(crate) fn position(&self, id: &MemberName) -> Option<usize> {
        self.keys.binary_search_by_key(id, |key| key.id).ok()
    }

    pub(crate) fn key(&self, position: usize) -> Option<&AuthenticatedKey> {
        self.keys.get(position)
    }

    /// Returns the position of the sender of a message, which must be of this round and answer
    /// `about`.
    pub(crate) fn position_of(
        &self,
        message: &Message,
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
            .field("attempt", &self.subject.attempt)
            .field("signers", &self.keys.len())
            .finish_non_exhaustive()
    }
}

/// Computes `pkEncode(rho, Power2Round(sum of t).t1)`.
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
        for (first, last, width) in [
            (1, 4, 4096),
            (5, 16, 2048),
            (17, 64, 1024),
            (65, 256, 512),
            (257, 1024, 256),
            (1025, 4096, 128),
            (4097, 16384, 64),
        ] {
            assert!(
                [first, last]
                    .iter()
                    .all(|n| offset_width(*n) == Some(width))
            );
        }
        assert_eq!(offset_width(16385), None);
        assert_eq!(offset_width(usize::MAX), None);
    }
}
