//! Signing keys, and the provider of keys that reads them.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mldsa_core::{AnyPreparedSigningKey, AnySigningKey, Context, Randomness, Set};
use rustls::crypto::{KeyProvider, SecureRandom};
use rustls::pki_types::{AlgorithmIdentifier, PrivateKeyDer, SubjectPublicKeyInfoDer, alg_id};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use zeroize::{Zeroize, Zeroizing};

use crate::usage;

/// A private key, prepared, that signs handshakes of TLS 1.3, for `rustls::sign::CertifiedKey`. Signatures are
/// hedged with bytes of the generator of a provider, and verified before they leave.
///
/// ```
/// use std::sync::Arc;
/// use mldsa_core::{AnySigningKey, Set};
/// use mldsa_rustls::{HandshakeKey, with_mldsa};
/// use rustls::sign::CertifiedKey;
///
/// let provider = with_mldsa(rustls_graviola::default_provider());
/// let key = AnySigningKey::from_seed(Set::MlDsa44, &[7; 32]); // A secret seed.
/// let key = HandshakeKey::new(key, provider.secure_random);
/// let chain = vec![]; // Certificates, that of the key first.
/// let certified = CertifiedKey::new(chain, Arc::new(key));
/// ```
#[derive(Clone)]
pub struct HandshakeKey {
    key: Arc<AnyPreparedSigningKey>,
    random: &'static dyn SecureRandom,
}

impl HandshakeKey {
    /// Makes a key that takes its randomness from `random`, the `secure_random` of a provider.
    #[must_use]
    pub fn new(key: AnySigningKey, random: &'static dyn SecureRandom) -> Self {
        Self {
            key: Arc::new(key.prepare()),
            random,
        }
    }

    fn names(&self) -> (SignatureScheme, AlgorithmIdentifier) {
        match self.key.set() {
            Set::MlDsa44 => (SignatureScheme::ML_DSA_44, alg_id::ML_DSA_44),
            Set::MlDsa65 => (SignatureScheme::ML_DSA_65, alg_id::ML_DSA_65),
            Set::MlDsa87 => (SignatureScheme::ML_DSA_87, alg_id::ML_DSA_87),
        }
    }
}

impl SigningKey for HandshakeKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered
            .contains(&self.names().0)
            .then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(
            &self.names().1,
            self.key.verifying_key(),
        ))
    }

    /// Returns a number that no cipher suite of TLS 1.2 has.
    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::Unknown(0)
    }
}

impl Signer for HandshakeKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut fresh = Zeroizing::new([0; 32]);
        self.random.fill(&mut *fresh)?;
        let signature =
            self.key
                .sign_with_context(message, Context::EMPTY, Randomness::Hedged(&fresh));
        signature.map_err(|error| Error::General(error.to_string()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.names().0
    }
}

impl fmt::Debug for HandshakeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandshakeKey({:?})", self.names().0)
    }
}

/// Reads keys of ML-DSA, and leaves all others to the provider that was extended.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) base: &'static dyn KeyProvider,
    pub(crate) random: &'static dyn SecureRandom,
}

impl KeyProvider for Keys {
    fn load_private_key(&self, der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        match der {
            // A faulty key of ML-DSA is an error: another reader's opinion of it is not asked for.
            PrivateKeyDer::Pkcs8(mut pkcs8) if usage::is_private_key(pkcs8.secret_pkcs8_der()) => {
                let key = AnySigningKey::from_pkcs8_der(pkcs8.secret_pkcs8_der());
                pkcs8.zeroize();
                let key = key.map_err(|error| Error::General(error.to_string()))?;
                Ok(Arc::new(HandshakeKey::new(key, self.random)))
            }
            other => self.base.load_private_key(other),
        }
    }
}
