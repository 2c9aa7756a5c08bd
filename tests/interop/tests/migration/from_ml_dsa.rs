//! From RustCrypto's `ml-dsa`.

use crate::{Application, compare};

mod before {
    use ml_dsa::signature::Keypair;
    use ml_dsa::{MlDsa65, Signature, SigningKey, VerifyingKey};

    pub(super) fn public_key(seed: &[u8; 32]) -> Vec<u8> {
        let key = SigningKey::<MlDsa65>::from_seed(&(*seed).into());
        key.verifying_key().encode().to_vec()
    }

    pub(super) fn sign(seed: &[u8; 32], message: &[u8], context: &[u8]) -> Option<Vec<u8>> {
        let key = SigningKey::<MlDsa65>::from_seed(&(*seed).into());
        let signature = key
            .expanded_key()
            .sign_deterministic(message, context)
            .ok()?;
        Some(signature.encode().to_vec())
    }

    pub(super) fn verify(key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> bool {
        let (Ok(key), Ok(signature)) = (key.try_into(), Signature::try_from(signature)) else {
            return false;
        };
        VerifyingKey::<MlDsa65>::decode(&key).verify_with_context(message, context, &signature)
    }
}

mod after {
    use mldsa_core::{Context, MlDsa65, Randomness, SigningKey, VerifyingKey};

    pub(super) fn public_key(seed: &[u8; 32]) -> Vec<u8> {
        let key = SigningKey::<MlDsa65>::from_seed(seed);
        key.verifying_key().as_bytes().to_vec()
    }

    pub(super) fn sign(seed: &[u8; 32], message: &[u8], context: &[u8]) -> Option<Vec<u8>> {
        let key = SigningKey::<MlDsa65>::from_seed(seed);
        let context = Context::new(context).ok()?;
        let signature = key.sign_with_context(message, context, Randomness::Deterministic);
        Some(signature.ok()?.as_bytes().to_vec())
    }

    pub(super) fn verify(key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> bool {
        let (Ok(key), Ok(context)) = (
            VerifyingKey::<MlDsa65>::from_bytes(key),
            Context::new(context),
        ) else {
            return false;
        };
        key.verify_with_context(message, context, signature).is_ok()
    }
}

#[test]
fn both_forms_agree() {
    let before = Application {
        public_key: before::public_key,
        sign: before::sign,
        verify: before::verify,
    };
    let after = Application {
        public_key: after::public_key,
        sign: after::sign,
        verify: after::verify,
    };
    compare(&before, &after);
}
