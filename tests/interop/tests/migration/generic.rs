//! Code over the traits of `signature` and serde, which names no algorithm: it runs unchanged.

use mldsa_core::signature::{Keypair, SignatureEncoding, Signer, Verifier};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A service that is generic in its algorithm, as written for `ed25519-dalek` or `p256`.
struct Service<K>(K);

impl<K> Service<K> {
    fn respond<S>(&self, message: &[u8]) -> Vec<u8>
    where
        K: Signer<S>,
        S: SignatureEncoding,
    {
        self.0.sign(message).to_vec()
    }

    fn accepts<S>(&self, message: &[u8], response: &[u8]) -> bool
    where
        K: Keypair,
        K::VerifyingKey: Verifier<S>,
        S: for<'a> TryFrom<&'a [u8]>,
    {
        S::try_from(response)
            .is_ok_and(|signature| self.0.verifying_key().verify(message, &signature).is_ok())
    }
}

/// Stores and loads a public key or a signature.
fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let stored = serde_json::to_string(value).expect("text");
    serde_json::from_str(&stored).expect("what was stored")
}

#[test]
fn services_of_two_crates_accept_each_other() {
    let ours = Service(mldsa_core::SigningKey::<mldsa_core::MlDsa44>::from_seed(
        &[9; 32],
    ));
    let theirs = Service(ml_dsa::SigningKey::<ml_dsa::MlDsa44>::from_seed(
        &[9; 32].into(),
    ));
    let response = ours.respond::<mldsa_core::Signature<mldsa_core::MlDsa44>>(b"request");
    let other = theirs.respond::<ml_dsa::Signature<ml_dsa::MlDsa44>>(b"request");
    // Both crates sign deterministically with `Signer`.
    assert_eq!(response, other);
    for message in [&b"request"[..], b"another"] {
        let valid = message == b"request";
        type Ours = mldsa_core::Signature<mldsa_core::MlDsa44>;
        type Theirs = ml_dsa::Signature<ml_dsa::MlDsa44>;
        assert_eq!(ours.accepts::<Ours>(message, &response), valid);
        assert_eq!(theirs.accepts::<Theirs>(message, &response), valid);
    }
    let key = ours.0.verifying_key();
    assert_eq!(&through_json(key), key);
    let signature: mldsa_core::Signature<mldsa_core::MlDsa44> = ours.0.sign(b"request");
    assert_eq!(through_json(&signature), signature);
}
