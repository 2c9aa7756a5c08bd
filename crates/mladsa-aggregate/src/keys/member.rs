//! Secrets of a member, and signatures made with its registration key.

use core::fmt;

use mldsa_core::{
    Context, MlDsa87, PreparedSigningKey, PreparedVerifyingKey, Randomness, Signature, SigningKey,
    VerifyingKey,
};

use crate::keys::seed::MasterSeed;
use crate::member_id::MemberId;

/// Secrets of a member: its name, its master seed and its registration key. 144 KiB on the heap:
/// the registration key is expanded for signing and for the check of each signature.
pub struct Member {
    pub(crate) id: MemberId,
    pub(crate) seed: MasterSeed,
    pub(crate) registration_key: PreparedSigningKey<MlDsa87>,
    own_key: PreparedVerifyingKey<MlDsa87>,
    pub(crate) authenticated_channels: bool,
}

impl Member {
    /// MemberKeyGen. `xi` is the seed of the registration key (FIPS 204 algorithm 6): 32
    /// random bytes, independent of the master seed, used in one committee only. Statements
    /// for two committees in one epoch would look like
    /// [`Equivocation`](crate::steps::Equivocation).
    #[must_use]
    pub fn new(id: MemberId, seed: MasterSeed, xi: &[u8; 32]) -> Self {
        let key = SigningKey::from_seed(xi);
        Self {
            id,
            seed,
            registration_key: key.prepare(),
            own_key: key.verifying_key().prepare(),
            authenticated_channels: false,
        }
    }

    /// The same member for channels that authenticate their endpoints: it does not sign the
    /// messages of rounds. Receivers use
    /// [`AgreedRoots::receive_from`](crate::AgreedRoots::receive_from). Without signatures there is
    /// no [`Equivocation`](crate::steps::Equivocation): a receiver knows that a peer is faulty, but
    /// cannot prove it.
    #[must_use]
    pub fn with_authenticated_channels(mut self) -> Self {
        self.authenticated_channels = true;
        self
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
        self.registration_key
            .sign_with_context(digest, ctx, hedge)
            .ok()
    }

    /// [`Self::sign`] without randomness. The signature is verified: a fault in a deterministic
    /// signature would reveal the key.
    pub(crate) fn sign_verified(
        &self,
        tag: &'static [u8],
        digest: &[u8; 64],
    ) -> Option<Signature<MlDsa87>> {
        let signature = self.sign(tag, digest, Randomness::Deterministic)?;
        let verdict = self
            .own_key
            .verify_with_context(digest, Context::new(tag).ok()?, &signature);
        verdict.is_ok().then_some(signature)
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
    Context::new(tag).is_ok_and(|ctx| key.verify_with_context(digest, ctx, signature).is_ok())
}
