//! Keys and signatures between this library and `aws-lc-rs`, both directions.

use aws_lc_rs::encoding::{AsDer, AsRawBytes, PublicKeyX509Der};
use aws_lc_rs::signature::{self, KeyPair, PqdsaKeyPair, UnparsedPublicKey};
use mldsa_core::pkcs8::{DecodePublicKey, EncodePublicKey};
use mldsa_core::{Context, PrivateKeyForm, Randomness, SigningKey, VerifyingKey};

macro_rules! set {
    ($name:ident, $set:ident, $verifying:ident, $signing:ident) => {
        #[test]
        fn $name() {
            type Ours = mldsa_core::$set;
            let seed = [0x3c; 32];
            let ours = SigningKey::<Ours>::from_seed(&seed);
            let our_public = ours.verifying_key();

            // The same key from the same seed, and from our files.
            let theirs = PqdsaKeyPair::from_seed(&signature::$signing, &seed).unwrap();
            assert_eq!(theirs.public_key().as_ref(), our_public.as_ref());
            assert_eq!(
                theirs.private_key().as_raw_bytes().unwrap().as_ref(),
                ours.expanded()
            );
            let mut read_forms = 0;
            for form in [
                PrivateKeyForm::Seed,
                PrivateKeyForm::Expanded,
                PrivateKeyForm::Both,
            ] {
                let der = ours.to_pkcs8_der_as(form).unwrap();
                let read = PqdsaKeyPair::from_pkcs8(&signature::$signing, der.as_bytes()).unwrap();
                assert_eq!(read.public_key().as_ref(), our_public.as_ref());
                read_forms += 1;
            }
            assert_eq!(read_forms, 3);

            // Their files here.
            let der = theirs.to_pkcs8v1().unwrap();
            assert_eq!(
                SigningKey::<Ours>::from_pkcs8_der(der.as_ref()).unwrap(),
                ours
            );
            let der: PublicKeyX509Der<'_> = theirs.public_key().as_der().unwrap();
            assert_eq!(
                &VerifyingKey::<Ours>::from_public_key_der(der.as_ref()).unwrap(),
                our_public
            );
            assert_eq!(
                our_public.to_public_key_der().unwrap().as_bytes(),
                der.as_ref()
            );

            // Signatures, empty context only.
            for message in [&b""[..], b"message", &[7; 5000]] {
                let mut buffer = vec![0; signature::$signing.signature_len()];
                let len = theirs.sign(message, &mut buffer).unwrap();
                let good = our_public.verify_with_context(message, Context::EMPTY, &buffer[..len]);
                assert_eq!(good, Ok(()));
                let peer = UnparsedPublicKey::new(&signature::$verifying, our_public.as_ref());
                for hedge in [Randomness::Deterministic, Randomness::Hedged(&[1; 32])] {
                    let signature = ours
                        .sign_with_context(message, Context::EMPTY, hedge)
                        .unwrap();
                    peer.verify(message, signature.as_ref()).unwrap();
                    assert!(peer.verify(b"other", signature.as_ref()).is_err());
                }
            }
        }
    };
}
set!(ml_dsa_44, MlDsa44, ML_DSA_44, ML_DSA_44_SIGNING);
set!(ml_dsa_65, MlDsa65, ML_DSA_65, ML_DSA_65_SIGNING);
set!(ml_dsa_87, MlDsa87, ML_DSA_87, ML_DSA_87_SIGNING);
