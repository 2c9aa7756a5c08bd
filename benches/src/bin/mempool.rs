//! A node's mempool: transactions of many senders, each with its public key, some of them
//! forged, verified in batches as they come, with expanded keys in a cache of bounded size.
//!
//! `cargo run --release -p benches --bin mempool`
//!
//! Senders are drawn by Zipf's law: with exponent 0 all are alike, with 1 the most active
//! sends every twelfth transaction of 100,000 senders. Beside it `aws-lc-rs`, which keeps
//! nothing, verifies every 16th of the same transactions, one by one. One thread each. A million
//! transactions take more than a minute, nearly all of it to sign.

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use aws_lc_rs::signature::{ML_DSA_65, UnparsedPublicKey};
use batch_verify::{BatchVerifier, Duplicates, Item, Mode, Outcome, Threads};
use clap::Parser;
use mldsa_core::{Context, Hedge, MlDsa65, SigningKey};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::Zipf;

/// Transactions of many senders under a bounded cache of keys, ML-DSA-65
#[derive(Parser)]
struct Options {
    /// Senders with a key each
    #[arg(long, default_value_t = 100_000)]
    senders: u32,
    /// Transactions for each exponent
    #[arg(long, default_value_t = 1_000_000)]
    transactions: u32,
    /// Exponents of Zipf's law
    #[arg(long, value_delimiter = ',', default_value = "0,0.8,1,1.2")]
    exponents: Vec<f64>,
    /// Bound of the cache of expanded keys, MiB
    #[arg(long, value_delimiter = ',', default_value = "64,512")]
    cache_mib: Vec<usize>,
    /// Transactions that are verified together
    #[arg(long, default_value_t = 1024)]
    batch: usize,
}

/// What every transaction begins with.
const DOMAIN: &[u8; 21] = b"example/transaction/1";
/// Every so many transactions one is forged.
const FORGED: u32 = 199;
/// Every so many transactions one is verified by the peer, too.
const PEER: usize = 16;

/// A transaction as it comes over the network.
struct Transaction {
    public_key: [u8; 1952],
    body: Vec<u8>,
    signature: Vec<u8>,
    forged: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    if options.senders == 0 || options.batch == 0 {
        return Err("at least one sender, and one transaction in a batch".into());
    }
    let seeds: Vec<[u8; 32]> = (0..options.senders).map(seed).collect();
    eprintln!("making {} keys", options.senders);
    let keys = SigningKey::<MlDsa65>::from_seeds(&seeds);
    println!(
        "| exponent | cache, MiB | transactions | forged, refused | hit rate | in the cache, MiB \
         | ours, us each | aws-lc-rs, us each | ratio |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for &exponent in &options.exponents {
        for &mib in &options.cache_mib {
            run(&options, &keys, exponent, mib)?;
        }
    }
    Ok(())
}

fn seed(sender: u32) -> [u8; 32] {
    let mut seed = [0x5e; 32];
    seed[..4].copy_from_slice(&sender.to_le_bytes());
    seed
}

fn run(
    options: &Options,
    keys: &[SigningKey<MlDsa65>],
    exponent: f64,
    mib: usize,
) -> Result<(), Box<dyn Error>> {
    let verifier = BatchVerifier::<MlDsa65>::builder()
        .mode(Mode::Full)
        .key_cache_bytes(mib << 20)
        .threads(Threads::Inline)
        .duplicates(Duplicates::Verify)
        .build()?;
    let law = Zipf::new(keys.len() as f64, exponent)?;
    let mut random = StdRng::seed_from_u64(7);
    let (mut ours, mut peer, mut asked) = (Duration::ZERO, Duration::ZERO, 0_u32);
    // Figures of the cache since the verifier was built.
    let (mut hits, mut misses, mut refused, mut bytes) = (0, 0, 0_u32, 0);
    let mut number = 0;
    while number < options.transactions {
        let mut block = Vec::with_capacity(options.batch);
        while block.len() < options.batch && number < options.transactions {
            // The law counts from one.
            let sender = &keys[random.sample(law) as usize - 1];
            block.push(transaction(sender, number)?);
            number += 1;
        }

        let begin = Instant::now();
        let items: Vec<Item<'_>> = block
            .iter()
            .map(|t| Item::new(&t.public_key[..], t.body.as_slice(), &t.signature))
            .collect();
        let report = verifier.verify(&items);
        ours += begin.elapsed();
        for (transaction, outcome) in block.iter().zip(report.outcomes()) {
            if (*outcome == Outcome::Valid) == transaction.forged {
                return Err("a wrong verdict".into());
            }
            refused += u32::from(transaction.forged);
        }
        let summary = report.summary();
        (hits, misses) = (summary.cache_hits, summary.cache_misses);
        bytes = summary.cache_bytes;

        let begin = Instant::now();
        for transaction in block.iter().step_by(PEER) {
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
    let us = |time: Duration, n: u32| time.as_secs_f64() * 1e6 / f64::from(n.max(1));
    let (ours, peer) = (us(ours, number), us(peer, asked));
    println!(
        "| {exponent} | {mib} | {number} | {refused} | {:.1} % | {:.0} | {ours:.2} | {peer:.2} | {:.2} |",
        100.0 * hits as f64 / (hits + misses).max(1) as f64,
        bytes as f64 / f64::from(1 << 20),
        peer / ours,
    );
    Ok(())
}

fn transaction(sender: &SigningKey<MlDsa65>, number: u32) -> Result<Transaction, Box<dyn Error>> {
    // About a transfer's size. The peer takes no context, so what belongs there comes first.
    let mut body = [&DOMAIN[..], &number.to_le_bytes(), &[0; 100]].concat();
    let signature = sender.sign(&body, Context::EMPTY, Hedge::Deterministic)?;
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
