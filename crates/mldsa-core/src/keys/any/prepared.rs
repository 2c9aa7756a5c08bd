//! Prepared keys of any set.

use zeroize::ZeroizeOnDrop;

use crate::keys::any::{any_key, any_signer, any_verifier};
use crate::keys::prepared_signing::PreparedSigningKey;
use crate::keys::prepared_verifying::PreparedVerifyingKey;
use crate::params::{MlDsa44, MlDsa65, MlDsa87};

/// An expanded public key of any set, made by [`AnyVerifyingKey::prepare`](crate::AnyVerifyingKey::prepare).
pub enum AnyPreparedVerifyingKey {
    /// A key of ML-DSA-44.
    MlDsa44(PreparedVerifyingKey<MlDsa44>),
    /// A key of ML-DSA-65.
    MlDsa65(PreparedVerifyingKey<MlDsa65>),
    /// A key of ML-DSA-87.
    MlDsa87(PreparedVerifyingKey<MlDsa87>),
}

any_key!(AnyPreparedVerifyingKey:
    MlDsa44(PreparedVerifyingKey<MlDsa44>),
    MlDsa65(PreparedVerifyingKey<MlDsa65>),
    MlDsa87(PreparedVerifyingKey<MlDsa87>)
);
any_verifier!(AnyPreparedVerifyingKey);

impl AnyPreparedVerifyingKey {
    /// Returns the number of bytes held, on the heap and in the value itself.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        crate::with_set!(Self, self, key => key.memory_bytes())
    }
}

/// An expanded private key of any set, made by [`AnySigningKey::prepare`](crate::AnySigningKey::prepare).
/// Wiped on drop.
#[allow(
    clippy::large_enum_variant,
    reason = "the public keys of the sets have different lengths"
)]
pub enum AnyPreparedSigningKey {
    /// A key of ML-DSA-44.
    MlDsa44(PreparedSigningKey<MlDsa44>),
    /// A key of ML-DSA-65.
    MlDsa65(PreparedSigningKey<MlDsa65>),
    /// A key of ML-DSA-87.
    MlDsa87(PreparedSigningKey<MlDsa87>),
}

any_key!(AnyPreparedSigningKey:
    MlDsa44(PreparedSigningKey<MlDsa44>),
    MlDsa65(PreparedSigningKey<MlDsa65>),
    MlDsa87(PreparedSigningKey<MlDsa87>)
);
any_signer!(AnyPreparedSigningKey);

impl ZeroizeOnDrop for AnyPreparedSigningKey {}
