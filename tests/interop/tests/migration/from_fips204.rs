//! From `fips204`.

use crate::{Application, compare};

mod before {
    use fips204::ml_dsa_65::{KG, PublicKey};
    use fips204::traits::{KeyGen, SerDes, Signer, Verifier};

    pub(super) fn public_key(seed: &[u8; 32]) -> Vec<u8> {
        let (public, _) = KG::keygen_from_seed(seed);
        public.into_bytes().to_vec()
    }

    pub(super) fn sign(seed: &[u8; 32], message: &[u8], context: &[u8]) -> Option<Vec<u8>> {
        let (_, key) = KG::keygen_from_seed(seed);
        let signature = key.try_sign_with_seed(&[0; 32], message, context).ok()?;
        Some(signature.to_vec())
    }

    pub(super) fn verify(key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> bool {
        let (Ok(key), Ok(signature)) = (key.try_into(), signature.try_into()) else {
            return false;
        };
        PublicKey::try_from_bytes(key).is_ok_and(|key| key.verify(message, &signature, context))
    }
}

mod after {
    use mldsa_core::{Context, MlDsa65, Randomness, Signature, SigningKey, VerifyingKey};

    pub(super) fn public_key(seed: &[u8; 32]) -> Vec<u8> {
        let key = SigningKey::<MlDsa65>::from_seed(seed);
        <[u8; 1952]>::from(key.verifying_key().clone()).to_vec()
    }

    pub(super) fn sign(seed: &[u8; 32], message: &[u8], context: &[u8]) -> Option<Vec<u8>> {
        let key = SigningKey::<MlDsa65>::from_seed(seed);
        // The 32 bytes of `try_sign_with_seed`; zeros are the deterministic form.
        let (context, randomness) = (Context::new(context).ok()?, Randomness::Hedged(&[0; 32]));
        let signature = key.sign_with_context(message, context, randomness).ok()?;
        Some(<[u8; 3309]>::from(signature).to_vec())
    }

    pub(super) fn verify(key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> bool {
        let (Ok(key), Ok(signature)) = (<[u8; 1952]>::try_from(key), signature.try_into()) else {
            return false;
        };
        let signature: [u8; 3309] = signature;
        let Ok(signature) = Signature::<MlDsa65>::try_from(signature) else {
            return false;
        };
        Context::new(context).is_ok_and(|context| {
            let key = VerifyingKey::<MlDsa65>::from(key);
            key.verify_with_context(message, context, &signature)
                .is_ok()
        })
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
