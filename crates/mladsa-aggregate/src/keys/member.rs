//! A member's secrets.

use core::fmt;

use mldsa_core::{Context, MlDsa87, Randomness, Signature, SigningKey};

use crate::error::Error;
use crate::keys::seed::MasterSeed;
use crate::member_id::MemberId;

/// A member's secrets: its id, its master seed and its registration key.
pub struct Member {
    pub(crate) id: MemberId,
    pub(crate) seed: MasterSeed,
    pub(crate) registration_key: SigningKey<MlDsa87>,
}

impl Member {
    /// MemberKeyGen. `xi` gives the registration key (FIPS 204 algorithm 6): 32
    /// random bytes, independent of the master seed, and for one committee: what it
    /// signs for two in one epoch looks like [`Equivocation`](crate::Equivocation).
    pub fn new(id: MemberId, seed: MasterSeed, xi: &[u8; 32]) -> Self {
        Self {
            id,
            seed,
            registration_key: SigningKey::from_seed(xi),
        }
    }

    /// The name.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The master seed.
    pub fn seed(&self) -> &MasterSeed {
        &self.seed
    }

    /// Signs one of the few messages that the registration key is for.
    pub(crate) fn sign(
        &self,
        ctx: &[u8],
        message: &[u8; 64],
        hedge: Randomness<'_>,
    ) -> Result<Signature<MlDsa87>, Error> {
        let ctx = Context::new(ctx).map_err(|_| Error::BadLength)?;
        self.registration_key
            .sign(message, ctx, hedge)
            .map_err(|_| Error::Fault)
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({}, ..)", self.id)
    }
}
