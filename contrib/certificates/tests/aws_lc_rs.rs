//! Handshakes between this library and rustls on aws-lc-rs, which has ML-DSA of its own, in both directions and
//! with client certificates.

#[path = "../../../crates/mldsa-rustls/tests/common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of the crate")]
mod common;

use common::Ends;
use common::issue::{Chain, Plan};
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_rustls::with_mldsa;
use rustls::crypto::{aws_lc_rs, ring};
use rustls::version::TLS13;

fn set<P: ParameterSet>() {
    let chain = Chain::new::<SigningKey<P>, SigningKey<P>>(&Plan::default()).unwrap();
    let theirs = aws_lc_rs::default_provider;
    let graviola = || with_mldsa(rustls_graviola::default_provider());
    for (server, client) in [
        (graviola(), theirs()),
        (theirs(), graviola()),
        (with_mldsa(theirs()), theirs()),
        (theirs(), with_mldsa(ring::default_provider())),
    ] {
        let ends = Ends::new(server, client, &chain, Some(&chain), &TLS13);
        let (_, server) = ends.connect().unwrap();
        assert_eq!(server.peer_certificates().unwrap(), chain.chain);
    }
}

#[test]
fn both_directions() {
    set::<MlDsa44>();
    set::<MlDsa65>();
    set::<MlDsa87>();
}
