//! Make a key, back it up, write it as PEM, read it back.
//!
//! `cargo run -p mldsa-core --features pem --example key_files`

use mldsa_core::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use mldsa_core::{MlDsa65, PrivateKeyForm, SigningKey, VerifyingKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let key = SigningKey::<MlDsa65>::generate()?;

    // The seed is the whole key: these 32 bytes are the backup.
    let backup = *key.seed().ok_or("generated keys have their seed")?;
    assert_eq!(SigningKey::<MlDsa65>::from_seed(&backup), key);

    // PKCS#8 holds the seed; other forms for software that wants them.
    let pem = key.to_pkcs8_pem(LineEnding::LF)?;
    let both = key.to_pkcs8_pem_as(PrivateKeyForm::Both, LineEnding::LF)?;
    println!("{} bytes as seed, {} as both", pem.len(), both.len());
    assert_eq!(SigningKey::<MlDsa65>::from_pkcs8_pem(&pem)?, key);
    assert_eq!(SigningKey::<MlDsa65>::from_pkcs8_pem(&both)?, key);

    let public = key.verifying_key().to_public_key_pem(LineEnding::LF)?;
    print!("{}", public.lines().next().unwrap_or_default());
    println!(" .. {} bytes", public.len());
    assert_eq!(
        &VerifyingKey::<MlDsa65>::from_public_key_pem(&public)?,
        key.verifying_key()
    );
    Ok(())
}
