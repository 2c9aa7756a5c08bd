//! The context as network identifier: a signature for one network is worthless
//! on another. Signing is hedged.
//!
//! `cargo run -p mldsa-core --example network_id`

use mldsa_core::{Context, MlDsa44, SigningKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    mldsa_core::self_test()?;
    let key = SigningKey::<MlDsa44>::generate()?;
    let mainnet = Context::new(b"example-chain/1/vote")?;
    let testnet = Context::new(b"example-chain/testnet/vote")?;

    // Where there is no generator, or a vote has to have the same bytes when it is sent
    // again: `Randomness::Deterministic` and self-verification against faults.
    let vote = b"height 7, block 0123";
    let signature = key.sign_hedged(vote, mainnet)?;

    // Prepared once, used for every vote of this validator.
    let validator = key.verifying_key().prepare();
    assert!(
        validator
            .verify_with_context(vote, mainnet, &signature)
            .is_ok()
    );
    assert!(
        validator
            .verify_with_context(vote, testnet, &signature)
            .is_err()
    );
    println!(
        "{} bytes of signature, valid on one network only",
        signature.as_bytes().len()
    );
    Ok(())
}
