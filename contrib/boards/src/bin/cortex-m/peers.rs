//! Other implementations on the same inputs, from the same encodings, which must
//! give the same bytes.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use libcrux_ml_dsa::{MLDSASignature, MLDSASigningKey, MLDSAVerificationKey};

use crate::{Bench, Row, measure};

macro_rules! peers {
    ($module:ident, $set:ident, $feature:literal) => {
        #[cfg(feature = $feature)]
        #[inline(never)]
        pub fn $module(bench: &mut Bench<mldsa_lowmem::$set>) {
            use fips204::$module as fips204;
            use libcrux_ml_dsa::$module as libcrux;

            let row = |name, op| Row {
                name,
                op,
                set: <mldsa_lowmem::$set as mldsa_lowmem::ParameterSet>::NAME,
                tier: "",
                workspace: 0,
            };
            row("fips204", "keygen").run(|input| {
                let Bench { pk, sk, .. } = &mut *bench;
                let used = measure(|| {
                    let (public, private) = fips204::KG::keygen_from_seed(&input.xi);
                    *pk = public.into_bytes();
                    *sk = private.into_bytes();
                });
                bench.assert_keys(input);
                used
            });
            row("fips204", "sign").run(|input| {
                bench.prepare(input);
                let Bench { sk, signature, .. } = &mut *bench;
                let used = measure(|| {
                    let key = fips204::PrivateKey::try_from_bytes(*sk).expect("a key");
                    *signature = key
                        .try_sign_with_seed(&input.rnd, &input.message, &[])
                        .expect("a signature");
                });
                assert!(bench.signature == bench.expected);
                used
            });
            row("fips204", "verify").run(|input| {
                bench.prepare(input);
                measure(|| {
                    let key = fips204::PublicKey::try_from_bytes(bench.pk).expect("a key");
                    assert!(key.verify(&input.message, &bench.expected, &[]));
                })
            });
            row("libcrux-ml-dsa", "keygen").run(|input| {
                let Bench { pk, sk, .. } = &mut *bench;
                let used = measure(|| {
                    let pair = libcrux::generate_key_pair(input.xi);
                    *pk = *pair.verification_key.as_ref();
                    *sk = *pair.signing_key.as_ref();
                });
                bench.assert_keys(input);
                used
            });
            row("libcrux-ml-dsa", "sign").run(|input| {
                bench.prepare(input);
                let Bench { sk, signature, .. } = &mut *bench;
                let used = measure(|| {
                    let key = MLDSASigningKey::new(*sk);
                    let signed = libcrux::sign(&key, &input.message, &[], input.rnd);
                    *signature = *signed.expect("a signature").as_ref();
                });
                assert!(bench.signature == bench.expected);
                used
            });
            row("libcrux-ml-dsa", "verify").run(|input| {
                bench.prepare(input);
                measure(|| {
                    libcrux::verify(
                        &MLDSAVerificationKey::new(bench.pk),
                        &input.message,
                        &[],
                        &MLDSASignature::new(bench.expected),
                    )
                    .expect("a valid signature");
                })
            });
        }
    };
}
peers!(ml_dsa_44, MlDsa44, "ml-dsa-44");
peers!(ml_dsa_65, MlDsa65, "ml-dsa-65");
peers!(ml_dsa_87, MlDsa87, "ml-dsa-87");
