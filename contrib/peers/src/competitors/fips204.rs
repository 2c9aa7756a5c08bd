//! `fips204`: portable Rust. A key object holds its vectors in NTT form but no matrix, so that
//! signing with a loaded key is plain `sign`, and verification with a loaded key counts as
//! prepared. This implementation also makes the inputs of all others.

use std::rc::Rc;

use fips204::{
    ml_dsa_44, ml_dsa_65, ml_dsa_87,
    traits::{KeyGen, SerDes, Signer, Verifier},
};

use super::Competitor;
use crate::{
    Contender, Inputs, Op,
    inputs::{Case, Key},
};

macro_rules! implement {
    ($($set:ident: $scheme:ident, $signature_len:literal;)*) => {$(
        pub(crate) struct $set;

        impl $set {
            /// A key pair in its encodings.
            pub(crate) fn encoded_keys(seed: [u8; 32]) -> Key {
                let (public, private) = Self::keygen(&seed);
                Key {
                    seed,
                    public: public.into_bytes().to_vec(),
                    private: private.into_bytes().to_vec(),
                }
            }

            fn load_public(public: &[u8]) -> Option<$scheme::PublicKey> {
                $scheme::PublicKey::try_from_bytes(public.try_into().ok()?).ok()
            }
        }

        impl Competitor for $set {
            const NAME: &'static str = "fips204";
            type KeyPair = ($scheme::PublicKey, $scheme::PrivateKey);
            type SigningKey = $scheme::PrivateKey;
            type Signature = [u8; $signature_len];

            fn keygen(seed: &[u8; 32]) -> Self::KeyPair {
                $scheme::KG::keygen_from_seed(seed)
            }

            fn public_key(pair: &Self::KeyPair) -> Vec<u8> {
                pair.0.clone().into_bytes().to_vec()
            }

            fn signing_key(key: &Key) -> Self::SigningKey {
                let private = key.private.as_slice().try_into().expect("an encoding");
                $scheme::PrivateKey::try_from_bytes(private).expect("a key")
            }

            fn sign(key: &Self::SigningKey, message: &[u8]) -> Self::Signature {
                key.try_sign_with_seed(&[0; 32], message, &[]).expect("signing")
            }

            fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
                let Ok(signature) = signature.try_into() else { return false };
                Self::load_public(public).is_some_and(|key| key.verify(message, signature, &[]))
            }

            fn with_key_objects(inputs: &Rc<Inputs>) -> Vec<Contender> {
                let keys = inputs.keys.iter().map(|key| Self::load_public(&key.public));
                let keys: Vec<_> = keys.map(|key| key.expect("a key")).collect();
                let verify = move |_: &Key, case: &Case| {
                    let signature = case.signature.as_slice().try_into().expect("an encoding");
                    keys[case.key].verify(&case.message, signature, &[])
                };
                vec![Contender::verifier(Op::VerifyPrepared, Self::NAME, inputs, verify)]
            }
        }
    )*};
}

implement! {
    MlDsa44: ml_dsa_44, 2420;
    MlDsa65: ml_dsa_65, 3309;
    MlDsa87: ml_dsa_87, 4627;
}
