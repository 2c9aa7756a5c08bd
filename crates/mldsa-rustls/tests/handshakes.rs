//! Handshakes in memory on graviola: every set, client certificates, what has to be refused, resumption,
//! and other algorithms beside ML-DSA.

#[path = "../examples/tls/issue.rs"]
#[allow(dead_code, reason = "the tests share it")]
mod issue;

use std::sync::Arc;

use issue::{Chain, Issuer, Plan};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_rustls::{HandshakeKey, with_mldsa};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Error, HandshakeKind, RootCertStore,
    ServerConfig, ServerConnection, SignatureScheme, SupportedProtocolVersion, version,
};
use x509_cert::ext::pkix::{KeyUsage, KeyUsages};

impl Issuer for p256::ecdsa::SigningKey {
    type Signature = p256::ecdsa::DerSignature;

    fn new() -> Self {
        use p256::elliptic_curve::Generate;
        Self::generate()
    }
}

type P256 = p256::ecdsa::SigningKey;
type Key44 = SigningKey<MlDsa44>;
type Key65 = SigningKey<MlDsa65>;
type Key87 = SigningKey<MlDsa87>;

fn base() -> CryptoProvider {
    rustls_graviola::default_provider()
}

fn chain<A: Issuer, L: Issuer>(plan: &Plan) -> Chain {
    Chain::new::<A, L>(plan).unwrap()
}

fn roots(chain: &Chain) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(chain.root.clone()).unwrap();
    Arc::new(roots)
}

/// The two ends of a test.
struct Ends {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Ends {
    fn new(provider: CryptoProvider, chain: &Chain) -> Self {
        Self::with(provider.clone(), provider, chain, None, &version::TLS13)
    }

    fn with(
        server: CryptoProvider,
        client: CryptoProvider,
        chain: &Chain,
        identity: Option<&Chain>,
        version: &'static SupportedProtocolVersion,
    ) -> Self {
        let (server, client) = (Arc::new(server), Arc::new(client));
        let clients = match identity {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(_) => WebPkiClientVerifier::builder_with_provider(roots(chain), server.clone())
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
            .with_root_certificates(roots(chain));
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

    /// Connects and exchanges a byte. The error is that of the end which refuses.
    fn connect(&self) -> Result<(ClientConnection, ServerConnection), Error> {
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

    fn error(&self) -> Error {
        self.connect().map(|_| ()).expect_err("a refused handshake")
    }
}

fn refused(error: CertificateError) -> Error {
    Error::InvalidCertificate(error)
}

fn connects<P: ParameterSet>(leaf_scheme: SignatureScheme) {
    let chain = chain::<SigningKey<P>, SigningKey<P>>(&Plan::default());
    let provider = with_mldsa(base());
    // Three times: the second finds the keys of the issuers prepared.
    for _ in 0..3 {
        let (client, _) = Ends::new(provider.clone(), &chain).connect().unwrap();
        assert_eq!(client.peer_certificates().unwrap(), chain.chain);
        let group = client.negotiated_key_exchange_group().unwrap().name();
        assert_eq!(group, rustls::NamedGroup::X25519MLKEM768);
    }
    // The base knows none of it.
    let key = PrivateKeyDer::from(chain.key.clone_key());
    assert!(
        base()
            .key_provider
            .load_private_key(key.clone_key())
            .is_err()
    );
    let key = provider.key_provider.load_private_key(key).unwrap();
    assert_eq!(
        key.choose_scheme(&[leaf_scheme]).unwrap().scheme(),
        leaf_scheme
    );
    assert!(key.choose_scheme(&[SignatureScheme::ED25519]).is_none());
    // Signatures are hedged.
    let signer = key.choose_scheme(&[leaf_scheme]).unwrap();
    assert_ne!(
        signer.sign(b"message").unwrap(),
        signer.sign(b"message").unwrap()
    );
}

#[test]
fn every_set_connects() {
    connects::<MlDsa44>(SignatureScheme::ML_DSA_44);
    connects::<MlDsa65>(SignatureScheme::ML_DSA_65);
    connects::<MlDsa87>(SignatureScheme::ML_DSA_87);
}

#[test]
fn the_base_stays_as_it_is_and_calls_share_lists() {
    let (first, second) = (with_mldsa(base()), with_mldsa(base()));
    let lists = |provider: &CryptoProvider| provider.signature_verification_algorithms.all;
    assert!(core::ptr::eq(lists(&first), lists(&second)));
    assert_eq!(lists(&first).len(), lists(&base()).len() + 3);
    // A second extension adds nothing.
    let twice = with_mldsa(first.clone());
    assert_eq!(lists(&twice).len(), lists(&first).len());
    assert_eq!(
        twice.signature_verification_algorithms.mapping.len(),
        first.signature_verification_algorithms.mapping.len()
    );
    assert_eq!(first.cipher_suites, base().cipher_suites);
    let chain = chain::<Key44, Key44>(&Plan::default());
    Ends::new(twice, &chain).connect().unwrap();
}

#[test]
fn clients_have_certificates() {
    let provider = with_mldsa(base());
    let server = chain::<Key65, Key65>(&Plan::default());
    let ends = |own: &Chain| {
        Ends::with(
            provider.clone(),
            provider.clone(),
            &server,
            Some(own),
            &version::TLS13,
        )
    };
    let (_, connection) = ends(&server).connect().unwrap();
    assert_eq!(connection.peer_certificates().unwrap(), server.chain);
    // Of another root with the same names.
    let stranger = chain::<Key65, Key65>(&Plan::default());
    assert_eq!(
        ends(&stranger).error(),
        refused(CertificateError::BadSignature)
    );
    // The right certificate, and a key that is not its own.
    let thief = Chain {
        key: stranger.key,
        root: server.root.clone(),
        chain: server.chain.clone(),
    };
    let key = Key65::from_pkcs8_der(thief.key.secret_pkcs8_der()).unwrap();
    let key = HandshakeKey::new(key.into(), provider.secure_random);
    let config = ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(roots(&server))
        .with_client_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(
            CertifiedKey::new(thief.chain.clone(), Arc::new(key)),
        )));
    let ends = Ends {
        server: ends(&server).server,
        client: Arc::new(config),
    };
    assert_eq!(ends.error(), refused(CertificateError::BadSignature));
}

#[test]
fn wrong_keys_of_a_server() {
    let provider = with_mldsa(base());
    let chain = chain::<Key44, Key44>(&Plan::default());
    let other = self::chain::<Key44, Key44>(&Plan::default());
    // rustls compares key and certificate before it starts.
    let config = ServerConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.chain.clone(), other.key.clone_key().into());
    assert!(matches!(config, Err(Error::InconsistentKeys(_))));
    // The client trusts another root of the same name, before and after both roots are known.
    for _ in 0..2 {
        let mut ends = Ends::new(provider.clone(), &chain);
        ends.connect().unwrap();
        ends.client = Ends::new(provider.clone(), &other).client;
        assert_eq!(ends.error(), refused(CertificateError::BadSignature));
    }
}

#[test]
fn another_set_is_refused() {
    // The root's key is that of ML-DSA-44, and the client knows the others only.
    let mut client = with_mldsa(base());
    let all = client.signature_verification_algorithms;
    client.signature_verification_algorithms.all = Vec::leak(all.all[1..].to_vec());
    client.signature_verification_algorithms.mapping = Vec::leak(all.mapping[1..].to_vec());
    let chain = chain::<Key44, Key44>(&Plan::default());
    let ends = Ends::with(
        with_mldsa(base()),
        client.clone(),
        &chain,
        None,
        &version::TLS13,
    );
    // The server has no key for what the client offers.
    ends.error();
    let leaf = self::chain::<Key44, Key65>(&Plan::default());
    let ends = Ends::with(with_mldsa(base()), client, &leaf, None, &version::TLS13);
    assert!(matches!(ends.error(), Error::InvalidCertificate(_)));
    // Authorities and leaf of different sets, all known.
    Ends::new(with_mldsa(base()), &leaf).connect().unwrap();
    Ends::new(
        with_mldsa(base()),
        &self::chain::<Key87, Key44>(&Plan::default()),
    )
    .connect()
    .unwrap();
}

#[test]
fn expired() {
    let chain = chain::<Key44, Key44>(&Plan {
        days: 20,
        ..Plan::default()
    });
    let error = Ends::new(with_mldsa(base()), &chain).error();
    assert!(matches!(
        error,
        Error::InvalidCertificate(CertificateError::ExpiredContext { .. })
    ));
}

#[test]
fn key_usages() {
    use KeyUsages as U;
    let usage = |usages: &[U]| {
        Some(KeyUsage(
            usages
                .iter()
                .fold(Default::default(), |all, one| all | *one),
        ))
    };
    let connects = |plan: &Plan| {
        let chain = chain::<Key44, Key44>(plan);
        // Twice, so that the key of the issuer is known in the second.
        let outcomes =
            [(); 2].map(|()| Ends::new(with_mldsa(base()), &chain).connect().map(|_| ()));
        assert_eq!(outcomes[0], outcomes[1]);
        outcomes[0] == Ok(())
    };
    let leaf = |usages: &[U]| {
        connects(&Plan {
            leaf: usage(usages),
            ..Plan::default()
        })
    };
    assert!(connects(&Plan {
        leaf: None,
        authority: None,
        ..Plan::default()
    }));
    assert!(leaf(&[U::DigitalSignature, U::NonRepudiation]));
    assert!(!leaf(&[U::NonRepudiation]));
    assert!(!leaf(&[U::KeyCertSign]));
    for wrong in [
        U::KeyEncipherment,
        U::DataEncipherment,
        U::KeyAgreement,
        U::EncipherOnly,
        U::DecipherOnly,
    ] {
        assert!(!leaf(&[wrong]));
        assert!(!leaf(&[U::DigitalSignature, wrong]));
    }
    let authority = |usages: &[U]| {
        connects(&Plan {
            authority: usage(usages),
            ..Plan::default()
        })
    };
    assert!(authority(&[U::KeyCertSign]));
    assert!(authority(&[
        U::KeyCertSign,
        U::CRLSign,
        U::DigitalSignature
    ]));
    assert!(!authority(&[U::CRLSign]));
    assert!(!authority(&[U::DigitalSignature]));
    assert!(!authority(&[U::KeyCertSign, U::KeyEncipherment]));
    // ML-DSA signs keys of another algorithm: RFC 9881 is not about their usages.
    let plan = Plan {
        leaf: usage(&[U::DigitalSignature, U::KeyAgreement]),
        ..Plan::default()
    };
    Ends::new(with_mldsa(base()), &chain::<Key44, P256>(&plan))
        .connect()
        .unwrap();
}

#[test]
fn ecdsa_beside_it() {
    let (ecdsa, ours) = (
        chain::<P256, P256>(&Plan::default()),
        chain::<Key44, Key44>(&Plan::default()),
    );
    Ends::new(with_mldsa(base()), &ecdsa).connect().unwrap();
    Ends::new(with_mldsa(base()), &chain::<P256, Key65>(&Plan::default()))
        .connect()
        .unwrap();
    // A client without ML-DSA reaches a server that can do both.
    Ends::with(with_mldsa(base()), base(), &ecdsa, None, &version::TLS13)
        .connect()
        .unwrap();
    Ends::with(with_mldsa(base()), base(), &ours, None, &version::TLS13).error();
    // TLS 1.2 goes on with ECDSA, and never has ML-DSA.
    let old = |chain| {
        Ends::with(
            with_mldsa(base()),
            with_mldsa(base()),
            chain,
            None,
            &version::TLS12,
        )
    };
    old(&ecdsa).connect().unwrap();
    assert!(matches!(old(&ours).error(), Error::PeerIncompatible(_)));
}

#[test]
fn resumption() {
    let chain = chain::<Key44, Key44>(&Plan::default());
    let ends = Ends::new(with_mldsa(base()), &chain);
    for kind in [
        HandshakeKind::Full,
        HandshakeKind::Resumed,
        HandshakeKind::Resumed,
    ] {
        let (client, server) = ends.connect().unwrap();
        assert_eq!(client.handshake_kind(), Some(kind));
        assert_eq!(server.handshake_kind(), Some(kind));
        assert_eq!(client.peer_certificates().unwrap(), chain.chain);
    }
}
