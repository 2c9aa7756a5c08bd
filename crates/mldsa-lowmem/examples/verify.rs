//! Verifies a firmware image with a key that is part of the program:
//! `cargo run -p mldsa-lowmem --example verify`.

use mldsa_core::{Randomness, SigningKey};
use mldsa_lowmem::{Context, MlDsa44, VerifyingKey};

/// Whether `image` is signed by the holder of `key`. Needs no heap.
fn is_genuine(key: &[u8], image: &[u8], signature: &[u8]) -> bool {
    let (Ok(context), Ok(key)) = (
        Context::new(b"firmware/1"),
        VerifyingKey::<MlDsa44>::from_bytes(key),
    ) else {
        return false;
    };
    key.verify_with_context(image, context, signature).is_ok()
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    // The vendor signs with a full-memory key.
    let vendor = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    let mut image = vec![0x5a; 10_000];
    let context = Context::new(b"firmware/1")?;
    let signature = vendor.sign_with_context(&image, context, Randomness::Deterministic)?;

    let key = vendor.verifying_key().as_ref();
    assert!(is_genuine(key, &image, signature.as_ref()));
    image[5000] ^= 1;
    assert!(!is_genuine(key, &image, signature.as_ref()));
    println!("the image is genuine, a changed one is not");
    Ok(())
}
