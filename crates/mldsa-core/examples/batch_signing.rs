//! Signs 512 messages in a batch, with and without self-verification, and prints the time per
//! signature of each: the least of several interleaved runs.
//!
//! `cargo run --release -p mldsa-core --example batch_signing`

use core::time::Duration;
use std::time::Instant;

use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedSigningKey, Randomness, SigningKey,
};

const MESSAGES: u32 = 512;
const RUNS: usize = 15;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    batches::<MlDsa44>()?;
    batches::<MlDsa65>()?;
    batches::<MlDsa87>()
}

fn batches<P: ParameterSet>() -> Result<(), Box<dyn core::error::Error>> {
    let mut key = SigningKey::<P>::generate()?;
    // Signatures that do not verify, by a fault, are not released.
    let checked = key.prepare();
    key.set_self_verification(false);
    let plain = key.prepare();

    let messages: Vec<[u8; 4]> = (0..MESSAGES).map(u32::to_be_bytes).collect();
    let context = Context::new(b"example/v1")?;
    // Deterministic here, so that all runs make the same attempts.
    let batch = |key: &PreparedSigningKey<P>| {
        let jobs = messages
            .iter()
            .map(|message| (&message[..], Randomness::Deterministic));
        let begin = Instant::now();
        let signatures = key.sign_many(jobs, context)?;
        Ok::<_, Box<dyn core::error::Error>>((begin.elapsed(), signatures))
    };
    let mut least = [Duration::MAX; 2];
    for _ in 0..RUNS {
        let (time, signatures) = batch(&plain)?;
        least[0] = least[0].min(time);
        let (time, verified) = batch(&checked)?;
        least[1] = least[1].min(time);
        assert_eq!(signatures, verified);
    }
    let [plain, checked] = least.map(|time| time.as_secs_f64() * 1e6 / f64::from(MESSAGES));
    println!(
        "{} {}: {plain:.1} us, self-verified {checked:.1} us, {:.0} % longer",
        P::NAME,
        key.verifying_key().backend().name(),
        100.0 * (checked / plain - 1.0),
    );
    Ok(())
}
