//! Keys and signatures between this library and RustCrypto's `ml-dsa`, both
//! directions.

use ml_dsa::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
};
use ml_dsa::signature::{Keypair as _, Signer as _, Verifier as _};
use mldsa_core::{Context, Randomness, Signature, SigningKey, VerifyingKey};

macro_rules! set {
    ($name:ident, $set:ident) => {
        #[test]
        fn $name() {
            type Ours = mldsa_core::$set;
            type Theirs = ml_dsa::$set;
            for seed in [[0; 32], [0xa5; 32], core::array::from_fn(|n| n as u8)] {
                let ours = SigningKey::<Ours>::from_seed(&seed);
                let our_public = ours.verifying_key();

                // Our PKCS#8 and SubjectPublicKeyInfo there.
                let der = ours.to_pkcs8_der().unwrap();
                let theirs = ml_dsa::SigningKey::<Theirs>::from_pkcs8_der(der.as_bytes()).unwrap();
                assert_eq!(theirs.to_pkcs8_der().unwrap().as_bytes(), der.as_bytes());
                let der = our_public.to_public_key_der().unwrap();
                let their_public =
                    ml_dsa::VerifyingKey::<Theirs>::from_public_key_der(der.as_bytes()).unwrap();
                assert_eq!(their_public, theirs.verifying_key());

                // Their keys and signatures here.
                let der = theirs.to_pkcs8_der().unwrap();
                assert_eq!(
                    SigningKey::<Ours>::from_pkcs8_der(der.as_bytes()).unwrap(),
                    ours
                );
                let der = their_public.to_public_key_der().unwrap();
                let read = VerifyingKey::<Ours>::from_public_key_der(der.as_bytes()).unwrap();
                assert_eq!(&read, our_public);

                // Deterministic signatures are equal and verify on both sides.
                for message in [&b""[..], b"message", &[7; 1000]] {
                    let a: Signature<Ours> =
                        mldsa_core::signature::Signer::try_sign(&ours, message).unwrap();
                    let b: ml_dsa::Signature<Theirs> = theirs.try_sign(message).unwrap();
                    assert_eq!(a.as_ref(), b.encode().as_slice());
                    let hedged = ours
                        .sign_with_context(message, Context::EMPTY, Randomness::Hedged(&[9; 32]))
                        .unwrap();
                    let hedged = ml_dsa::Signature::<Theirs>::try_from(hedged.as_ref()).unwrap();
                    assert!(their_public.verify(message, &hedged).is_ok());
                    assert!(their_public.verify(b"other", &hedged).is_err());
                    assert!(
                        our_public
                            .verify_with_context(message, Context::EMPTY, b.encode().as_slice())
                            .is_ok()
                    );
                }

                // With a context.
                let ctx = [b'c'; 255];
                let context = Context::new(&ctx).unwrap();
                let ours = ours
                    .sign_with_context(b"m", context, Randomness::Deterministic)
                    .unwrap();
                let read = ml_dsa::Signature::<Theirs>::try_from(ours.as_ref()).unwrap();
                assert!(their_public.verify_with_context(b"m", &ctx, &read));
                assert!(!their_public.verify_with_context(b"m", &ctx[1..], &read));
            }
        }
    };
}
set!(ml_dsa_44, MlDsa44);
set!(ml_dsa_65, MlDsa65);
set!(ml_dsa_87, MlDsa87);
