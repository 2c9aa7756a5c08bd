//! The context as network identifier: a signature for one network is worthless
//! on another. Signing is hedged.
//!
//! `cargo run -p mldsa-core --example network_id`

use mldsa_core::{Context, Hedge, MlDsa44, SigningKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    mldsa_core::self_test()?;
    let key = SigningKey::<MlDsa44>::generate()?;
    let mainnet = Context::new(b"example-chain/1/vote")?;
    let testnet = Context::new(b"example-chain/testnet/vote")?;

    // Fresh bytes for every signature; where there is no generator,
    // Hedge::Deterministic and self-verification against faults.
    let mut rnd = [0; 32];
    getrandom::fill(&mut rnd)?;
    let vote = b"height 7, block 0123";
    let signature = key.sign(vote, mainnet, Hedge::Bytes(&rnd))?;

    // Prepared once, used for every vote of this validator.
    let validator = key.verifying_key().prepare();
    assert!(validator.verify(vote, mainnet, signature.as_ref()).is_ok());
    assert!(validator.verify(vote, testnet, signature.as_ref()).is_err());
    println!(
        "{} bytes of signature, valid on one network only",
        signature.as_bytes().len()
    );
    Ok(())
}
