//! mldsa-native-rs with its `native` assembly. Keys are their encodings.

use std::rc::Rc;

use mldsa_native_rs::{
    Signature, SigningKey, VerifyingKey, keygen_from_seed,
    parameter_sets::{ML_DSA_44, ML_DSA_65, ML_DSA_87},
};

use crate::{Contender, Inputs, Op, Set};

const PEER: &str = "mldsa-native-rs";

// The crate keeps its trait of parameter sets to itself.
macro_rules! contenders {
    ($set:ident, $inputs:ident) => {{
        let keys: Vec<_> = $inputs
            .keys
            .iter()
            .map(|key| SigningKey::<$set>::try_from(key.private.as_slice()).expect("an encoding"))
            .collect();
        let keygen = {
            let inputs = Rc::clone($inputs);
            move |i| keygen_from_seed::<$set>((&inputs.key(i).seed).into()).expect("a seed")
        };
        assert_eq!(
            keygen(0).1.as_ref(),
            $inputs.keys[0].public,
            "{PEER} keygen"
        );
        let sign = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (_, case) = inputs.case(i);
                let rnd = (&[0; 32]).into();
                keys[case.key]
                    .try_sign_with_ctx_seeded(&case.message, &[], rnd)
                    .expect("signing")
            }
        };
        assert_eq!(
            sign(0).as_ref(),
            $inputs.cases[0].signature,
            "{PEER} signing"
        );
        let verify = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (key, case) = inputs.case(i);
                let public = VerifyingKey::<$set>::try_from(key.public.as_slice()).expect("a key");
                let signature =
                    Signature::<$set>::try_from(case.signature.as_slice()).expect("a signature");
                public
                    .verify_with_ctx(&case.message, &[], &signature)
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
        Set::MlDsa44 => contenders!(ML_DSA_44, inputs),
        Set::MlDsa65 => contenders!(ML_DSA_65, inputs),
        Set::MlDsa87 => contenders!(ML_DSA_87, inputs),
    }
}
