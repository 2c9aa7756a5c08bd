//! aws-lc-rs: C and assembly. Signs hedged only and keeps no matrix in a key,
//! so a parsed key would verify in the same time as an encoded one.

use std::rc::Rc;

use aws_lc_rs::signature::{
    KeyPair, ML_DSA_44, ML_DSA_44_SIGNING, ML_DSA_65, ML_DSA_65_SIGNING, ML_DSA_87,
    ML_DSA_87_SIGNING, PqdsaKeyPair, UnparsedPublicKey,
};

use super::Verify;
use crate::{Contender, Inputs, Op, Set};

const PEER: &str = "aws-lc-rs";

pub(super) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    let (verifying, signing) = match inputs.set {
        Set::MlDsa44 => (&ML_DSA_44, &ML_DSA_44_SIGNING),
        Set::MlDsa65 => (&ML_DSA_65, &ML_DSA_65_SIGNING),
        Set::MlDsa87 => (&ML_DSA_87, &ML_DSA_87_SIGNING),
    };
    let load = move |seed: &[u8; 32]| PqdsaKeyPair::from_seed(signing, seed).expect("a seed");
    let keys: Vec<_> = inputs.keys.iter().map(|key| load(&key.seed)).collect();
    assert_eq!(
        keys[0].public_key().as_ref(),
        inputs.keys[0].public,
        "{PEER} keygen"
    );

    let keygen = {
        let inputs = Rc::clone(inputs);
        move |i| load(&inputs.key(i).seed)
    };
    let mut signature = vec![0; signing.signature_len()];
    keys[0]
        .sign(&inputs.cases[0].message, &mut signature)
        .expect("signing");
    inputs.assert_signs(PEER, &signature);
    let sign = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            keys[case.key]
                .sign(&case.message, &mut signature)
                .expect("signing");
        }
    };
    let verify = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (key, case) = inputs.case(i);
            let public = UnparsedPublicKey::new(verifying, &key.public);
            public
                .verify(&case.message, &case.signature)
                .expect("a valid signature");
        }
    };
    vec![
        Contender::new(Op::Keygen, PEER, keygen),
        Contender::new(Op::Sign, PEER, sign).hedged(),
        Contender::new(Op::VerifyCold, PEER, verify),
    ]
}

pub(super) fn verifier(set: Set) -> Verify {
    macro_rules! verify {
        ($algorithm:ident) => {
            |public, message, signature| {
                let public = UnparsedPublicKey::new(&$algorithm, public);
                public.verify(message, signature).is_ok()
            }
        };
    }
    match set {
        Set::MlDsa44 => verify!(ML_DSA_44),
        Set::MlDsa65 => verify!(ML_DSA_65),
        Set::MlDsa87 => verify!(ML_DSA_87),
    }
}
