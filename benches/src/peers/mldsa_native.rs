//! mldsa-native-rs with its `native` assembly. Keys are their encodings.

use std::rc::Rc;

use mldsa_native_rs::wrapper::{
    ML_DSA_44, ML_DSA_65, ML_DSA_87, ParameterSet, Signature, SigningKey, VerifyingKey,
    keygen_from_seed,
};

use crate::{Contender, Inputs, Op, Set};

const PEER: &str = "mldsa-native-rs";

pub(super) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    match inputs.set {
        Set::MlDsa44 => of::<ML_DSA_44>(inputs),
        Set::MlDsa65 => of::<ML_DSA_65>(inputs),
        Set::MlDsa87 => of::<ML_DSA_87>(inputs),
    }
}

fn of<P: ParameterSet + 'static>(inputs: &Rc<Inputs>) -> Vec<Contender> {
    let keys: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| SigningKey::<P>::try_from(key.private.as_slice()).expect("an encoding"))
        .collect();
    let keygen = {
        let inputs = Rc::clone(inputs);
        move |i| keygen_from_seed::<P>((&inputs.key(i).seed).into()).expect("a seed")
    };
    assert_eq!(keygen(0).1.as_ref(), inputs.keys[0].public, "{PEER} keygen");
    let sign = {
        let inputs = Rc::clone(inputs);
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
        inputs.cases[0].signature,
        "{PEER} signing"
    );
    let verify = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (key, case) = inputs.case(i);
            let public = VerifyingKey::<P>::try_from(key.public.as_slice()).expect("an encoding");
            let signature = Signature::try_from(case.signature.as_slice()).expect("a signature");
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
}
