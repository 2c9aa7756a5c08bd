//! Cost of the check of transactions in a node before and after `mldsa-core` and `batch-verify`
//! replaced `aws-lc-rs`: ML-DSA-65, the public key in the transaction, each key once.
//!
//! `cargo run --release --manifest-path contrib/peers/Cargo.toml --bin migration_cost`
//!
//! The change of the node is the difference of `before.rs` and `after.rs`. Both get the same
//! transactions, some of them forged, and must return the same verdicts. Blocks are verified on all
//! threads of rayon (`RAYON_NUM_THREADS`).

mod after;
mod before;

use core::time::Duration;
use std::time::Instant;

use benches::{Stream, cpu_name};
use clap::Parser;
use mldsa_core::{Backend, Context, MlDsa65, Randomness, SigningKey};

/// Check of transactions with aws-lc-rs and with this library
#[derive(Parser)]
struct Options {
    /// Number of blocks
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    blocks: u32,
    /// Transactions in a block
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65536))]
    transactions: u32,
}

/// A received transaction, whose length has been checked.
#[derive(Clone)]
struct Transaction {
    public_key: [u8; 1952],
    body: Vec<u8>,
    signature: Vec<u8>,
}

/// Change of the second of two valid transactions.
type Forge = fn(&Transaction, &mut Transaction, &mut Stream);

/// Forgeries, one in turn every [`FORGED`] transactions.
const FORGERIES: [Forge; 7] = [
    |_, forged, _| forged.body[20] ^= 1,
    // The first byte belongs to the challenge, the last to the hint.
    |_, forged, _| forged.signature[0] ^= 1,
    |_, forged, _| *forged.signature.last_mut().expect("not empty") = u8::MAX,
    |_, forged, stream| stream.fill(&mut forged.signature),
    |_, forged, _| forged.signature.truncate(3308),
    |other, forged, _| forged.public_key = other.public_key,
    |other, forged, _| forged.signature.clone_from(&other.signature),
];
const FORGED: usize = 37;

/// Transactions under distinct keys, and their expected verdicts.
fn block(number: u32, transactions: u32, stream: &mut Stream) -> (Vec<Transaction>, Vec<bool>) {
    let seeds: Vec<[u8; 32]> = (0..transactions).map(|n| seed(number, n)).collect();
    let mut block: Vec<_> = SigningKey::<MlDsa65>::from_seeds(&seeds)
        .iter()
        .zip(&seeds)
        .map(|(key, seed)| {
            // About the size of a transfer.
            let body = [&seed[..], &[0; 100]].concat();
            let signature = key.sign_with_context(&body, Context::EMPTY, Randomness::Deterministic);
            Transaction {
                public_key: *key.verifying_key().as_bytes(),
                body,
                signature: signature.expect("signing").as_ref().to_vec(),
            }
        })
        .collect();
    let mut valid = vec![true; block.len()];
    for (forge, n) in FORGERIES
        .iter()
        .cycle()
        .zip((1..block.len()).step_by(FORGED))
    {
        let (others, forged) = block.split_at_mut(n);
        forge(&others[n - 1], &mut forged[0], stream);
        valid[n] = false;
    }
    (block, valid)
}

fn seed(block: u32, transaction: u32) -> [u8; 32] {
    let mut seed = [0x5e; 32];
    seed[..4].copy_from_slice(&block.to_le_bytes());
    seed[4..8].copy_from_slice(&transaction.to_le_bytes());
    seed
}

/// Check of a block.
type Check = fn(&[Transaction]) -> Vec<bool>;

/// Checks before and after.
const CHECKS: [(&str, [Check; 2]); 2] = [
    (
        "one by one, one thread",
        [
            |block| block.iter().map(before::valid).collect(),
            |block| block.iter().map(after::valid).collect(),
        ],
    ),
    (
        "a block, all threads",
        [before::valid_block, after::valid_block],
    ),
];

fn main() {
    let options = Options::parse();
    let mut stream = Stream::new(7);
    // Starts the threads. Repeated transactions must get the same verdicts.
    let (mut first, mut valid) = block(options.blocks, 64, &mut stream);
    first.extend_from_within(..);
    valid.extend_from_within(..);
    for check in CHECKS.iter().flat_map(|(_, checks)| checks) {
        assert_eq!(check(&first), valid);
    }

    let mut times = [[Duration::ZERO; 2]; CHECKS.len()];
    let (mut seen, mut rejected) = (0, 0);
    for number in 0..options.blocks {
        let (block, valid) = block(number, options.transactions, &mut stream);
        seen += block.len();
        rejected += valid.iter().filter(|valid| !**valid).count();
        for ((name, checks), times) in CHECKS.iter().zip(&mut times) {
            for (check, time) in checks.iter().zip(times) {
                let begin = Instant::now();
                let verdicts = check(&block);
                *time += begin.elapsed();
                assert_eq!(verdicts, valid, "{name}");
            }
        }
    }
    println!(
        "{}, {}, {} threads: {seen} transactions in blocks of {}, {rejected} forged and rejected by both\n\n\
         | transactions a second | aws-lc-rs | ours | ratio |\n|---|--:|--:|--:|",
        cpu_name().unwrap_or("unnamed CPU"),
        Backend::detect().name(),
        rayon::current_num_threads(),
        options.transactions,
    );
    for ((name, _), [before, after]) in CHECKS.iter().zip(times) {
        let rate = |time: Duration| seen as f64 / time.as_secs_f64();
        let ratio = before.as_secs_f64() / after.as_secs_f64();
        println!(
            "| {name} | {:.0} | {:.0} | {ratio:.2} |",
            rate(before),
            rate(after)
        );
    }
}
