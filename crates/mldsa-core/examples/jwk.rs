//! A JSON Web Key: the crate makes the parts, the caller the JSON.
//!
//! `cargo run -p mldsa-core --features jwk --example jwk`

use mldsa_core::{Jwk, MlDsa44, ParameterSet, SigningKey, VerifyingKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let key = SigningKey::<MlDsa44>::generate()?;
    let public = key.verifying_key().to_jwk_pub();
    let json = serde_json::json!({
        "kty": Jwk::KTY,
        "alg": MlDsa44::NAME,
        "pub": public,
    });
    println!("{} characters", json.to_string().len());

    let text = |name: &str| json.get(name).and_then(|value| value.as_str());
    let jwk = Jwk {
        kty: text("kty").unwrap_or_default(),
        alg: text("alg").unwrap_or_default(),
        public: text("pub").unwrap_or_default(),
        private: text("priv"),
    };
    assert_eq!(
        &VerifyingKey::<MlDsa44>::from_jwk(&jwk)?,
        key.verifying_key()
    );
    Ok(())
}
