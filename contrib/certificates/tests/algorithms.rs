//! Certificates of other algorithms beside ML-DSA, TLS 1.2, and certificates that misname their algorithms.

#[path = "../../../crates/mldsa-rustls/tests/common/mod.rs"]
mod common;
#[path = "../src/other.rs"]
mod other;

use std::sync::Arc;

use common::issue::{Chain, Issuer, Plan};
use common::{Ends, roots, stubborn};
use mldsa_core::pkcs8::der::{Encode, SecretDocument};
use mldsa_core::pkcs8::{self, EncodePrivateKey};
use mldsa_core::rand_core::TryCryptoRng;
use mldsa_core::signature::{self, Keypair, RandomizedSigner};
use mldsa_core::spki::{
    self, AlgorithmIdentifierOwned, DynSignatureAlgorithmIdentifier, SubjectPublicKeyInfo,
};
use mldsa_core::{MlDsa44, MlDsa65, Signature, SigningKey};
use mldsa_rustls::with_mldsa;
use other::{Bytes, P256, Rsa};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::UnixTime;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, Error, PeerIncompatible, PeerMisbehaved, ServerConfig, SupportedProtocolVersion,
    version,
};
use x509_cert::der::asn1::{Any, BitString};
use x509_cert::ext::pkix::{KeyUsage, KeyUsages};

type Key44 = SigningKey<MlDsa44>;
type Key65 = SigningKey<MlDsa65>;

fn base() -> CryptoProvider {
    rustls_graviola::default_provider()
}

fn ours() -> CryptoProvider {
    with_mldsa(base())
}

fn chain<A: Issuer, L: Issuer>() -> Chain {
    Chain::new::<A, L>(&Plan::default()).unwrap()
}

fn ends(chain: &Chain) -> Ends {
    Ends::new(ours(), ours(), chain, None, &version::TLS13)
}

#[test]
fn tls12_has_no_ml_dsa() {
    let (server, own) = (chain::<P256, P256>(), chain::<Key44, Key44>());
    let old = |server, own| Ends::new(ours(), ours(), server, own, &version::TLS12);
    old(&server, None).connect().unwrap();
    old(&server, Some(&server)).connect().unwrap();
    // As the server's certificate, as the client's, and from a client that offers it all the same.
    let none = PeerIncompatible::NoCipherSuitesInCommon;
    assert_eq!(old(&own, None).error(), Error::PeerIncompatible(none));
    assert_eq!(
        old(&server, Some(&own)).error(),
        Error::NoCertificatesPresented
    );
    let forced = stubborn(
        old(&server, Some(&own)),
        &server,
        &own,
        &own,
        &version::TLS12,
    );
    let unasked = PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme;
    assert_eq!(forced.error(), Error::PeerMisbehaved(unasked));
    // The same client in TLS 1.3.
    let new = Ends::new(ours(), ours(), &server, Some(&own), &version::TLS13);
    stubborn(new, &server, &own, &own, &version::TLS13)
        .connect()
        .unwrap();
}

/// A server that takes the first certificate whose key suits the client.
#[derive(Debug)]
struct Several(Vec<Arc<CertifiedKey>>);

impl ResolvesServerCert for Several {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let suits = |own: &&Arc<CertifiedKey>| {
            let chosen = own.key.choose_scheme(hello.signature_schemes());
            chosen.is_some()
        };
        self.0.iter().find(suits).cloned()
    }
}

#[test]
fn other_algorithms_beside_it() {
    // Authorities and leaves of different algorithms, and none of ML-DSA.
    ends(&chain::<P256, Key65>()).connect().unwrap();
    ends(&chain::<Rsa, Key44>()).connect().unwrap();
    ends(&chain::<Key44, Rsa>()).connect().unwrap();
    ends(&chain::<Key65, P256>()).connect().unwrap();
    let several = [
        chain::<Key44, Key44>(),
        chain::<P256, P256>(),
        chain::<Rsa, Rsa>(),
    ];
    several
        .iter()
        .for_each(|chain| drop(ends(chain).connect().unwrap()));

    // One server has all, and each client gets the first that it knows.
    let certified = |chain: &Chain| {
        let key = chain.key.clone_key().into();
        let own = CertifiedKey::from_der(chain.chain.clone(), key, &ours()).unwrap();
        Arc::new(own)
    };
    let server = ServerConfig::builder_with_provider(Arc::new(ours()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Several(several.iter().map(certified).collect())));
    let server = Arc::new(server);
    let mut only_rsa = base();
    let lists = &mut only_rsa.signature_verification_algorithms;
    let mapping = lists.mapping.iter().copied();
    lists.mapping = Vec::leak(
        mapping
            .filter(|row| row.0.as_str().is_some_and(|name| name.starts_with("RSA")))
            .collect(),
    );
    let both: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
    for (provider, versions, expected) in [
        (ours(), both, 0),
        (base(), both, 1),
        (only_rsa, both, 2),
        (base(), &both[1..], 1),
    ] {
        let client = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots(&several))
            .with_no_client_auth();
        let ends = Ends {
            server: server.clone(),
            client: Arc::new(client),
        };
        let (client, _) = ends.connect().unwrap();
        assert_eq!(client.peer_certificates().unwrap(), several[expected].chain);
    }
    // A client without ML-DSA, and a server that has nothing else.
    Ends::new(ours(), base(), &several[0], None, &version::TLS13).error();
}

#[test]
fn usages_of_another_algorithm() {
    // ML-DSA signs keys of another algorithm: RFC 9881 is not about their usages.
    let usages = Some(KeyUsage(
        KeyUsages::DigitalSignature | KeyUsages::KeyAgreement,
    ));
    let plan = Plan {
        leaf: usages,
        ..Plan::default()
    };
    let chain = Chain::new::<Key44, P256>(&plan).unwrap();
    ends(&chain).connect().unwrap();
}

/// A key of ML-DSA-44 whose certificates are right in case 0, and otherwise name other algorithms.
struct Misnamed<const CASE: u8>(Key44);

impl<const CASE: u8> Misnamed<CASE> {
    /// Returns the identifier, with parameters in one case and of another set in the other.
    fn identifier(parameters: u8, set: u8) -> AlgorithmIdentifierOwned {
        let last = if CASE == set { 18 } else { 17 };
        AlgorithmIdentifierOwned {
            oid: format!("2.16.840.1.101.3.4.3.{last}").parse().unwrap(),
            parameters: (CASE == parameters).then(Any::null),
        }
    }
}

impl<const CASE: u8> Issuer for Misnamed<CASE> {
    type Signature = Signature<MlDsa44>;

    fn new() -> Self {
        Self(Key44::generate().unwrap())
    }
}

impl<const CASE: u8> Keypair for Misnamed<CASE> {
    type VerifyingKey = Bytes;

    fn verifying_key(&self) -> Bytes {
        let spki = SubjectPublicKeyInfo {
            algorithm: Self::identifier(1, 2),
            subject_public_key: BitString::from_bytes(self.0.verifying_key().as_ref()).unwrap(),
        };
        Bytes(spki.to_der().unwrap())
    }
}

impl<const CASE: u8> DynSignatureAlgorithmIdentifier for Misnamed<CASE> {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        Ok(Self::identifier(3, 4))
    }
}

impl<const CASE: u8> RandomizedSigner<Signature<MlDsa44>> for Misnamed<CASE> {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        random: &mut R,
        message: &[u8],
    ) -> signature::Result<Signature<MlDsa44>> {
        self.0.try_sign_with_rng(random, message)
    }
}

impl<const CASE: u8> EncodePrivateKey for Misnamed<CASE> {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        self.0.to_pkcs8_der()
    }
}

/// Verifies a chain with webpki, which knows all sets.
fn verify<K: Issuer>() -> Result<(), webpki::Error> {
    let chain = Chain::new::<K, K>(&Plan::default()).unwrap();
    let lists = with_mldsa(base()).signature_verification_algorithms;
    let anchors = [webpki::anchor_from_trusted_cert(&chain.root)?];
    let leaf = webpki::EndEntityCert::try_from(&chain.chain[0])?;
    let (now, usage) = (UnixTime::now(), webpki::KeyUsage::server_auth());
    let verdict = leaf.verify_for_usage(
        lists.all,
        &anchors,
        &chain.chain[1..],
        now,
        usage,
        None,
        None,
    );
    verdict.map(|_| ())
}

#[test]
fn identifiers_with_parameters_or_of_another_set() {
    verify::<Misnamed<0>>().unwrap();
    verify::<Misnamed<1>>().unwrap_err();
    verify::<Misnamed<2>>().unwrap_err();
    verify::<Misnamed<3>>().unwrap_err();
    verify::<Misnamed<4>>().unwrap_err();
}
