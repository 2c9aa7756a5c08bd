//! Keys whose parameter set is known at run time only.

#[cfg(feature = "alloc")]
mod prepared;
#[cfg(feature = "alloc")]
mod signing;
mod verifying;
mod decoded;

pub use decoded::AnyDecodedSignature;
#[cfg(feature = "alloc")]
pub use prepared::{AnyPreparedSigningKey, AnyPreparedVerifyingKey};
#[cfg(feature = "alloc")]
pub use signing::AnySigningKey;
pub use verifying::AnyVerifyingKey;

/// Evaluates an expression for a set that is known at run time. With a [`Set`](crate::Set), `$P` is
/// the type of the set. With an enum that has a variant for each set, `$value` is the value inside.
#[doc(hidden)]
#[macro_export]
macro_rules! with_set {
    ($set:expr, $P:ident => $body:expr) => {
        match $set {
            $crate::Set::MlDsa44 => {
                type $P = $crate::MlDsa44;
                $body
            }
            $crate::Set::MlDsa65 => {
                type $P = $crate::MlDsa65;
                $body
            }
            $crate::Set::MlDsa87 => {
                type $P = $crate::MlDsa87;
                $body
            }
        }
    };
    ($any:ident, $this:expr, $value:ident => $body:expr) => {
        match $this {
            $any::MlDsa44($value) => $body,
            $any::MlDsa65($value) => $body,
            $any::MlDsa87($value) => $body,
        }
    };
}

/// Implements what all keys of any set have: the set, `tr`, `mu` of digests, `Debug` as the typed
/// key has it, and conversions from and to the typed keys.
macro_rules! any_key {
    ($any:ident: $($set:ident($typed:ty)),+) => {
        impl $any {
            /// Returns the parameter set.
            #[must_use]
            pub const fn set(&self) -> $crate::Set {
                match self {
                    $(Self::$set(_) => $crate::Set::$set,)+
                }
            }

            /// Computes the `mu` of HashML-DSA (FIPS 204 algorithms 4 and 5) for this key, which
            /// is signed and verified as any `mu`.
            ///
            /// # Errors
            /// As [`PreHashed::new`](crate::PreHashed::new).
            #[cfg(feature = "hash-ml-dsa")]
            pub fn prehashed_mu(
                &self,
                hash: $crate::PreHash,
                digest: &[u8],
                context: $crate::Context<'_>,
            ) -> Result<$crate::Mu, $crate::MessageError> {
                $crate::with_set!(self.set(), P => $crate::PreHashed::<P>::new(hash, digest)
                    .map(|digest| digest.mu(self.tr(), context)))
            }

            /// Computes `mu` as [`Self::prehashed_mu`] does, also for a hash that is weaker than
            /// the set.
            ///
            /// # Errors
            /// As [`PreHashed::new_allow_weak`](crate::PreHashed::new_allow_weak).
            #[cfg(feature = "hash-ml-dsa")]
            pub fn prehashed_mu_allow_weak(
                &self,
                hash: $crate::PreHash,
                digest: &[u8],
                context: $crate::Context<'_>,
            ) -> Result<$crate::Mu, $crate::MessageError> {
                $crate::with_set!(self.set(), P => $crate::PreHashed::<P>::new_allow_weak(hash, digest)
                    .map(|digest| digest.mu(self.tr(), context)))
            }
        }

        impl core::fmt::Debug for $any {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::with_set!(Self, self, key => core::fmt::Debug::fmt(key, f))
            }
        }

        $(
            impl From<$typed> for $any {
                fn from(key: $typed) -> Self {
                    Self::$set(key)
                }
            }

            impl TryFrom<$any> for $typed {
                type Error = $crate::KeyError;

                /// # Errors
                /// [`KeyError::OtherSet`](crate::KeyError::OtherSet); the key is dropped.
                fn try_from(key: $any) -> Result<Self, $crate::KeyError> {
                    match key {
                        $any::$set(key) => Ok(key),
                        _ => Err($crate::KeyError::OtherSet),
                    }
                }
            }
        )+
    };
}
use any_key;

/// Implements verification with a key of any set.
macro_rules! any_verifier {
    ($any:ident) => {
        impl $any {
            /// Computes `tr = H(pk, 64)`, which starts every `mu`.
            #[must_use]
            pub fn tr(&self) -> &[u8; 64] {
                $crate::with_set!(Self, self, key => key.tr())
            }

            /// Verifies a signature over `message` (FIPS 204 algorithm 3).
            ///
            /// # Errors
            /// As [`VerifyingKey::verify_with_context`](crate::VerifyingKey::verify_with_context).
            pub fn verify_with_context(
                &self,
                message: &[u8],
                context: $crate::Context<'_>,
                signature: &(impl $crate::AsSignature + ?Sized),
            ) -> Result<(), $crate::VerifyError> {
                $crate::with_set!(Self, self, key => key.verify_with_context(message, context, signature))
            }

            /// Verifies a signature over an externally computed `mu`.
            ///
            /// # Errors
            /// As [`VerifyingKey::verify_mu`](crate::VerifyingKey::verify_mu).
            pub fn verify_mu(
                &self,
                mu: &$crate::Mu,
                signature: &(impl $crate::AsSignature + ?Sized),
            ) -> Result<(), $crate::VerifyError> {
                $crate::with_set!(Self, self, key => key.verify_mu(mu, signature))
            }
        }
    };
}
use any_verifier;

/// Implements signing with a key of any set. All of it is constant time as
/// [`SigningKey::sign_with_context`](crate::SigningKey::sign_with_context).
#[cfg(feature = "alloc")]
macro_rules! any_signer {
    ($any:ident) => {
        impl $any {
            /// Computes `tr = H(pk, 64)`, which starts every `mu`.
            #[must_use]
            pub fn tr(&self) -> &[u8; 64] {
                $crate::with_set!(Self, self, key => key.verifying_key().tr())
            }

            /// Returns the public key.
            #[must_use]
            pub fn verifying_key(&self) -> $crate::AnyVerifyingKey {
                $crate::with_set!(Self, self, key => key.verifying_key().clone().into())
            }

            /// Signs `message` (FIPS 204 algorithm 2): 2420, 3309 or 4627 bytes.
            ///
            /// # Errors
            /// As [`SigningKey::sign_with_context`](crate::SigningKey::sign_with_context).
            pub fn sign_with_context(
                &self,
                message: &[u8],
                context: $crate::Context<'_>,
                randomness: $crate::Randomness<'_>,
            ) -> Result<alloc::vec::Vec<u8>, $crate::SignError> {
                let mut signature = alloc::vec![0; self.set().signature_len()];
                self.sign_into(message, context, randomness, &mut signature)?;
                Ok(signature)
            }

            /// Signs with 32 fresh bytes of the operating system's generator.
            ///
            /// # Errors
            /// As [`SigningKey::sign_hedged`](crate::SigningKey::sign_hedged).
            #[cfg(all(
                feature = "getrandom",
                not(all(target_family = "wasm", target_os = "unknown"))
            ))]
            pub fn sign_hedged(
                &self,
                message: &[u8],
                context: $crate::Context<'_>,
            ) -> Result<alloc::vec::Vec<u8>, $crate::SignError> {
                $crate::keys::signing::hedged(&mut getrandom::SysRng, |randomness| {
                    self.sign_with_context(message, context, randomness)
                })
            }

            /// Signs an externally computed message representative.
            ///
            /// # Errors
            /// As [`SigningKey::sign_mu`](crate::SigningKey::sign_mu).
            pub fn sign_mu(
                &self,
                mu: &$crate::Mu,
                randomness: $crate::Randomness<'_>,
            ) -> Result<alloc::vec::Vec<u8>, $crate::SignError> {
                let mut signature = alloc::vec![0; self.set().signature_len()];
                self.sign_mu_into(mu, randomness, &mut signature)?;
                Ok(signature)
            }

            /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA) of a hash that is at least as
            /// strong as the set: the signature, or the reason why there is none.
            ///
            /// # Errors
            /// As [`PreHashed::new`](crate::PreHashed::new). The inner ones are those of
            /// [`Self::sign_with_context`].
            #[cfg(feature = "hash-ml-dsa")]
            pub fn sign_prehashed(
                &self,
                hash: $crate::PreHash,
                digest: &[u8],
                context: $crate::Context<'_>,
                randomness: $crate::Randomness<'_>,
            ) -> Result<Result<alloc::vec::Vec<u8>, $crate::SignError>, $crate::MessageError> {
                $crate::with_set!(Self, self, key => {
                    let digest = $crate::PreHashed::new(hash, digest)?;
                    let signature = key.sign_prehashed(&digest, context, randomness);
                    Ok(signature.map(|signature| signature.as_ref().to_vec()))
                })
            }

            /// Signs `message` into a buffer that has exactly the length of a signature.
            ///
            /// # Errors
            /// As [`SignInto::sign_into`](crate::no_alloc::SignInto::sign_into).
            pub fn sign_into(
                &self,
                message: &[u8],
                context: $crate::Context<'_>,
                randomness: $crate::Randomness<'_>,
                out: &mut [u8],
            ) -> Result<(), $crate::SignError> {
                use $crate::no_alloc::SignInto;
                $crate::with_set!(Self, self, key => key.sign_into(message, context, randomness, out))
            }

            /// Signs a message representative into a buffer that has exactly the length of a
            /// signature.
            ///
            /// # Errors
            /// As [`SignInto::sign_mu_into`](crate::no_alloc::SignInto::sign_mu_into).
            pub fn sign_mu_into(
                &self,
                mu: &$crate::Mu,
                randomness: $crate::Randomness<'_>,
                out: &mut [u8],
            ) -> Result<(), $crate::SignError> {
                use $crate::no_alloc::SignInto;
                $crate::with_set!(Self, self, key => key.sign_mu_into(mu, randomness, out))
            }
        }
    };
}
#[cfg(feature = "alloc")]
use any_signer;
