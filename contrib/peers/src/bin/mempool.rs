//! Verification of a node's mempool: transactions of many senders, each with its public key, some of
//! them forged, in batches, with expanded keys in a cache of bounded size.
//!
//! `cargo run --release --manifest-path contrib/peers/Cargo.toml --bin mempool`
//!
//! Senders follow Zipf's law: with exponent 0 all are equally active, with exponent 1 the most active
//! of 100,000 sends every twelfth transaction. For comparison `aws-lc-rs`, which caches nothing,
//! verifies every 16th of the same transactions, one by one. One thread. A million transactions take
//! about two minutes, half of which is signing.

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use aws_lc_rs::signature::{ML_DSA_65, UnparsedPublicKey};
use batch_verify::{BatchVerifier, BuildError, Item, Mode, Threads};
use clap::Parser;
use mldsa_core::{Context, MlDsa65, Randomness, SigningKey};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::Zipf;

/// Verification of transactions with a bounded cache of keys, ML-DSA-65
#[derive(Parser)]
struct Options {
    /// Number of senders
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    senders: u32,
    /// Transactions for each exponent
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    transactions: u32,
    /// Exponents of Zipf's law
    #[arg(long, value_delimiter = ',', default_value = "0,0.8,1,1.2", value_parser = exponent)]
    exponents: Vec<f64>,
    /// Limits of the key cache, MiB
    #[arg(long, value_delimiter = ',', default_value = "0,8,64,512")]
    cache_mib: Vec<u32>,
    /// Transactions in a batch
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
}

/// Prefix of every transaction.
const DOMAIN: &[u8; 21] = b"example/transaction/1";
/// One in so many transactions is forged.
const FORGED: u32 = 199;
/// One in so many transactions is also verified by `aws-lc-rs`.
const SAMPLED: usize = 16;

/// A received transaction.
struct Transaction {
    public_key: [u8; 1952],
    body: Vec<u8>,
    signature: Vec<u8>,
    forged: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let seeds: Vec<[u8; 32]> = (0..options.senders).map(seed).collect();
    eprintln!("making {} keys", options.senders);
    let keys = SigningKey::<MlDsa65>::from_seeds(&seeds);
    println!(
        "| exponent | cache, MiB | transactions | forged, rejected | hit rate | in the cache, MiB \
         | ours, us each | aws-lc-rs, us each | ratio |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for &exponent in &options.exponents {
        let (rows, peer) = run(&options, &keys, exponent)?;
        for (mib, row) in options.cache_mib.iter().zip(rows) {
            println!(
                "| {exponent} | {mib} | {} | {} | {:.1} % | {:.0} | {:.2} | {peer:.2} | {:.2} |",
                options.transactions,
                row.forged,
                100.0 * row.hit_rate,
                row.bytes as f64 / f64::from(1 << 20),
                row.ours,
                peer / row.ours,
            );
        }
    }
    Ok(())
}

fn exponent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(exponent) if exponent >= 0.0 => Ok(exponent),
        _ => Err("not a number from 0 on".into()),
    }
}

fn seed(sender: u32) -> [u8; 32] {
    let mut seed = [0x5e; 32];
    seed[..4].copy_from_slice(&sender.to_le_bytes());
    seed
}

/// Results for one exponent and one cache.
#[derive(Default)]
struct Row {
    /// Forged transactions, all rejected.
    forged: u32,
    /// Share of lookups that found an expanded key.
    hit_rate: f64,
    /// Bytes in the cache at the end.
    bytes: usize,
    /// Microseconds for each transaction.
    ours: f64,
}

/// Verifies one stream of transactions with every cache. Returns a row for each cache, and the
/// microseconds of `aws-lc-rs` for each transaction.
fn run(
    options: &Options,
    keys: &[SigningKey<MlDsa65>],
    exponent: f64,
) -> Result<(Vec<Row>, f64), Box<dyn Error>> {
    let verifier = |&mib: &u32| {
        let verifier = BatchVerifier::<MlDsa65>::builder()
            .mode(Mode::Full)
            .key_cache_bytes((mib as usize).saturating_mul(1 << 20))
            .threads(Threads::Inline)
            .build()?;
        Ok((verifier, Row::default(), Duration::ZERO))
    };
    let mut verifiers = options
        .cache_mib
        .iter()
        .map(verifier)
        .collect::<Result<Vec<_>, BuildError>>()?;
    let law = Zipf::new(keys.len() as f64, exponent)?;
    let mut random = StdRng::seed_from_u64(7);
    let (mut peer, mut asked) = (Duration::ZERO, 0_u32);
    let mut number = 0;
    while number < options.transactions {
        let end = number
            .saturating_add(options.batch)
            .min(options.transactions);
        let block = (number..end)
            .map(|number| {
                // The distribution starts at 1 and can round up beyond the last sender.
                let sender = (random.sample(law) as usize).clamp(1, keys.len());
                transaction(&keys[sender - 1], number)
            })
            .collect::<Result<Vec<_>, _>>()?;
        number = end;

        for (verifier, row, time) in &mut verifiers {
            let begin = Instant::now();
            let report = verifier.verify_batch(block.iter().map(|t| {
                Item::new(
                    &t.public_key,
                    Context::EMPTY,
                    t.body.as_slice(),
                    &t.signature,
                )
            }));
            *time += begin.elapsed();
            for (transaction, verdict) in block.iter().zip(report.verdicts()) {
                if verdict.is_ok() == transaction.forged {
                    return Err("a wrong verdict".into());
                }
                row.forged += u32::from(transaction.forged);
            }
            // Totals of the verifier.
            let (hits, misses) = (report.cache_hits(), report.cache_misses());
            row.hit_rate = hits as f64 / (hits + misses).max(1) as f64;
            row.bytes = report.cache_bytes();
        }

        let begin = Instant::now();
        for transaction in block.iter().step_by(SAMPLED) {
            let key = UnparsedPublicKey::new(&ML_DSA_65, &transaction.public_key);
            let valid = key
                .verify(&transaction.body, &transaction.signature)
                .is_ok();
            if valid == transaction.forged {
                return Err("a wrong verdict of aws-lc-rs".into());
            }
            asked += 1;
        }
        peer += begin.elapsed();
    }
    let us = |time: Duration, n: u32| time.as_secs_f64() * 1e6 / f64::from(n);
    let rows = verifiers.into_iter().map(|(_, row, time)| Row {
        ours: us(time, number),
        ..row
    });
    Ok((rows.collect(), us(peer, asked)))
}

fn transaction(sender: &SigningKey<MlDsa65>, number: u32) -> Result<Transaction, Box<dyn Error>> {
    // About the size of a transfer. `aws-lc-rs` has no contexts, so the domain is in the message.
    let mut body = [&DOMAIN[..], &number.to_le_bytes(), &[0; 100]].concat();
    let signature = sender.sign_with_context(&body, Context::EMPTY, Randomness::Deterministic)?;
    let forged = number % FORGED == FORGED - 1;
    if forged {
        body[DOMAIN.len()] ^= 1;
    }
    Ok(Transaction {
        public_key: *sender.verifying_key().as_bytes(),
        body,
        signature: signature.as_ref().to_vec(),
        forged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Result<Vec<Row>, Box<dyn Error>> {
        let arguments = ["mempool"].iter().chain(arguments);
        let options = Options::try_parse_from(arguments)?;
        let seeds: Vec<_> = (0..options.senders).map(seed).collect();
        let keys = SigningKey::from_seeds(&seeds);
        Ok(super::run(&options, &keys, options.exponents[0])?.0)
    }

    /// A key is cached from its second valid signature on.
    #[test]
    fn hit_rate_counts_every_lookup() {
        let figures = |arguments: &[&str]| {
            let rows = run(arguments).expect("it runs");
            Vec::from_iter(
                rows.iter()
                    .map(|row| (row.forged, row.hit_rate, row.bytes > 0)),
            )
        };
        let one = ["--senders=1", "--batch=1", "--transactions=200"];
        let kept = (1, 0.99, true);
        assert_eq!(figures(&one), [(1, 0.0, false), kept, kept, kept]);
        let few = [
            "--senders=1",
            "--batch=1",
            "--transactions=8",
            "--cache-mib=0",
        ];
        assert_eq!(figures(&few), [(0, 0.0, false)]);
    }

    #[test]
    fn unusable_arguments_are_errors() {
        for wrong in [
            "--senders=0",
            "--batch=0",
            "--exponents=NaN",
            "--exponents=-1",
        ] {
            assert!(run(&[wrong]).is_err(), "{wrong}");
        }
        for exponent in ["--exponents=0", "--exponents=1e308", "--exponents=inf"] {
            let all = [
                "--senders=3",
                "--transactions=40",
                "--batch=4294967295",
                exponent,
            ];
            assert!(run(&all).is_ok(), "{exponent}");
        }
    }
}
