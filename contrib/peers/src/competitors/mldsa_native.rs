//! `mldsa-native-rs` with its assembly. Key objects are encodings.

use mldsa_native_rs::{
    Signature, SigningKey, VerifyingKey, keygen_from_seed,
    parameter_sets::{ML_DSA_44, ML_DSA_65, ML_DSA_87},
};

use super::Competitor;
use crate::inputs::Key;

// A macro, because the crate does not export its trait of parameter sets.
macro_rules! implement {
    ($($set:ident: $of:ident;)*) => {$(
        pub(super) struct $set;

        impl Competitor for $set {
            const NAME: &'static str = "mldsa-native-rs";
            type KeyPair = (SigningKey<$of>, VerifyingKey<$of>);
            type SigningKey = SigningKey<$of>;
            type Signature = Signature<$of>;

            fn keygen(seed: &[u8; 32]) -> Self::KeyPair {
                keygen_from_seed::<$of>(seed.into()).expect("a seed")
            }

            fn public_key(pair: &Self::KeyPair) -> Vec<u8> {
                pair.1.as_ref().to_vec()
            }

            fn signing_key(key: &Key) -> Self::SigningKey {
                SigningKey::try_from(key.private.as_slice()).expect("an encoding")
            }

            fn sign(key: &Self::SigningKey, message: &[u8]) -> Self::Signature {
                let rnd = (&[0; 32]).into();
                key.try_sign_with_ctx_seeded(message, &[], rnd).expect("signing")
            }

            fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
                let (Ok(public), Ok(signature)) =
                    (VerifyingKey::<$of>::try_from(public), Signature::<$of>::try_from(signature))
                else {
                    return false;
                };
                public.verify_with_ctx(message, &[], &signature).is_ok()
            }
        }
    )*};
}

implement! {
    MlDsa44: ML_DSA_44;
    MlDsa65: ML_DSA_65;
    MlDsa87: ML_DSA_87;
}
