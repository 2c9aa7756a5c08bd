//! From `pqcrypto-mldsa`, with a context. A private key is stored as its expanded encoding.

use crate::{Application, compare};

const CONTEXT: &[u8] = b"example/v1";

mod before {
    use pqcrypto_mldsa::mldsa65;
    use pqcrypto_traits::sign::{DetachedSignature, PublicKey, SecretKey};

    pub(super) fn generate() -> (Vec<u8>, Vec<u8>) {
        let (public, private) = mldsa65::keypair();
        (private.as_bytes().to_vec(), public.as_bytes().to_vec())
    }

    pub(super) fn sign(private: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let key = mldsa65::SecretKey::from_bytes(private).ok()?;
        let signature = mldsa65::detached_sign_ctx(message, super::CONTEXT, &key);
        Some(signature.as_bytes().to_vec())
    }

    pub(super) fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let key = mldsa65::PublicKey::from_bytes(public);
        let signature = mldsa65::DetachedSignature::from_bytes(signature);
        let (Ok(key), Ok(signature)) = (key, signature) else {
            return false;
        };
        mldsa65::verify_detached_signature_ctx(&signature, message, super::CONTEXT, &key).is_ok()
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
        let context = Context::new(super::CONTEXT).ok()?;
        let signature = key.sign_hedged(message, context).ok()?;
        Some(signature.as_ref().to_vec())
    }

    pub(super) fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let Ok(context) = Context::new(super::CONTEXT) else {
            return false;
        };
        VerifyingKey::<MlDsa65>::from_bytes(public)
            .is_ok_and(|key| key.verify_with_context(message, context, signature).is_ok())
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
