//! Signs with a 32-byte seed as the private key, and verifies:
//! `cargo run -p mldsa-lowmem --example sign`.

use mldsa_lowmem::{
    Context, Minimal, MlDsa44, MlDsaSigner, ParameterSet, Randomness, SigningKey, VerifyingKey,
    Workspace,
};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    // A device takes both from its generator of random numbers.
    let (seed, hedge) = ([7; 32], [9; 32]);

    // At the factory: the public key leaves the device.
    let mut pk = [0; MlDsa44::PK_LEN];
    let mut sk = [0; MlDsa44::SK_LEN];
    mldsa_lowmem::SigningKey::<MlDsa44>::keygen_into(&seed, &mut pk, &mut sk);

    // On the device: no heap, and no memory besides the stack in the tier `Minimal`.
    let key = SigningKey::<MlDsa44>::from_seed(&seed);
    let mut workspace = Workspace::<MlDsa44, Minimal>::new();
    let mut signature = [0; MlDsa44::SIG_LEN];
    let (message, context) = (b"21.5 C", Context::new(b"sensor/1")?);
    MlDsaSigner::new(&key, &mut workspace).sign_into(
        message,
        context,
        Randomness::Hedged(&hedge),
        &mut signature,
    )?;

    VerifyingKey::<MlDsa44>::from_bytes(&pk)?.verify_with_context(message, context, &signature)?;
    println!("valid, {} bytes", signature.len());
    Ok(())
}
