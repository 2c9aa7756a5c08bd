//! Secrets of a member, and signatures made with its registration key.

use core::fmt;

use mldsa_core::{Context, MlDsa87, Randomness, Signature, SigningKey, VerifyingKey};

use crate::keys::seed::MasterSeed;
use crate::member_id::MemberId;

/// Secrets of a member: its name, its master seed and its registration key.
pub struct Member {
    pub(crate) id: MemberId,
    pub(crate) seed: MasterSeed,
    pub(crate) registration_key: SigningKey<MlDsa87>,
}

impl Member {
    /// MemberKeyGen. `xi` is the seed of the registration key (FIPS 204 algorithm 6): 32
    /// random bytes, independent of the master seed, used in one committee only. Statements
    /// for two committees in one epoch would look like
    /// [`Equivocation`](crate::steps::Equivocation).
    #[must_use]
    pub fn new(id: MemberId, seed: MasterSeed, xi: &[u8; 32]) -> Self {
        Self {
            id,
            seed,
            registration_key: SigningKey::from_seed(xi),
        }
    }

    /// The name.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The master seed.
    #[must_use]
    pub fn seed(&self) -> &MasterSeed {
        &self.seed
    }

    /// Signs a digest under the context `tag`. `None` is a fault.
    pub(crate) fn sign(
        &self,
        tag: &'static [u8],
        digest: &[u8; 64],
        hedge: Randomness<'_>,
    ) -> Option<Signature<MlDsa87>> {
        let ctx = Context::new(tag).ok()?;
        self.registration_key.sign(digest, ctx, hedge).ok()
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({}, ..)", self.id)
    }
}

/// Whether `signature` is one of [`Member::sign`].
pub(crate) fn is_signed(
    key: &VerifyingKey<MlDsa87>,
    tag: &'static [u8],
    digest: &[u8; 64],
    signature: &[u8],
) -> bool {
    Context::new(tag).is_ok_and(|ctx| key.verify(digest, ctx, signature).is_ok())
}
