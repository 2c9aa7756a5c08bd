//! `aws-lc-rs` verifies with a key that is parsed each time, or once: prints what either takes.

use std::error::Error;
use std::time::Duration;

use aws_lc_rs::signature::{
    ML_DSA_44, ML_DSA_65, ML_DSA_87, ParsedPublicKey, UnparsedPublicKey, VerificationAlgorithm,
};
use measure::ThreadTime;
use mldsa_core::{Context, Randomness, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};

/// Signers, each with a key and a signature.
const SIGNERS: u8 = 64;
/// Rounds, of which the best of each way counts.
const ROUNDS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    println!("us of CPU a verification: key parsed each time, once");
    compare::<MlDsa44>(&ML_DSA_44)?;
    compare::<MlDsa65>(&ML_DSA_65)?;
    compare::<MlDsa87>(&ML_DSA_87)
}

fn compare<P: ParameterSet>(
    algorithm: &'static dyn VerificationAlgorithm,
) -> Result<(), Box<dyn Error>> {
    let message = b"what one of them votes for";
    let mut signers = Vec::new();
    for n in 0..SIGNERS {
        let key = SigningKey::<P>::from_seed(&[n; 32]);
        let signature = key.sign(message, Context::EMPTY, Randomness::Deterministic)?;
        let bytes: &[u8] = key.verifying_key().as_ref();
        let unparsed = UnparsedPublicKey::new(algorithm, bytes.to_vec());
        let parsed = ParsedPublicKey::new(algorithm, bytes)?;
        signers.push((unparsed, parsed, signature));
    }
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let start = ThreadTime::now();
        for (key, _, signature) in &signers {
            key.verify(message, signature.as_ref())?;
        }
        let middle = ThreadTime::now();
        for (_, key, signature) in &signers {
            key.verify_sig(message, signature.as_ref())?;
        }
        let times = [middle.duration_since(start), middle.elapsed()];
        best = [0, 1].map(|way| best[way].min(times[way]));
    }
    let [each, once] = best.map(|time| time.as_secs_f64() * 1e6 / f64::from(SIGNERS));
    println!("{}: {each:.2} {once:.2}", P::NAME);
    Ok(())
}
