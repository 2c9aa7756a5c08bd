//! Conversions of public keys and signatures from and to arrays.

use crate::error::VerifyError;
use crate::keys::signature::Signature;
use crate::keys::verifying::VerifyingKey;
#[cfg(feature = "ml-dsa-44")]
use crate::params::MlDsa44;
#[cfg(feature = "ml-dsa-65")]
use crate::params::MlDsa65;
#[cfg(feature = "ml-dsa-87")]
use crate::params::MlDsa87;

/// Every array of the right length is a public key.
macro_rules! arrays {
    ($($feature:literal $set:ident $pk:literal $sig:literal),+) => {$(
        #[cfg(feature = $feature)]
        impl From<[u8; $pk]> for VerifyingKey<$set> {
            fn from(bytes: [u8; $pk]) -> Self {
                Self::from_array(bytes)
            }
        }

        #[cfg(feature = $feature)]
        impl From<VerifyingKey<$set>> for [u8; $pk] {
            fn from(key: VerifyingKey<$set>) -> Self {
                *key.as_bytes()
            }
        }

        #[cfg(feature = $feature)]
        impl TryFrom<[u8; $sig]> for Signature<$set> {
            type Error = VerifyError;

            fn try_from(bytes: [u8; $sig]) -> Result<Self, VerifyError> {
                Self::from_bytes(&bytes)
            }
        }

        #[cfg(feature = $feature)]
        impl From<Signature<$set>> for [u8; $sig] {
            fn from(signature: Signature<$set>) -> Self {
                *signature.as_bytes()
            }
        }
    )+};
}
arrays!("ml-dsa-44" MlDsa44 1312 2420, "ml-dsa-65" MlDsa65 1952 3309, "ml-dsa-87" MlDsa87 2592 4627);
