//! A large message is hashed on one machine and signed on another, which has the key: only `mu`,
//! 64 bytes, travels.
//!
//! `cargo run -p mldsa-core --example external_mu`

use mldsa_core::{Context, MlDsa87, Mu, MuBuilder, Randomness, SigningKey, VerifyingKey};

/// Holds the message and the public key.
fn hash(
    key: &VerifyingKey<MlDsa87>,
    pieces: impl Iterator<Item = [u8; 4096]>,
) -> Result<Mu, mldsa_core::MessageError> {
    let mut mu = MuBuilder::from_tr(key.tr(), Context::new(b"firmware")?);
    pieces.for_each(|piece| mu.update(&piece));
    Ok(mu.finish())
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let key = SigningKey::<MlDsa87>::generate()?;
    let image = || (0..256).map(|n| [n as u8; 4096]);
    let mu = hash(key.verifying_key(), image())?;
    // Holds the private key, and trusts who made mu.
    let signature = key.sign_mu(&mu, Randomness::Deterministic)?;
    // The same signature as over the message itself.
    let whole: Vec<u8> = image().flatten().collect();
    let ctx = Context::new(b"firmware")?;
    key.verifying_key()
        .verify_with_context(&whole, ctx, &signature)?;
    println!(
        "{} bytes of message, {} of mu",
        whole.len(),
        mu.as_bytes().len()
    );
    Ok(())
}
