//! `cargo run --release -- COMMAND`: `handshakes` and `cosignatures FOLDER` measure CPU time, `logs write|read FOLDER` exchanges logs
//! with Go, `mutate [COUNT] [SEED]` tries changed notes, policies, proofs and requests.

#[path = "../../../crates/mldsa-rustls/tests/common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of the crate")]
mod common;
mod logs;
mod mutate;
#[allow(dead_code, reason = "shared with the tests")]
mod other;

use std::sync::Arc;
use std::time::Duration;

use common::issue::{Chain, Plan};
use mldsa_core::{MlDsa44, MlDsa65, SigningKey};
use mldsa_rustls::with_mldsa;
use other::P256;
use rustix::time::{ClockId, clock_gettime};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, NamedGroup, RootCertStore, ServerConfig, ServerConnection,
    version,
};

/// CPU time of this thread in microseconds: interruptions by other programs do not count.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64() * 1e6
}

type Provider = fn() -> CryptoProvider;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number");
    match arguments[..] {
        ["handshakes"] => handshakes(),
        ["cosignatures", folder] => logs::cosignatures(folder.as_ref()),
        ["logs", "write", folder] => logs::write(folder.as_ref()),
        ["logs", "read", folder] => logs::read(folder.as_ref()),
        ["mutate"] => mutate::run(1_000_000, 1),
        ["mutate", count] => mutate::run(number(count), 1),
        ["mutate", count, seed] => mutate::run(number(count), number(seed)),
        _ => {
            eprintln!(
                "usage: handshakes | cosignatures FOLDER | logs write|read FOLDER | mutate [COUNT] [SEED]"
            );
            std::process::exit(2);
        }
    }
}

fn handshakes() {
    let aws = rustls::crypto::aws_lc_rs::default_provider;
    let ring = rustls::crypto::ring::default_provider;
    let graviola = rustls_graviola::default_provider;
    let ours: [(&str, Provider); 4] = [
        ("aws-lc-rs", aws),
        ("aws-lc-rs with mldsa-rustls", || {
            with_mldsa(rustls::crypto::aws_lc_rs::default_provider())
        }),
        ("ring with mldsa-rustls", || {
            with_mldsa(rustls::crypto::ring::default_provider())
        }),
        ("graviola with mldsa-rustls", || {
            with_mldsa(rustls_graviola::default_provider())
        }),
    ];
    let plan = Plan::default();
    let small = Chain::new::<SigningKey<MlDsa44>, SigningKey<MlDsa44>>(&plan).unwrap();
    table("ML-DSA-44", &small, &ours);
    let middle = Chain::new::<SigningKey<MlDsa65>, SigningKey<MlDsa65>>(&plan).unwrap();
    table("ML-DSA-65", &middle, &ours);
    let p256 = Chain::new::<P256, P256>(&plan).unwrap();
    table(
        "P-256",
        &p256,
        &[("aws-lc-rs", aws), ("ring", ring), ("graviola", graviola)],
    );
}

/// Prints a row for each provider, from interleaved handshakes.
fn table(name: &str, chain: &Chain, providers: &[(&str, Provider)]) {
    let ends: Vec<_> = providers
        .iter()
        .map(|(_, provider)| ends(provider(), chain))
        .collect();
    let mut times = vec![Vec::new(); ends.len()];
    let mut bytes = 0;
    for round in 0..420 {
        for (ends, times) in ends.iter().zip(&mut times) {
            let (client, server, sent) = handshake(ends);
            bytes = sent;
            if round >= 20 {
                times.push((client, server));
            }
        }
    }
    let mut first = 0.0;
    for ((provider, _), mut times) in providers.iter().zip(times) {
        // The mean of the faster 80 %: signing takes a varying number of attempts.
        times.sort_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
        times.truncate(times.len() * 8 / 10);
        let mean =
            |part: fn(&(f64, f64)) -> f64| times.iter().map(part).sum::<f64>() / times.len() as f64;
        let (client, server) = (mean(|time| time.0), mean(|time| time.1));
        let rate = 1e6 / (client + server);
        if first == 0.0 {
            first = rate;
        }
        println!(
            "{name:10} {provider:28} {rate:6.0} handshakes a CPU second ({:.2}), client {client:5.0} us, server {server:5.0} us, {bytes} bytes",
            rate / first
        );
    }
}

type Ends = (Arc<ServerConfig>, Arc<ClientConfig>);

fn ends(mut provider: CryptoProvider, chain: &Chain) -> Ends {
    provider
        .kx_groups
        .retain(|group| group.name() == NamedGroup::X25519);
    let provider = Arc::new(provider);
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.chain.clone(), chain.key.clone_key().into())
        .unwrap();
    server.send_tls13_tickets = 0;
    let mut roots = RootCertStore::empty();
    roots.add(chain.root.clone()).unwrap();
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.resumption = Resumption::disabled();
    (Arc::new(server), Arc::new(client))
}

/// Returns the times of both ends, and the number of bytes that the server sent.
fn handshake((server, client): &Ends) -> (f64, f64, usize) {
    let (mut times, mut sent, mut records) = ([0.0; 2], 0, Vec::with_capacity(1 << 15));
    let start = now();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(client.clone(), name).unwrap();
    let middle = now();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    times[0] += middle - start;
    times[1] += now() - middle;
    while client.is_handshaking() || server.is_handshaking() {
        let start = now();
        while client.wants_write() {
            client.write_tls(&mut records).unwrap();
        }
        let written = now();
        let mut rest = &records[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        records.clear();
        while server.wants_write() {
            server.write_tls(&mut records).unwrap();
        }
        sent += records.len();
        let answered = now();
        let mut rest = &records[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
        records.clear();
        times[0] += written - start + (now() - answered);
        times[1] += answered - written;
    }
    (times[0], times[1], sent)
}
