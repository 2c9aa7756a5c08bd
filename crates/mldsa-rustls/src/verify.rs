//! Verification: one algorithm of webpki for each set.

#[cfg(feature = "std")]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "std")]
use lru::LruCache;
#[cfg(feature = "std")]
use mldsa_core::PreparedVerifyingKey;
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, VerifyingKey};
use rustls::SignatureScheme;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};

use crate::usage;

/// Issuer keys that each set remembers in prepared form, the latest used ones. All sets together
/// take at most 4.2 MB.
#[cfg(feature = "std")]
const ISSUERS: core::num::NonZeroUsize = core::num::NonZeroUsize::new(32).expect("not zero");

/// A set as TLS and X.509 name it.
pub(crate) trait Named: ParameterSet {
    const ID: AlgorithmIdentifier;
}

macro_rules! named {
    ($($set:ident $name:ident $algorithm:ident $text:literal),+) => {$(
        impl Named for $set {
            const ID: AlgorithmIdentifier = alg_id::$name;
        }

        pub(crate) static $algorithm: Algorithm<$set> = Algorithm::new();

        #[doc = concat!($text, " for webpki, with the empty context.")]
        ///
        /// It refuses the signature over a certificate whose key usages RFC 9881 section 5 forbids, or are not
        /// those of its place in a chain of TLS.
        pub static $name: &dyn SignatureVerificationAlgorithm = &$algorithm;
    )+};
}
named!(
    MlDsa44 ML_DSA_44 SMALL "ML-DSA-44",
    MlDsa65 ML_DSA_65 MIDDLE "ML-DSA-65",
    MlDsa87 ML_DSA_87 LARGE "ML-DSA-87"
);

/// All sets.
pub(crate) static ALL: [&dyn SignatureVerificationAlgorithm; 3] = [&SMALL, &MIDDLE, &LARGE];

/// All sets by their name in TLS.
pub(crate) static MAPPING: [Scheme; 3] = [
    (SignatureScheme::ML_DSA_44, &[&SMALL]),
    (SignatureScheme::ML_DSA_65, &[&MIDDLE]),
    (SignatureScheme::ML_DSA_87, &[&LARGE]),
];

/// A row of the lists of rustls.
pub(crate) type Scheme = (
    SignatureScheme,
    &'static [&'static dyn SignatureVerificationAlgorithm],
);

/// Prepared keys by their encoding.
#[cfg(feature = "std")]
type Issuers<P> = LruCache<Box<[u8]>, Arc<PreparedVerifyingKey<P>>>;

pub(crate) struct Algorithm<P: ParameterSet> {
    set: PhantomData<P>,
    #[cfg(feature = "std")]
    issuers: Mutex<Option<Issuers<P>>>,
}

impl<P: Named> Algorithm<P> {
    const fn new() -> Self {
        Self {
            set: PhantomData,
            #[cfg(feature = "std")]
            issuers: Mutex::new(None),
        }
    }

    /// Verifies a signature over a certificate. webpki begins at a trust anchor, so that a key which
    /// verifies a certificate is that of a trusted authority: only those keys are remembered.
    #[cfg(feature = "std")]
    pub(crate) fn verify_issued(
        &self,
        key: &[u8],
        certificate: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let known = self
            .issuers()
            .as_mut()
            .and_then(|issuers| issuers.get(key).cloned());
        if let Some(known) = known {
            let verdict = known.verify_with_context(certificate, Context::EMPTY, signature);
            return verdict.map_err(|_| InvalidSignature);
        }
        let read = VerifyingKey::<P>::from_bytes(key).map_err(|_| InvalidSignature)?;
        let verdict = read.verify_with_context(certificate, Context::EMPTY, signature);
        verdict.map_err(|_| InvalidSignature)?;
        let prepared = Arc::new(read.prepare());
        self.issuers()
            .get_or_insert_with(|| LruCache::new(ISSUERS))
            .put(key.into(), prepared);
        Ok(())
    }

    #[cfg(feature = "std")]
    fn issuers(&self) -> std::sync::MutexGuard<'_, Option<Issuers<P>>> {
        self.issuers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Named> SignatureVerificationAlgorithm for Algorithm<P> {
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let is_certificate = usage::is_certificate(message);
        if is_certificate && !usage::permits(message).unwrap_or(false) {
            return Err(InvalidSignature);
        }
        #[cfg(feature = "std")]
        if is_certificate {
            return self.verify_issued(key, message, signature);
        }
        let key = VerifyingKey::<P>::from_bytes(key).map_err(|_| InvalidSignature)?;
        let verdict = key.verify_with_context(message, Context::EMPTY, signature);
        verdict.map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        P::ID
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        P::ID
    }
}

impl<P: Named> fmt::Debug for Algorithm<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(P::NAME)
    }
}
