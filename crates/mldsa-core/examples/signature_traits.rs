//! Code that is generic over the `signature` traits.
//!
//! `cargo run -p mldsa-core --features signature --example signature_traits`

use mldsa_core::signature::{DigestSigner, Error, Keypair, Signer, Verifier};
use mldsa_core::{MlDsa65, MuBuilder, Signature, SigningKey};

/// Knows nothing of ML-DSA.
fn sign_and_check<S, K>(key: &K, message: &[u8]) -> Result<S, Error>
where
    K: Signer<S> + Keypair,
    K::VerifyingKey: Verifier<S>,
{
    let signature = key.try_sign(message)?;
    key.verifying_key().verify(message, &signature)?;
    Ok(signature)
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let key = SigningKey::<MlDsa65>::generate()?;
    let signature: Signature<MlDsa65> = sign_and_check(&key, b"two parts")?;
    // The digest of ML-DSA is mu; the closure feeds it.
    let streamed: Signature<MlDsa65> = key.try_sign_digest(|mu: &mut MuBuilder| {
        mu.update(b"two ");
        mu.update(b"parts");
        Ok(())
    })?;
    assert_eq!(signature, streamed);
    println!(
        "deterministic, empty context, {} bytes",
        streamed.as_bytes().len()
    );
    Ok(())
}
