//! A round: one cohort, one decision, one attempt. From here on the aggregate
//! key, the message and `mu` are fixed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::hazmat::linear;
use mldsa_core::{Context, MlDsa87, Mu, MuBuilder, VerifyingKey};

use crate::epoch::merkle::{Hash, root};
use crate::epoch::pinned::{AuthenticatedKey, PinnedRoots};
use crate::epoch::registry::{MAX_MEMBERS, Registry};
use crate::error::Error;
use crate::keys::matrix::{K, Matrix, P, encode_key, vector};
use crate::keys::nonce::SIGMA_OFFSET;
use crate::member_id::MemberId;
use crate::wire::bits::SignerBits;
use crate::wire::framing::lp;
use crate::wire::label::ContentLabel;

/// What members publish before the challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All of w: everybody who sees a round learns the content keys.
    Base,
    /// The high bits of w, and the low bits under a secret offset. The default.
    Offset,
}

impl Mode {
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Base => b"base",
            Self::Offset => b"offset",
        }
    }

    /// Half-width of a nonce.
    pub(crate) fn sigma(self) -> i32 {
        match self {
            Self::Base => 12 * P.beta(),
            Self::Offset => SIGMA_OFFSET as i32,
        }
    }

    fn max_members(self) -> usize {
        match self {
            Self::Base => 1024,
            Self::Offset => MAX_MEMBERS,
        }
    }
}

/// What the message of a decision is. A property of the domain: one context must
/// not serve both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The payload framed with the participants, the registry and the epoch.
    Decision,
    /// The caller's bytes and nothing else.
    Consensus,
}

/// What a cohort is asked to sign.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// FIPS 204 context: names the domain, 0 to 255 bytes.
    pub ctx: &'a [u8],
    /// The content label, with its attempt.
    pub label: &'a ContentLabel,
    /// How the payload becomes the message.
    pub kind: Kind,
    /// The bytes to be signed.
    pub payload: &'a [u8],
}

/// The width R(n) of the offsets: the largest power of two that is at most 4,096
/// with R^2 n <= 2^26.
///
/// # Errors
/// [`Error::EmptyCohort`]; [`Error::TooManyMembers`] where that is below 64.
pub fn offset_width(n: usize) -> Result<u32, Error> {
    if n == 0 {
        return Err(Error::EmptyCohort);
    }
    (6..=12)
        .rev()
        .map(|bits| 1 << bits)
        .find(|width: &u32| u64::from(width * width).saturating_mul(n as u64) <= 1 << 26)
        .ok_or(Error::TooManyMembers)
}

/// One cohort on one attempt at one decision. Everything in it is public and
/// recomputed from authenticated parts; signers and verifiers build the same.
pub struct Round {
    registry: Arc<Registry>,
    pub(crate) mode: Mode,
    pub(crate) width: u32,
    pub(crate) kind: Kind,
    pub(crate) ctx: Box<[u8]>,
    pub(crate) label: ContentLabel,
    pub(crate) epoch: u64,
    pub(crate) payload: Box<[u8]>,
    pub(crate) members: Vec<AuthenticatedKey>,
    pub(crate) bits: SignerBits,
    key: VerifyingKey<MlDsa87>,
    part_root: Hash,
    pub(crate) message: Vec<u8>,
    mu: Mu,
}

impl Round {
    /// A round of offset mode over exactly the members whose keys are given, all
    /// authenticated against `pinned`.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`], [`Error::TooManyMembers`], [`Error::DuplicateId`],
    /// [`Error::BadLength`] for a context over 255 bytes, [`Error::RootNotPinned`]
    /// for a key that was authenticated otherwise, [`Error::CohortMismatch`] for
    /// one of another content.
    pub fn new(
        pinned: &PinnedRoots,
        decision: &Decision<'_>,
        public_keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Self, Error> {
        let parts = Parts {
            registry: pinned.registry(),
            source: pinned.digest(),
            epoch: pinned.plan().epoch(),
            mode: Mode::Offset,
            width: None,
        };
        Self::assemble(parts, decision, public_keys)
    }

    pub(crate) fn assemble(
        parts: Parts<'_>,
        decision: &Decision<'_>,
        public_keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Self, Error> {
        let ctx = Context::new(decision.ctx).map_err(|_| Error::BadLength)?;
        let registry = parts.registry;
        let mut members = Vec::new();
        let mut positions = Vec::new();
        for public_key in public_keys {
            if members.len() == parts.mode.max_members() {
                return Err(Error::TooManyMembers);
            }
            if public_key.source != *parts.source {
                return Err(Error::RootNotPinned);
            }
            if public_key.label != *decision.label {
                return Err(Error::CohortMismatch);
            }
            positions.push(registry.position(&public_key.id)?);
            members.push(public_key);
        }
        let width = match (parts.mode, parts.width) {
            (Mode::Base, _) => 0,
            (Mode::Offset, None) => offset_width(members.len())?,
            (Mode::Offset, Some(width)) => width,
        };
        members.sort_by_key(|public_key| public_key.id);
        if members
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.id == b.id))
        {
            return Err(Error::DuplicateId);
        }
        let leaves: Vec<Hash> = members.iter().map(|public_key| public_key.leaf).collect();
        let part_root = root(&leaves)?;
        let key = aggregate_key(registry.matrix(), &members)?;
        let message = match decision.kind {
            Kind::Consensus => decision.payload.to_vec(),
            Kind::Decision => lp(&[
                decision.payload,
                &part_root,
                registry.root(),
                &parts.epoch.to_be_bytes(),
            ]),
        };
        let mut mu = MuBuilder::from_tr(key.tr(), ctx);
        mu.update(&message);
        Ok(Self {
            registry: Arc::clone(registry),
            mode: parts.mode,
            width,
            kind: decision.kind,
            ctx: decision.ctx.into(),
            label: decision.label.clone(),
            epoch: parts.epoch,
            payload: decision.payload.into(),
            members,
            bits: SignerBits::new(registry.len(), &positions)?,
            key,
            part_root,
            message,
            mu: mu.finish(),
        })
    }

    /// The aggregate key: the ordinary ML-DSA-87 key of this cohort for this
    /// content, rebuilt from its members' keys.
    pub fn key(&self) -> &VerifyingKey<MlDsa87> {
        &self.key
    }

    /// The bytes that the signature is over, under [`Self::ctx`].
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The FIPS 204 context.
    pub fn ctx(&self) -> &[u8] {
        &self.ctx
    }

    /// The message representative.
    pub fn mu(&self) -> &Mu {
        &self.mu
    }

    /// The content label.
    pub fn label(&self) -> &ContentLabel {
        &self.label
    }

    /// The root over the participants' keys.
    pub fn part_root(&self) -> &Hash {
        &self.part_root
    }

    /// The cohort in id order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &MemberId> {
        self.members.iter().map(|public_key| &public_key.id)
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn matrix(&self) -> &Matrix {
        self.registry.matrix()
    }

    /// Largest coefficient of a member's response.
    pub(crate) fn response_bound(&self) -> i32 {
        self.mode.sigma() + P.beta()
    }

    pub(crate) fn member(&self, id: &MemberId) -> Result<(usize, &AuthenticatedKey), Error> {
        let at = self
            .members
            .binary_search_by_key(id, |public_key| public_key.id)
            .map_err(|_| Error::UnknownMember)?;
        self.members
            .get(at)
            .map(|public_key| (at, public_key))
            .ok_or(Error::UnknownMember)
    }
}

impl fmt::Debug for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Round")
            .field("mode", &self.mode)
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}

/// Where the parts of a round come from.
pub(crate) struct Parts<'a> {
    pub(crate) registry: &'a Arc<Registry>,
    pub(crate) source: &'a Hash,
    pub(crate) epoch: u64,
    pub(crate) mode: Mode,
    /// Another width than the rule's: for published vectors only.
    pub(crate) width: Option<u32>,
}

/// `pkEncode(rho, Power2Round(sum of t).t1)`.
fn aggregate_key(
    matrix: &Matrix,
    members: &[AuthenticatedKey],
) -> Result<VerifyingKey<MlDsa87>, Error> {
    let (mut sum, mut t) = (vector(K), vector(K));
    for member in members {
        member.public_key.unpack(&mut t);
        linear::add(&mut sum, &t);
    }
    encode_key(matrix, &sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_rule() {
        assert_eq!(offset_width(0), Err(Error::EmptyCohort));
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
            assert_eq!(offset_width(n), Ok(width));
        }
        assert_eq!(offset_width(16385), Err(Error::TooManyMembers));
        assert_eq!(offset_width(usize::MAX), Err(Error::TooManyMembers));
    }
}
