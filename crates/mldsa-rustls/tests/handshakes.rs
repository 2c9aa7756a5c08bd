//! Handshakes in memory on graviola: every set, client certificates, what has to be refused, and resumption. Other algorithms beside
//! ML-DSA are in `contrib/certificates`.

mod common;

use std::sync::Arc;

use common::issue::{Chain, Issuer, Plan};
use common::{Ends, stubborn};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_rustls::with_mldsa;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::{
    CertificateError, Error, HandshakeKind, NamedGroup, PeerIncompatible, ServerConfig,
    SignatureScheme, version,
};
use x509_cert::ext::pkix::{KeyUsage, KeyUsages};

type Key44 = SigningKey<MlDsa44>;
type Key65 = SigningKey<MlDsa65>;
type Key87 = SigningKey<MlDsa87>;

fn base() -> CryptoProvider {
    rustls_graviola::default_provider()
}

fn ours() -> CryptoProvider {
    with_mldsa(base())
}

/// Returns a chain of authorities with keys `A` and a leaf with a key `L`.
fn chain<A: Issuer, L: Issuer>() -> Chain {
    Chain::new::<A, L>(&Plan::default()).unwrap()
}

fn ends(chain: &Chain) -> Ends {
    Ends::new(ours(), ours(), chain, None, &version::TLS13)
}

fn refused(error: CertificateError) -> Error {
    Error::InvalidCertificate(error)
}

fn connects<P: ParameterSet>(scheme: SignatureScheme) {
    let chain = chain::<SigningKey<P>, SigningKey<P>>();
    // Three times: the second finds the keys of the issuers prepared.
    for _ in 0..3 {
        let (client, _) = ends(&chain).connect().unwrap();
        assert_eq!(client.peer_certificates().unwrap(), chain.chain);
        let group = client.negotiated_key_exchange_group().unwrap().name();
        assert_eq!(group, NamedGroup::X25519MLKEM768);
    }
    let load = |provider: CryptoProvider| {
        let key = PrivateKeyDer::from(chain.key.clone_key());
        provider.key_provider.load_private_key(key)
    };
    assert!(load(base()).is_err());
    let key = load(ours()).unwrap();
    assert!(key.choose_scheme(&[SignatureScheme::ED25519]).is_none());
    let signer = key.choose_scheme(&[scheme]).unwrap();
    assert_eq!(signer.scheme(), scheme);
    // Signatures are hedged.
    assert_ne!(signer.sign(b"m").unwrap(), signer.sign(b"m").unwrap());
}

#[test]
fn every_set_connects() {
    connects::<MlDsa44>(SignatureScheme::ML_DSA_44);
    connects::<MlDsa65>(SignatureScheme::ML_DSA_65);
    connects::<MlDsa87>(SignatureScheme::ML_DSA_87);
}

#[test]
fn the_base_stays_as_it_is_and_calls_share_lists() {
    let (first, second, twice) = (ours(), ours(), with_mldsa(ours()));
    let lists = |provider: &CryptoProvider| provider.signature_verification_algorithms;
    assert!(core::ptr::eq(lists(&first).all, lists(&second).all));
    assert_eq!(lists(&first).all.len(), lists(&base()).all.len() + 3);
    // A second extension adds nothing.
    assert_eq!(lists(&twice).all.len(), lists(&first).all.len());
    assert_eq!(lists(&twice).mapping.len(), lists(&first).mapping.len());
    assert_eq!(first.cipher_suites, base().cipher_suites);
    let chain = chain::<Key44, Key44>();
    let ends = Ends::new(twice.clone(), twice, &chain, None, &version::TLS13);
    ends.connect().unwrap();
}

#[test]
fn clients_have_certificates() {
    let (server, mut stranger) = (chain::<Key65, Key65>(), chain::<Key65, Key65>());
    let ends = |own: &Chain| Ends::new(ours(), ours(), &server, Some(own), &version::TLS13);
    let (_, connection) = ends(&server).connect().unwrap();
    assert_eq!(connection.peer_certificates().unwrap(), server.chain);
    // The right certificate, and a key that is not its own.
    let thief = stubborn(ends(&server), &server, &server, &stranger, &version::TLS13);
    assert_eq!(thief.error(), refused(CertificateError::BadSignature));
    // Of another root with the same names.
    stranger.root = server.root.clone();
    assert_eq!(
        ends(&stranger).error(),
        refused(CertificateError::BadSignature)
    );
}

#[test]
fn tls12_has_no_ml_dsa() {
    let chain = chain::<Key44, Key44>();
    let old = Ends::new(ours(), ours(), &chain, None, &version::TLS12);
    assert!(matches!(old.error(), Error::PeerIncompatible(_)));
}

#[test]
fn wrong_keys_of_a_server() {
    let (chain, other) = (chain::<Key44, Key44>(), chain::<Key44, Key44>());
    // rustls compares key and certificate before it starts.
    let config = ServerConfig::builder_with_provider(Arc::new(ours()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.chain.clone(), other.key.clone_key().into());
    assert!(matches!(config, Err(Error::InconsistentKeys(_))));
    // The client trusts another root of the same name, before and after both roots are known.
    for _ in 0..2 {
        let mut both = ends(&chain);
        both.connect().unwrap();
        both.client = ends(&other).client;
        assert_eq!(both.error(), refused(CertificateError::BadSignature));
    }
}

#[test]
fn sets_are_mixed_or_refused() {
    let (small, mixed) = (chain::<Key44, Key44>(), chain::<Key44, Key65>());
    ends(&mixed).connect().unwrap();
    ends(&chain::<Key87, Key44>()).connect().unwrap();
    // A client that does not know ML-DSA-44, the set of both roots.
    let mut client = ours();
    let lists = &mut client.signature_verification_algorithms;
    lists.all = Vec::leak(lists.all[1..].to_vec());
    lists.mapping = Vec::leak(lists.mapping[1..].to_vec());
    let ends = |chain| Ends::new(ours(), client.clone(), chain, None, &version::TLS13).error();
    let none = PeerIncompatible::NoSignatureSchemesInCommon;
    assert_eq!(ends(&small), Error::PeerIncompatible(none));
    assert!(matches!(ends(&mixed), Error::InvalidCertificate(_)));
}

#[test]
fn expired() {
    let plan = Plan {
        days: 20,
        ..Plan::default()
    };
    let (new, old) = (
        chain::<Key44, Key44>(),
        Chain::new::<Key44, Key44>(&plan).unwrap(),
    );
    let is_expired = |error| {
        matches!(
            error,
            Error::InvalidCertificate(CertificateError::ExpiredContext { .. })
        )
    };
    assert!(is_expired(ends(&old).error()));
    let client = Ends::new(ours(), ours(), &new, Some(&old), &version::TLS13);
    assert!(is_expired(client.error()));
}

#[test]
fn key_usages() {
    use KeyUsages as U;
    let usage = |usages: &[U]| {
        let all = usages
            .iter()
            .fold(Default::default(), |all, one| all | *one);
        Some(KeyUsage(all))
    };
    let connects = |plan: &Plan| {
        let chain = Chain::new::<Key44, Key44>(plan).unwrap();
        // Twice, so that the key of the issuer is known in the second.
        let outcomes = [(); 2].map(|()| ends(&chain).connect().map(|_| ()));
        assert_eq!(outcomes[0], outcomes[1]);
        outcomes[0] == Ok(())
    };
    let leaf = |usages: &[U]| {
        connects(&Plan {
            leaf: usage(usages),
            ..Plan::default()
        })
    };
    let authority = |usages: &[U]| {
        connects(&Plan {
            authority: usage(usages),
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
    assert!(authority(&[U::KeyCertSign]));
    assert!(authority(&[
        U::KeyCertSign,
        U::CRLSign,
        U::DigitalSignature
    ]));
    assert!(!authority(&[U::CRLSign]));
    assert!(!authority(&[U::DigitalSignature]));
    assert!(!authority(&[U::KeyCertSign, U::KeyEncipherment]));
}

#[test]
fn resumption() {
    let (chain, own) = (chain::<Key44, Key44>(), chain::<Key65, Key65>());
    let ends = Ends::new(ours(), ours(), &chain, Some(&own), &version::TLS13);
    for kind in [
        HandshakeKind::Full,
        HandshakeKind::Resumed,
        HandshakeKind::Resumed,
    ] {
        let (client, server) = ends.connect().unwrap();
        assert_eq!(client.handshake_kind(), Some(kind));
        assert_eq!(server.handshake_kind(), Some(kind));
        assert_eq!(client.peer_certificates().unwrap(), chain.chain);
        assert_eq!(server.peer_certificates().unwrap(), own.chain);
    }
}
