//! Other implementations on the same inputs. Their signatures must be the same
//! bytes.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};

use crate::meter::measure;
use crate::{Input, Row};

fn row(name: &'static str, op: &'static str, set: &'static str) -> Row<'static> {
    Row {
        name,
        op,
        set,
        tier: "",
        workspace: 0,
    }
}

macro_rules! fips204 {
    ($module:ident, $set:literal) => {{
        use fips204::$module as set;
        let keys = |input: &Input| {
            let (pk, sk) = set::KG::keygen_from_seed(&input.xi);
            (pk.into_bytes(), sk.into_bytes())
        };
        let sign = |sk: [u8; set::SK_LEN], input: &Input| {
            set::PrivateKey::try_from_bytes(sk)
                .expect("a key")
                .try_sign_with_seed(&input.rnd, &input.message, &[])
                .expect("a signature")
        };
        row("fips204", "keygen", $set).run(|input| {
            measure(|| {
                core::hint::black_box(keys(input));
            })
        });
        row("fips204", "sign", $set).run(|input| {
            let (_, sk) = keys(input);
            measure(|| {
                core::hint::black_box(sign(sk, input));
            })
        });
        row("fips204", "verify", $set).run(|input| {
            let (pk, sk) = keys(input);
            let signature = sign(sk, input);
            measure(|| {
                let pk = set::PublicKey::try_from_bytes(pk).expect("a key");
                assert!(pk.verify(&input.message, &signature, &[]));
            })
        });
    }};
}

macro_rules! libcrux {
    ($module:ident, $set:literal) => {{
        use libcrux_ml_dsa::$module::portable as set;
        row("libcrux-ml-dsa", "keygen", $set).run(|input| {
            measure(|| {
                core::hint::black_box(set::generate_key_pair(input.xi));
            })
        });
        row("libcrux-ml-dsa", "sign", $set).run(|input| {
            let pair = set::generate_key_pair(input.xi);
            measure(|| {
                let signature = set::sign(&pair.signing_key, &input.message, &[], input.rnd);
                core::hint::black_box(signature.is_ok());
            })
        });
        row("libcrux-ml-dsa", "verify", $set).run(|input| {
            let pair = set::generate_key_pair(input.xi);
            let signature =
                set::sign(&pair.signing_key, &input.message, &[], input.rnd).expect("a signature");
            measure(|| {
                let verdict = set::verify(&pair.verification_key, &input.message, &[], &signature);
                assert!(verdict.is_ok());
            })
        });
    }};
}

/// Runs them all.
#[inline(never)]
pub fn run() {
    fips204!(ml_dsa_44, "ML-DSA-44");
    fips204!(ml_dsa_65, "ML-DSA-65");
    fips204!(ml_dsa_87, "ML-DSA-87");
    libcrux!(ml_dsa_44, "ML-DSA-44");
    libcrux!(ml_dsa_65, "ML-DSA-65");
    libcrux!(ml_dsa_87, "ML-DSA-87");
}
