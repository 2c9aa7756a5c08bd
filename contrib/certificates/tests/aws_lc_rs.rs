//! Handshakes between this library and rustls on aws-lc-rs, which has ML-DSA of its own, in both directions and
//! with client certificates.

#[path = "../../../crates/mldsa-rustls/examples/tls/issue.rs"]
#[allow(dead_code, reason = "shared with the example")]
mod issue;

use std::sync::Arc;

use issue::{Chain, Plan};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_rustls::with_mldsa;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

fn connects(server: CryptoProvider, client: CryptoProvider, chain: &Chain) {
    let (server, client) = (Arc::new(server), Arc::new(client));
    let mut roots = RootCertStore::empty();
    roots.add(chain.root.clone()).unwrap();
    let roots = Arc::new(roots);
    let clients = WebPkiClientVerifier::builder_with_provider(roots.clone(), server.clone());
    let server = ServerConfig::builder_with_provider(server)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(chain.chain.clone(), chain.key.clone_key().into())
        .unwrap();
    let client = ClientConfig::builder_with_provider(client)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain.chain.clone(), chain.key.clone_key().into())
        .unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut records = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut records).unwrap();
        }
        let mut rest = &records[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        records.clear();
        while server.wants_write() {
            server.write_tls(&mut records).unwrap();
        }
        let mut rest = &records[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
    }
    assert_eq!(server.peer_certificates().unwrap(), chain.chain);
}

fn set<P: ParameterSet>() {
    let chain = Chain::new::<SigningKey<P>, SigningKey<P>>(&Plan::default()).unwrap();
    let theirs = aws_lc_rs::default_provider;
    connects(
        with_mldsa(rustls_graviola::default_provider()),
        theirs(),
        &chain,
    );
    connects(
        theirs(),
        with_mldsa(rustls_graviola::default_provider()),
        &chain,
    );
    connects(with_mldsa(theirs()), theirs(), &chain);
    connects(
        theirs(),
        with_mldsa(rustls::crypto::ring::default_provider()),
        &chain,
    );
}

#[test]
fn both_directions() {
    set::<MlDsa44>();
    set::<MlDsa65>();
    set::<MlDsa87>();
}
