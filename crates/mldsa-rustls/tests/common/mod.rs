//! What tests of handshakes share.

#[path = "../../examples/tls/issue.rs"]
pub(crate) mod issue;

use std::sync::Arc;

use issue::Chain;
use mldsa_core::AnySigningKey;
use mldsa_rustls::{HandshakeKey, with_mldsa};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, Signer, SingleCertAndKey};
use rustls::{
    ClientConfig, ClientConnection, Error, RootCertStore, ServerConfig, ServerConnection,
    SignatureAlgorithm, SignatureScheme, SupportedProtocolVersion,
};

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

/// Ends of which the client has these certificates and this key, whatever the server offers.
pub(crate) fn stubborn(
    ends: Ends,
    server: &Chain,
    own: &Chain,
    key: &Chain,
    version: &'static SupportedProtocolVersion,
) -> Ends {
    #[derive(Debug)]
    struct Always(HandshakeKey);

    impl rustls::sign::SigningKey for Always {
        fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
            use SignatureScheme as S;
            self.0.choose_scheme(&[S::ML_DSA_44, S::ML_DSA_65])
        }

        fn algorithm(&self) -> SignatureAlgorithm {
            SignatureAlgorithm::ED25519
        }
    }

    let provider = with_mldsa(rustls_graviola::default_provider());
    let key = AnySigningKey::from_pkcs8_der(key.key.secret_pkcs8_der()).unwrap();
    let key = Always(HandshakeKey::new(key, provider.secure_random));
    let own = CertifiedKey::new(own.chain.clone(), Arc::new(key));
    let client = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots([server]))
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(own)));
    Ends {
        client: Arc::new(client),
        ..ends
    }
}
