//! `aws-lc-rs`: C and assembly. It signs hedged only, and a parsed public key holds no matrix, so
//! that it would verify in the same time as an encoded one.

use aws_lc_rs::signature::{
    KeyPair as _, ML_DSA_44, ML_DSA_44_SIGNING, ML_DSA_65, ML_DSA_65_SIGNING, ML_DSA_87,
    ML_DSA_87_SIGNING, PqdsaKeyPair, UnparsedPublicKey,
};

use super::Competitor;
use crate::inputs::Key;

macro_rules! implement {
    ($($set:ident: $verifying:ident, $signing:ident, $len:literal;)*) => {$(
        pub(super) struct $set;

        impl Competitor for $set {
            const NAME: &'static str = "aws-lc-rs";
            const DETERMINISTIC: bool = false;
            type KeyPair = PqdsaKeyPair;
            type SigningKey = PqdsaKeyPair;
            type Signature = [u8; $len];

            fn keygen(seed: &[u8; 32]) -> PqdsaKeyPair {
                PqdsaKeyPair::from_seed(&$signing, seed).expect("a seed")
            }

            fn public_key(pair: &PqdsaKeyPair) -> Vec<u8> {
                pair.public_key().as_ref().to_vec()
            }

            fn signing_key(key: &Key) -> PqdsaKeyPair {
                Self::keygen(&key.seed)
            }

            fn sign(key: &PqdsaKeyPair, message: &[u8]) -> [u8; $len] {
                let mut signature = [0; $len];
                key.sign(message, &mut signature).expect("signing");
                signature
            }

            fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
                let public = UnparsedPublicKey::new(&$verifying, public);
                public.verify(message, signature).is_ok()
            }
        }
    )*};
}

implement! {
    MlDsa44: ML_DSA_44, ML_DSA_44_SIGNING, 2420;
    MlDsa65: ML_DSA_65, ML_DSA_65_SIGNING, 3309;
    MlDsa87: ML_DSA_87, ML_DSA_87_SIGNING, 4627;
}
