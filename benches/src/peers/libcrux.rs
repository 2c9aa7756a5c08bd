//! libcrux-ml-dsa: Rust with AVX2 or NEON chosen at run time. Keys are
//! their encodings.

use std::rc::Rc;

use libcrux_ml_dsa::{
    MLDSASignature, MLDSASigningKey, MLDSAVerificationKey, ml_dsa_44, ml_dsa_65, ml_dsa_87,
};

use super::{Loaded, Verify};
use crate::{Contender, Inputs, Op, Set};

const PEER: &str = "libcrux-ml-dsa";

macro_rules! contenders {
    ($scheme:ident, $inputs:ident) => {{
        let keys: Vec<_> = $inputs
            .keys
            .iter()
            .map(|key| {
                let pair = $scheme::generate_key_pair(key.seed);
                assert_eq!(
                    pair.verification_key.as_slice(),
                    key.public,
                    "{PEER} keygen"
                );
                let private = key.private.as_slice().try_into().expect("an encoding");
                MLDSASigningKey::new(private)
            })
            .collect();

        let keygen = {
            let inputs = Rc::clone($inputs);
            move |i| $scheme::generate_key_pair(inputs.key(i).seed)
        };
        let sign = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (_, case) = inputs.case(i);
                $scheme::sign(&keys[case.key], &case.message, &[], [0; 32]).expect("signing")
            }
        };
        assert_eq!(
            sign(0).as_slice(),
            $inputs.cases[0].signature,
            "{PEER} signing"
        );
        let verify = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (key, case) = inputs.case(i);
                let public = key.public.as_slice().try_into().expect("an encoding");
                let signature = case.signature.as_slice().try_into().expect("an encoding");
                $scheme::verify(
                    &MLDSAVerificationKey::new(public),
                    &case.message,
                    &[],
                    &MLDSASignature::new(signature),
                )
                .expect("a valid signature");
            }
        };
        vec![
            Contender::new(Op::Keygen, PEER, keygen),
            Contender::new(Op::Sign, PEER, sign),
            Contender::new(Op::VerifyCold, PEER, verify),
        ]
    }};
}

pub(super) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    match inputs.set {
        Set::MlDsa44 => contenders!(ml_dsa_44, inputs),
        Set::MlDsa65 => contenders!(ml_dsa_65, inputs),
        Set::MlDsa87 => contenders!(ml_dsa_87, inputs),
    }
}

pub(super) fn verifier(set: Set) -> Verify {
    macro_rules! verify {
        ($scheme:ident) => {
            |public, message, signature| {
                let (Ok(public), Ok(signature)) = (public.try_into(), signature.try_into()) else {
                    return false;
                };
                let public = MLDSAVerificationKey::new(public);
                $scheme::verify(&public, message, &[], &MLDSASignature::new(signature)).is_ok()
            }
        };
    }
    match set {
        Set::MlDsa44 => verify!(ml_dsa_44),
        Set::MlDsa65 => verify!(ml_dsa_65),
        Set::MlDsa87 => verify!(ml_dsa_87),
    }
}

/// Keys are their encodings.
pub(super) fn loaded(inputs: &Inputs) -> Vec<Loaded> {
    let key = &inputs.keys[0];
    let loaded = |object, encoding: &[u8]| Loaded::new(PEER, object, encoding, encoding.len());
    vec![
        loaded("private", &key.private),
        loaded("public", &key.public),
    ]
}
