//! A round: one cohort, one decision, one attempt. From here on the aggregate
//! key, the message and `mu` are fixed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::internals::vectors;
use mldsa_core::{Context, MlDsa87, Mu, MuBuilder, VerifyingKey};

use crate::epoch::agreed::{AgreedRoots, AuthenticatedKey};
use crate::epoch::merkle::{Hash, root};
use crate::epoch::message::Subject;
use crate::epoch::registry::{MAX_MEMBERS, Registry};
use crate::error::Error;
use crate::guard::journal::Guard;
use crate::guard::states::Attempt;
use crate::keys::matrix::{K, Matrix, P, encode_key, vector};
use crate::keys::nonce::SIGMA_OFFSET;
use crate::keys::scope::{EpochLabel, Scope};
use crate::member_id::MemberId;
use crate::wire::bits::SignerBits;
use crate::wire::framing::{hash_lp, lp};
use crate::wire::label::{BaseLabel, ContentLabel};

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
    /// The caller's bytes and nothing else. The participants are in the context:
    /// behind the domain stands the root over their keys.
    Consensus,
}

impl Kind {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Decision => 0,
            Self::Consensus => 1,
        }
    }
}

/// What a cohort is asked to sign, and what a verifier expects to be signed.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// The domain, part of the FIPS 204 context: 0 to 255 bytes, in consensus mode
    /// to 223.
    pub ctx: &'a [u8],
    /// The base label: its attempts are all for this decision.
    pub label: &'a BaseLabel,
    /// How the payload becomes the message.
    pub kind: Kind,
    /// The bytes to be signed.
    pub payload: &'a [u8],
}

impl Decision<'_> {
    /// What a guard stores of it: one for each base label.
    pub(crate) fn digest(&self) -> Hash {
        let parts: [&[u8]; 4] = [b"F.decided", self.ctx, &[self.kind.code()], self.payload];
        hash_lp(&[], &parts)
    }
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
    pub(crate) domain: Box<[u8]>,
    pub(crate) payload: Box<[u8]>,
    pub(crate) subject: Subject,
    /// The label, with and without its attempt, where it is used.
    pub(crate) content: EpochLabel,
    pub(crate) base: EpochLabel,
    pub(crate) decided: Hash,
    pub(crate) members: Vec<AuthenticatedKey>,
    pub(crate) bits: SignerBits,
    key: VerifyingKey<MlDsa87>,
    part_root: Hash,
    ctx: Vec<u8>,
    pub(crate) message: Vec<u8>,
    mu: Mu,
}

impl Round {
    /// A round of offset mode over exactly the members whose keys are given, all
    /// authenticated against `agreed`.
    ///
    /// # Errors
    /// [`Error::EmptyCohort`], [`Error::TooManyMembers`], [`Error::DuplicateId`],
    /// [`Error::AttemptsExhausted`], [`Error::BadLength`] for a domain that is too
    /// long, [`Error::RootNotPinned`] for a key that was authenticated otherwise,
    /// [`Error::RootsNotAgreed`] for a member that has not acknowledged the list,
    /// [`Error::CohortMismatch`] for a key of another content.
    pub fn new(
        agreed: &AgreedRoots,
        decision: &Decision<'_>,
        attempt: u8,
        public_keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Arc<Self>, Error> {
        let public_keys: Vec<_> = public_keys.into_iter().collect();
        for public_key in &public_keys {
            agreed.root(&public_key.id)?;
        }
        let parts = Parts {
            registry: agreed.registry(),
            scope: agreed.registry().scope(agreed.plan().epoch()),
            subject: agreed.subject(&decision.label.attempt(attempt)?),
            mode: Mode::Offset,
            width: None,
        };
        Self::assemble(parts, decision, public_keys)
    }

    pub(crate) fn assemble(
        parts: Parts<'_>,
        decision: &Decision<'_>,
        public_keys: impl IntoIterator<Item = AuthenticatedKey>,
    ) -> Result<Arc<Self>, Error> {
        let Parts {
            registry,
            scope,
            subject,
            mode,
            width,
        } = parts;
        let mut members = Vec::new();
        let mut positions = Vec::new();
        for public_key in public_keys {
            if members.len() == mode.max_members() {
                return Err(Error::TooManyMembers);
            }
            if public_key.source != subject.roots {
                return Err(Error::RootNotPinned);
            }
            if public_key.label != subject.label {
                return Err(Error::CohortMismatch);
            }
            positions.push(registry.position(&public_key.id)?);
            members.push(public_key);
        }
        let width = match (mode, width) {
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
        let (ctx, message) = match decision.kind {
            Kind::Consensus => {
                let ctx = [decision.ctx, &part_root].concat();
                (ctx, decision.payload.to_vec())
            }
            Kind::Decision => {
                let epoch = subject.epoch.to_be_bytes();
                let parts: [&[u8]; 4] = [decision.payload, &part_root, registry.root(), &epoch];
                (decision.ctx.to_vec(), lp(&parts))
            }
        };
        let context = Context::new(&ctx).map_err(|_| Error::BadLength)?;
        let mut mu = MuBuilder::from_tr(key.tr(), context);
        mu.update(&message);
        Ok(Arc::new(Self {
            registry: Arc::clone(registry),
            mode,
            width,
            kind: decision.kind,
            domain: decision.ctx.into(),
            payload: decision.payload.into(),
            content: scope.label(subject.label.as_bytes()),
            base: scope.label(subject.label.base()),
            decided: decision.digest(),
            subject,
            members,
            bits: SignerBits::new(registry.len(), &positions)?,
            key,
            part_root,
            mu: mu.finish(),
            ctx,
            message,
        }))
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

    /// The FIPS 204 context: the domain, and in consensus mode the root over the
    /// participants' keys behind it.
    pub fn ctx(&self) -> &[u8] {
        &self.ctx
    }

    /// The message representative.
    pub fn mu(&self) -> &Mu {
        &self.mu
    }

    /// The content label.
    pub fn label(&self) -> &ContentLabel {
        &self.subject.label
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

    /// The attempt in the guard of a seed.
    pub(crate) fn attempt(&self, guard: &Guard) -> Attempt {
        Attempt {
            epoch: self.subject.epoch,
            key: guard.decision_key(&self.base),
            number: self.subject.label.attempt(),
        }
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
    pub(crate) scope: Scope,
    pub(crate) subject: Subject,
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
        vectors::add(&mut sum, &t);
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
