//! From `aws-lc-rs`. A private key is stored as its expanded encoding.

use crate::{Application, compare};

mod before {
    use aws_lc_rs::encoding::AsRawBytes;
    use aws_lc_rs::signature::{
        KeyPair, ML_DSA_65, ML_DSA_65_SIGNING, PqdsaKeyPair, UnparsedPublicKey,
    };

    pub(super) fn generate() -> (Vec<u8>, Vec<u8>) {
        let key = PqdsaKeyPair::generate(&ML_DSA_65_SIGNING).expect("a key");
        let private = key.private_key().as_raw_bytes().expect("an encoding");
        let public = key.public_key().as_ref().to_vec();
        (private.as_ref().to_vec(), public)
    }

    pub(super) fn sign(private: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let key = PqdsaKeyPair::from_raw_private_key(&ML_DSA_65_SIGNING, private).ok()?;
        let mut signature = vec![0; ML_DSA_65_SIGNING.signature_len()];
        key.sign(message, &mut signature).ok()?;
        Some(signature)
    }

    pub(super) fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ML_DSA_65, public);
        key.verify(message, signature).is_ok()
    }
}

mod after {
    use mldsa_core::{Context, MlDsa65, SigningKey, VerifyingKey};

    pub(super) fn generate() -> (Vec<u8>, Vec<u8>) {
        let key = SigningKey::<MlDsa65>::generate().expect("a key");
        (
            key.expanded().to_vec(),
            key.verifying_key().as_ref().to_vec(),
        )
    }

    pub(super) fn sign(private: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let key = SigningKey::<MlDsa65>::from_expanded_bytes(private).ok()?;
        let signature = key.sign_hedged(message, Context::EMPTY).ok()?;
        Some(signature.as_ref().to_vec())
    }

    pub(super) fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        VerifyingKey::<MlDsa65>::from_bytes(public).is_ok_and(|key| {
            key.verify_with_context(message, Context::EMPTY, signature)
                .is_ok()
        })
    }
}

#[test]
fn the_program_with_this_library_does_the_same() {
    compare(
        &Application {
            generate: before::generate,
            sign: before::sign,
            verify: before::verify,
        },
        &Application {
            generate: after::generate,
            sign: after::sign,
            verify: after::verify,
        },
    );
}
