//! What tests of handshakes share: the two ends, and issuers of other algorithms.

#[path = "../../examples/tls/issue.rs"]
pub(crate) mod issue;

use std::sync::Arc;

use graviola::signing::{ecdsa, rsa};
use issue::{Chain, Issuer};
use mldsa_core::pkcs8::der::{self, SecretDocument};
use mldsa_core::rand_core::TryCryptoRng;
use mldsa_core::signature::{self, Keypair, RandomizedSigner};
use mldsa_core::spki::{
    self, AlgorithmIdentifierOwned, Document, DynSignatureAlgorithmIdentifier, EncodePublicKey,
    SignatureBitStringEncoding, der::asn1::BitString,
};
use mldsa_core::{pkcs8, pkcs8::EncodePrivateKey};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::SigningKey;
use rustls::{
    ClientConfig, ClientConnection, Error, RootCertStore, ServerConfig, ServerConnection,
    SignatureScheme, SupportedProtocolVersion,
};
use x509_cert::der::asn1::{Any, ObjectIdentifier};

pub(crate) fn roots<'a>(chains: impl IntoIterator<Item = &'a Chain>) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for chain in chains {
        roots.add(chain.root.clone()).unwrap();
    }
    Arc::new(roots)
}

/// The two ends of a test.
pub(crate) struct Ends {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
}

impl Ends {
    /// Makes ends of two providers. With `identity` the server wants a certificate under its root.
    pub(crate) fn new(
        server: CryptoProvider,
        client: CryptoProvider,
        chain: &Chain,
        identity: Option<&Chain>,
        version: &'static SupportedProtocolVersion,
    ) -> Self {
        let (server, client) = (Arc::new(server), Arc::new(client));
        let clients = match identity {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(own) => WebPkiClientVerifier::builder_with_provider(roots([own]), server.clone())
                .build()
                .unwrap(),
        };
        let server = ServerConfig::builder_with_provider(server)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(chain.chain.clone(), chain.key.clone_key().into())
            .unwrap();
        let builder = ClientConfig::builder_with_provider(client)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots([chain]));
        let client = match identity {
            None => builder.with_no_client_auth(),
            Some(own) => builder
                .with_client_auth_cert(own.chain.clone(), own.key.clone_key().into())
                .unwrap(),
        };
        Self {
            server: Arc::new(server),
            client: Arc::new(client),
        }
    }

    /// Connects. The error is that of the end which refuses.
    pub(crate) fn connect(&self) -> Result<(ClientConnection, ServerConnection), Error> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = ClientConnection::new(self.client.clone(), name)?;
        let mut server = ServerConnection::new(self.server.clone())?;
        let mut records = Vec::new();
        for _ in 0..8 {
            records.clear();
            while client.wants_write() {
                client.write_tls(&mut records).unwrap();
            }
            let mut rest = &records[..];
            while !rest.is_empty() {
                server.read_tls(&mut rest).unwrap();
                server.process_new_packets()?;
            }
            records.clear();
            while server.wants_write() {
                server.write_tls(&mut records).unwrap();
            }
            let mut rest = &records[..];
            while !rest.is_empty() {
                client.read_tls(&mut rest).unwrap();
                client.process_new_packets()?;
            }
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        Ok((client, server))
    }

    pub(crate) fn error(&self) -> Error {
        self.connect().map(|_| ()).expect_err("a refused handshake")
    }
}

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
