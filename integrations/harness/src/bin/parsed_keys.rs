//! CPU time of an `aws-lc-rs` verification with a key parsed for each call and parsed once.

use std::time::Duration;

use aws_lc_rs::signature::{
    ML_DSA_44, ML_DSA_65, ML_DSA_87, ParsedPublicKey, UnparsedPublicKey, VerificationAlgorithm,
};
use harness::ThreadTime;
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};

/// Number of keys, each with one signature.
const SIGNERS: u8 = 64;
/// Number of rounds; the minimum counts.
const ROUNDS: usize = 20;

fn main() -> anyhow::Result<()> {
    println!("us of CPU per verification: key parsed each time, once");
    compare::<MlDsa44>(&ML_DSA_44)?;
    compare::<MlDsa65>(&ML_DSA_65)?;
    compare::<MlDsa87>(&ML_DSA_87)
}

fn compare<P: ParameterSet>(algorithm: &'static dyn VerificationAlgorithm) -> anyhow::Result<()> {
    let message = b"message";
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
        best = [0, 1].map(|at| best[at].min(times[at]));
    }
    let [each, once] = best.map(|time| time.as_secs_f64() * 1e6 / f64::from(SIGNERS));
    println!("{}: {each:.2} {once:.2}", P::NAME);
    Ok(())
}
