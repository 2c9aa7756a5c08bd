//! `libcrux-ml-dsa`: Rust, with AVX2 or NEON chosen at run time. Key objects are encodings.

use libcrux_ml_dsa::{
    MLDSAKeyPair, MLDSASignature, MLDSASigningKey, MLDSAVerificationKey, ml_dsa_44, ml_dsa_65,
    ml_dsa_87,
};

use super::Competitor;
use crate::inputs::Key;

macro_rules! implement {
    ($($set:ident: $scheme:ident, $public_len:literal, $private_len:literal, $signature_len:literal;)*) => {$(
        pub(super) struct $set;

        impl Competitor for $set {
            const NAME: &'static str = "libcrux-ml-dsa";
            type KeyPair = MLDSAKeyPair<$public_len, $private_len>;
            type SigningKey = MLDSASigningKey<$private_len>;
            type Signature = [u8; $signature_len];

            fn keygen(seed: &[u8; 32]) -> Self::KeyPair {
                $scheme::generate_key_pair(*seed)
            }

            fn public_key(pair: &Self::KeyPair) -> Vec<u8> {
                pair.verification_key.as_slice().to_vec()
            }

            fn signing_key(key: &Key) -> Self::SigningKey {
                MLDSASigningKey::new(key.private.as_slice().try_into().expect("an encoding"))
            }

            fn sign(key: &Self::SigningKey, message: &[u8]) -> Self::Signature {
                let signature = $scheme::sign(key, message, &[], [0; 32]);
                *signature.expect("signing").as_ref()
            }

            fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
                let (Ok(public), Ok(signature)) = (public.try_into(), signature.try_into()) else {
                    return false;
                };
                let public = MLDSAVerificationKey::new(public);
                $scheme::verify(&public, message, &[], &MLDSASignature::new(signature)).is_ok()
            }
        }
    )*};
}

implement! {
    MlDsa44: ml_dsa_44, 1312, 2560, 2420;
    MlDsa65: ml_dsa_65, 1952, 4032, 3309;
    MlDsa87: ml_dsa_87, 2592, 4896, 4627;
}
