//! The traits of the `signature` crate, version 3. They have no context
//! parameter: all of them use the empty one.
//!
//! `Signer` is deterministic, `RandomizedSigner` hedged. The digest of the digest
//! traits is [`MuBuilder`]: the closure feeds it the message in pieces.

use ::signature::digest::Update;
use ::signature::{
    DigestSigner, DigestVerifier, Error, KeypairRef, MultipartSigner, MultipartVerifier, Signer,
    Verifier,
};
#[cfg(feature = "rand_core")]
use ::signature::{RandomizedDigestSigner, RandomizedMultipartSigner, RandomizedSigner};

use crate::error::SignError;
use crate::hash::transcript::{Context, Mu, MuBuilder, Randomness};
#[cfg(feature = "alloc")]
use crate::keys::PreparedSigningKey;
#[cfg(feature = "alloc")]
use crate::keys::PreparedVerifyingKey;
use crate::keys::no_alloc::{PreparedVerifyingKeyRef, SignInto};
use crate::keys::sign_into::signature;
#[cfg(feature = "rand_core")]
use crate::keys::signing::hedged;
use crate::keys::{Signature, SigningKey, VerifyingKey};
use crate::params::ParameterSet;

/// The opaque error of the traits; the cause stays reachable where there is a
/// heap.
fn opaque(cause: impl core::error::Error + Send + Sync + 'static) -> Error {
    #[cfg(feature = "alloc")]
    return Error::from_source(cause);
    #[cfg(not(feature = "alloc"))]
    {
        let _ = cause;
        Error::new()
    }
}

impl Update for MuBuilder {
    fn update(&mut self, data: &[u8]) {
        Self::update(self, data);
    }
}

fn mu_of_parts(tr: &[u8; 64], parts: &[&[u8]]) -> Mu {
    let mut mu = MuBuilder::from_tr(tr, Context::EMPTY);
    parts.iter().for_each(|part| mu.update(part));
    mu.finish()
}

fn sign_parts<P: ParameterSet>(
    key: &impl SignInto<P>,
    message: &[&[u8]],
    randomness: Randomness<'_>,
) -> Result<Signature<P>, SignError> {
    let hash = || mu_of_parts(key.public_key().tr(), message);
    signature(|out| key.sign_hashed(&hash, randomness, out))
}

/// Signs what `feed` gives. Self-verification calls it a second time.
fn sign_digest<P: ParameterSet>(
    key: &impl SignInto<P>,
    feed: impl Fn(&mut MuBuilder) -> Result<(), Error>,
    sign: impl FnOnce(&Mu) -> Result<Signature<P>, SignError>,
) -> Result<Signature<P>, Error> {
    let hash = || mu_of_digest(key.public_key().tr(), &feed);
    let mu = hash()?;
    let signature = sign(&mu).map_err(opaque)?;
    if key.is_self_verifying() && hash()? != mu {
        return Err(opaque(SignError::SelfVerification));
    }
    Ok(signature)
}

fn mu_of_digest(
    tr: &[u8; 64],
    feed: impl Fn(&mut MuBuilder) -> Result<(), Error>,
) -> Result<Mu, Error> {
    let mut mu = MuBuilder::from_tr(tr, Context::EMPTY);
    feed(&mut mu)?;
    Ok(mu.finish())
}

macro_rules! signer {
    ($key:ident) => {
        impl<P: ParameterSet> Signer<Signature<P>> for $key<P> {
            fn try_sign(&self, message: &[u8]) -> Result<Signature<P>, Error> {
                self.try_multipart_sign(&[message])
            }
        }

        impl<P: ParameterSet> MultipartSigner<Signature<P>> for $key<P> {
            fn try_multipart_sign(&self, message: &[&[u8]]) -> Result<Signature<P>, Error> {
                sign_parts(self, message, Randomness::Deterministic).map_err(opaque)
            }
        }

        impl<P: ParameterSet> DigestSigner<MuBuilder, Signature<P>> for $key<P> {
            fn try_sign_digest<F: Fn(&mut MuBuilder) -> Result<(), Error>>(
                &self,
                feed: F,
            ) -> Result<Signature<P>, Error> {
                sign_digest(self, feed, |mu| self.sign_mu(mu, Randomness::Deterministic))
            }
        }

        #[cfg(feature = "rand_core")]
        impl<P: ParameterSet> RandomizedSigner<Signature<P>> for $key<P> {
            fn try_sign_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
                &self,
                rng: &mut R,
                message: &[u8],
            ) -> Result<Signature<P>, Error> {
                self.try_multipart_sign_with_rng(rng, &[message])
            }
        }

        #[cfg(feature = "rand_core")]
        impl<P: ParameterSet> RandomizedMultipartSigner<Signature<P>> for $key<P> {
            fn try_multipart_sign_with_rng<R: rand_core::TryCryptoRng + ?Sized>(
                &self,
                rng: &mut R,
                message: &[&[u8]],
            ) -> Result<Signature<P>, Error> {
                hedged(rng, |randomness| sign_parts(self, message, randomness)).map_err(opaque)
            }
        }

        #[cfg(feature = "rand_core")]
        impl<P: ParameterSet> RandomizedDigestSigner<MuBuilder, Signature<P>> for $key<P> {
            fn try_sign_digest_with_rng<
                R: rand_core::TryCryptoRng + ?Sized,
                F: Fn(&mut MuBuilder) -> Result<(), Error>,
            >(
                &self,
                rng: &mut R,
                feed: F,
            ) -> Result<Signature<P>, Error> {
                sign_digest(self, feed, |mu| {
                    hedged(rng, |randomness| self.sign_mu(mu, randomness))
                })
            }
        }

        impl<P: ParameterSet> AsRef<VerifyingKey<P>> for $key<P> {
            fn as_ref(&self) -> &VerifyingKey<P> {
                self.verifying_key()
            }
        }

        impl<P: ParameterSet> KeypairRef for $key<P> {
            type VerifyingKey = VerifyingKey<P>;
        }
    };
}
signer!(SigningKey);
#[cfg(feature = "alloc")]
signer!(PreparedSigningKey);

macro_rules! verifier {
    ($($key:ty),+) => {$(
        impl<P: ParameterSet> Verifier<Signature<P>> for $key {
            fn verify(&self, message: &[u8], signature: &Signature<P>) -> Result<(), Error> {
                self.multipart_verify(&[message], signature)
            }
        }

        impl<P: ParameterSet> MultipartVerifier<Signature<P>> for $key {
            fn multipart_verify(
                &self,
                message: &[&[u8]],
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                let mu = mu_of_parts(self.tr(), message);
                self.verify_mu(&mu, &signature).map_err(opaque)
            }
        }

        impl<P: ParameterSet> DigestVerifier<MuBuilder, Signature<P>> for $key {
            fn verify_digest<F: Fn(&mut MuBuilder) -> Result<(), Error>>(
                &self,
                feed: F,
                signature: &Signature<P>,
            ) -> Result<(), Error> {
                let mu = mu_of_digest(self.tr(), feed)?;
                self.verify_mu(&mu, &signature).map_err(opaque)
            }
        }
    )+};
}
verifier!(VerifyingKey<P>, PreparedVerifyingKeyRef<'_, P>);
#[cfg(feature = "alloc")]
verifier!(PreparedVerifyingKey<P>);

macro_rules! encoding {
    ($($feature:literal $set:ident),+) => {$(
        #[cfg(feature = $feature)]
        impl ::signature::SignatureEncoding for Signature<crate::params::$set> {
            type Repr = <crate::params::$set as ParameterSet>::SignatureBytes;
        }
    )+};
}
encoding!("ml-dsa-44" MlDsa44, "ml-dsa-65" MlDsa65, "ml-dsa-87" MlDsa87);
