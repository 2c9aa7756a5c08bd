//! Bytes connect projects on other versions of the traits: `signature` 2, `pkcs8` 0.10,
//! `rand_core` 0.6 to 0.9. Encodings are the same in all of them.
//!
//! `cargo run -p mldsa-core --features spki --example other_trait_versions`

use mldsa_core::spki::{DecodePublicKey as _, EncodePublicKey as _};
use mldsa_core::{Context, MlDsa65, Randomness, SigningKey, VerifyingKey};

/// `fill` is `fill_bytes` of any generator for keys, whatever version its trait has.
fn sign(mut fill: impl FnMut(&mut [u8])) -> Result<(), Box<dyn core::error::Error>> {
    let mut seed = [0; 32];
    fill(&mut seed);
    let key = SigningKey::<MlDsa65>::from_seed(&seed);
    let mut rnd = [0; 32];
    fill(&mut rnd);
    let signature = key.sign_with_context(b"message", Context::EMPTY, Randomness::Hedged(&rnd))?;

    // The bytes that `SignatureEncoding` of `signature` 2 converts from and to.
    let bytes: &[u8] = signature.as_ref();
    // DER of `pkcs8` 0.10 is DER of 0.11.
    let der = key.verifying_key().to_public_key_der()?;
    let vk = VerifyingKey::<MlDsa65>::from_public_key_der(der.as_bytes())?;
    vk.verify_with_context(b"message", Context::EMPTY, bytes)?;
    println!("{} bytes, verified", bytes.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    // In place of a generator, whose type depends on its version.
    let mut next = 0;
    sign(|bytes| {
        bytes.fill_with(|| {
            next += 1;
            next
        })
    })
}
