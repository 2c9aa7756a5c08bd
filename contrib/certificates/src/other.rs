//! RSA-2048 and P-256 as issuers of certificates, with the keys of graviola.

use std::sync::Arc;

use graviola::signing::{ecdsa, rsa};
use mldsa_core::pkcs8::der::{self, SecretDocument};
use mldsa_core::pkcs8::{self, EncodePrivateKey};
use mldsa_core::rand_core::TryCryptoRng;
use mldsa_core::signature::{self, Keypair, RandomizedSigner};
use mldsa_core::spki::{
    self, AlgorithmIdentifierOwned, Document, DynSignatureAlgorithmIdentifier, EncodePublicKey,
    SignatureBitStringEncoding,
};
use rustls::SignatureScheme;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::sign::SigningKey;
use x509_cert::der::asn1::{Any, BitString, ObjectIdentifier};

use crate::common::issue::Issuer;

pub(crate) type Rsa = Other<true>;
pub(crate) type P256 = Other<false>;

/// A new key of RSA-2048 or of P-256.
pub(crate) struct Other<const RSA: bool> {
    pkcs8: Vec<u8>,
    key: Arc<dyn SigningKey>,
}

impl<const RSA: bool> Issuer for Other<RSA> {
    type Signature = Bytes;

    fn new() -> Self {
        let mut bytes = [0; 2048];
        let pkcs8 = if RSA {
            let key = rsa::SigningKey::generate(rsa::KeySize::Rsa2048).unwrap();
            key.to_pkcs8_der(&mut bytes).unwrap()
        } else {
            let key = ecdsa::SigningKey::<ecdsa::P256>::generate().unwrap();
            key.to_pkcs8_der(&mut bytes).unwrap()
        };
        let der = PrivatePkcs8KeyDer::from(pkcs8.to_vec());
        let keys = rustls_graviola::default_provider().key_provider;
        Self {
            pkcs8: pkcs8.to_vec(),
            key: keys.load_private_key(der.into()).unwrap(),
        }
    }
}

/// A signature, or a public key in DER.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl EncodePublicKey for Bytes {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        Ok(Document::try_from(&self.0[..])?)
    }
}

impl SignatureBitStringEncoding for Bytes {
    fn to_bitstring(&self) -> der::Result<BitString> {
        BitString::from_bytes(&self.0)
    }
}

impl<const RSA: bool> Keypair for Other<RSA> {
    type VerifyingKey = Bytes;

    fn verifying_key(&self) -> Bytes {
        Bytes(self.key.public_key().unwrap().to_vec())
    }
}

impl<const RSA: bool> DynSignatureAlgorithmIdentifier for Other<RSA> {
    /// Returns the identifier of RSA or ECDSA with SHA-256.
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        let id = if RSA {
            "1.2.840.113549.1.1.11"
        } else {
            "1.2.840.10045.4.3.2"
        };
        Ok(AlgorithmIdentifierOwned {
            oid: ObjectIdentifier::new_unwrap(id),
            parameters: RSA.then(Any::null),
        })
    }
}

impl<const RSA: bool> RandomizedSigner<Bytes> for Other<RSA> {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        _: &mut R,
        message: &[u8],
    ) -> signature::Result<Bytes> {
        use SignatureScheme as S;
        let signer = self
            .key
            .choose_scheme(&[S::RSA_PKCS1_SHA256, S::ECDSA_NISTP256_SHA256]);
        let signature = signer.unwrap().sign(message);
        signature.map(Bytes).map_err(signature::Error::from_source)
    }
}

impl<const RSA: bool> EncodePrivateKey for Other<RSA> {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        Ok(SecretDocument::try_from(&self.pkcs8[..])?)
    }
}
