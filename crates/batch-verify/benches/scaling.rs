//! Ratios of batches of 1,024 votes, ML-DSA-65, 64 keys:
//!
//! - one thread, over the calls of the core alone that verify the same votes in the same order;
//! - two threads, over one; and two processes that share nothing, over one process: the most that
//!   two threads can reach on this machine, whose cores share clock, power, caches and hosts.
//!
//! `cargo bench -p batch-verify --bench scaling`

use core::error::Error;
use core::time::Duration;
use std::process::{Command, Stdio};
use std::time::Instant;

use batch_verify::{Committee, CommitteeVerifier, Threads, Vote};
use mldsa_core::internals::{JobMessage, Verification, verify_lanes};
use mldsa_core::{
    Context, MlDsa65, PreparedVerifyingKey, Randomness, Signature, SigningKey, VerifyError,
};

const KEYS: usize = 64;
const VOTES: usize = 1024;
/// Signatures in a call of the core, as in the library.
const CALL: usize = 32;
const PAIRS: usize = 300;
/// Measurements of each kind, one after the other.
const TURNS: usize = 8;
const TIME: Duration = Duration::from_secs(1);

struct Fixture {
    committee: Committee<MlDsa65>,
    keys: Vec<PreparedVerifyingKey<MlDsa65>>,
    /// By signer.
    votes: Vec<(usize, [u8; 8], Signature<MlDsa65>)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let fixture = Fixture::new()?;
    if std::env::args().any(|word| word == "child") {
        let verifier = fixture.verifier(Threads::Inline)?;
        println!("{}", fixture.rate(&verifier));
        return Ok(());
    }
    println!(
        "over the core alone, one thread: {:.3}",
        fixture.overhead()?
    );
    let (one, two) = (
        fixture.verifier(Threads::Inline)?,
        fixture.verifier(Threads::Dedicated(2))?,
    );
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..TURNS {
        rates[0].push(fixture.rate(&one));
        rates[1].push(fixture.rate(&two));
        rates[2].push(processes(1)?);
        rates[3].push(processes(2)?);
    }
    let [one, two, process, processes] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[TURNS / 2]
    });
    let (threads, limit) = (two / one, processes / process);
    println!("two threads over one: {threads:.3}");
    println!("two processes over one: {limit:.3}");
    println!("two threads over two processes: {:.3}", threads / limit);
    Ok(())
}

/// Sum of the rates of `count` processes at the same time.
fn processes(count: usize) -> Result<f64, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let child = |_| {
        Command::new(&program)
            .arg("child")
            .stdout(Stdio::piped())
            .spawn()
    };
    let children = (0..count).map(child).collect::<Result<Vec<_>, _>>()?;
    let mut sum = 0.0;
    for child in children {
        let output = child.wait_with_output()?;
        sum += String::from_utf8(output.stdout)?.trim().parse::<f64>()?;
    }
    Ok(sum)
}

impl Fixture {
    fn new() -> Result<Self, Box<dyn Error>> {
        let keys: Vec<SigningKey<MlDsa65>> = (0..KEYS as u8)
            .map(|n| SigningKey::from_seed(&[n; 32]))
            .collect();
        let sign = |n: usize| {
            let (signer, message) = (n * KEYS / VOTES, n.to_le_bytes());
            let signature =
                keys[signer].sign_with_context(&message, Context::EMPTY, Randomness::Deterministic);
            Ok((signer, message, signature?))
        };
        let members = keys.iter().map(|key| (key.verifying_key(), 1));
        Ok(Self {
            committee: Committee::<MlDsa65>::builder(b"").build(members)?,
            votes: (0..VOTES)
                .map(sign)
                .collect::<Result<_, Box<dyn Error>>>()?,
            keys: keys
                .iter()
                .map(|key| key.verifying_key().prepare())
                .collect(),
        })
    }

    fn verifier(&self, threads: Threads) -> Result<CommitteeVerifier<MlDsa65>, Box<dyn Error>> {
        let builder = CommitteeVerifier::builder().threads(threads);
        Ok(builder.build(self.committee.clone())?)
    }

    fn batch(&self, verifier: &CommitteeVerifier<MlDsa65>) {
        let members: Vec<_> = self.committee.members().collect();
        let votes = self.votes.iter().map(|(signer, message, signature)| {
            Vote::new(members[*signer], message, signature.as_ref())
        });
        assert!(verifier.verify_batch(votes).all_valid());
    }

    /// Batches a second.
    fn rate(&self, verifier: &CommitteeVerifier<MlDsa65>) -> f64 {
        self.batch(verifier);
        let (start, mut batches) = (Instant::now(), 0);
        while start.elapsed() < TIME {
            self.batch(verifier);
            batches += 1;
        }
        f64::from(batches) / start.elapsed().as_secs_f64()
    }

    /// Median ratio of a batch to the calls of the core, in pairs.
    fn overhead(&self) -> Result<f64, Box<dyn Error>> {
        let verifier = self.verifier(Threads::Inline)?;
        let mut ratios: Vec<f64> = (0..PAIRS)
            .map(|_| {
                let start = Instant::now();
                self.batch(&verifier);
                let batch = start.elapsed();
                let start = Instant::now();
                self.core();
                batch.as_secs_f64() / start.elapsed().as_secs_f64()
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        Ok(ratios[PAIRS / 2])
    }

    fn core(&self) {
        for votes in self.votes.chunks(CALL) {
            let mut results = [Err(VerifyError::ChallengeMismatch); CALL];
            let lane = |n: usize| {
                let (signer, message, signature) = &votes[n];
                let message = JobMessage::Pure(Context::EMPTY, message);
                let key = self.keys[*signer].as_prepared_ref();
                Verification::prepared(key, message, signature.as_ref())
            };
            verify_lanes(lane, &mut results);
            assert!(results.iter().all(Result::is_ok));
        }
    }
}
