//! Times of many inputs, and the numbers of attempts of signing beside the theory.

use std::time::Instant;

use mldsa_core::internals::{AttemptRejection, Zeroed, sign_mu_observed};
use mldsa_core::{Backend, Mu, ParameterSet, Randomness, SigningKey};

/// Prints percentiles of signing and verification, and the attempts, of `inputs` messages under
/// one key.
pub(crate) fn of<P: ParameterSet>(inputs: usize) -> Result<(), String> {
    let key = SigningKey::<P>::from_seed(&[42; 32]);
    let prepared = key.verifying_key().prepare();
    let mut signature = P::SignatureBytes::zeroed();
    let (mut signing, mut verifying) = (Vec::with_capacity(inputs), Vec::with_capacity(inputs));
    let mut attempts = Vec::<u64>::new();
    for number in 0..inputs as u64 {
        let mut mu = [0; 64];
        mu[..8].copy_from_slice(&number.to_le_bytes());
        let mu = Mu::from_bytes(mu);
        let mut rejected = 0;
        let mut observe = |_: AttemptRejection| rejected += 1;
        let start = Instant::now();
        let randomness = Randomness::Deterministic;
        sign_mu_observed(&key, &mu, randomness, signature.as_mut(), &mut observe)
            .map_err(|error| error.to_string())?;
        let middle = Instant::now();
        prepared
            .verify_mu(&mu, &signature)
            .map_err(|error| error.to_string())?;
        verifying.push(middle.elapsed().as_nanos() as u64);
        signing.push((middle - start).as_nanos() as u64);
        if attempts.len() <= rejected {
            attempts.resize(rejected + 1, 0);
        }
        attempts[rejected] += 1;
    }
    let name = Backend::detect().name();
    println!("{} {name}, {inputs} inputs, microseconds:", P::NAME);
    println!("| | p50 | p99 | p99.9 | max |\n|---|--:|--:|--:|--:|");
    for (operation, mut times) in [("sign", signing), ("verify, prepared key", verifying)] {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
        println!(
            "| {operation} | {:.1} | {:.1} | {:.1} | {:.1} |",
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        );
    }
    // FIPS 204, table 1 as NIST corrected it: the mean number of attempts.
    let mean: f64 = match P::NAME {
        "ML-DSA-44" => 4.36,
        "ML-DSA-65" => 5.14,
        _ => 3.91,
    };
    let found: f64 = attempts
        .iter()
        .zip(1..)
        .map(|(&n, attempts)| n as f64 * f64::from(attempts))
        .sum();
    println!(
        "attempts: mean {:.3}, theory {mean}, most {}",
        found / inputs as f64,
        attempts.len()
    );
    println!("| more attempts than | signatures | theory |\n|--:|--:|--:|");
    for beyond in [1, 2, 5, 10, 20, 40, 60, 80] {
        let signatures: u64 = attempts.iter().skip(beyond).sum();
        let theory = (1.0 - 1.0 / mean).powi(beyond as i32) * inputs as f64;
        println!("| {beyond} | {signatures} | {theory:.1} |");
    }
    Ok(())
}
