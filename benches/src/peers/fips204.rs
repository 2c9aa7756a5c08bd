//! fips204: portable Rust. A key object holds its vectors in NTT form but no
//! matrix, so signing with a loaded key is plain `sign`, and verifying with a
//! loaded key counts as prepared.

use std::rc::Rc;

use fips204::{
    ml_dsa_44, ml_dsa_65, ml_dsa_87,
    traits::{KeyGen, SerDes, Signer, Verifier},
};

use super::{Loaded, Verify};
use crate::{Contender, Inputs, Op, Set, held};

const PEER: &str = "fips204";

macro_rules! contenders {
    ($scheme:ident, $inputs:ident) => {{
        let (public, private): (Vec<_>, Vec<_>) = $inputs
            .keys
            .iter()
            .map(|key| $scheme::KG::keygen_from_seed(&key.seed))
            .unzip();
        let keygen = {
            let inputs = Rc::clone($inputs);
            move |i| $scheme::KG::keygen_from_seed(&inputs.key(i).seed)
        };
        let sign = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (_, case) = inputs.case(i);
                let key = &private[case.key];
                key.try_sign_with_seed(&[0; 32], &case.message, &[])
                    .expect("signing")
            }
        };
        assert_eq!(
            sign(0).as_slice(),
            $inputs.cases[0].signature,
            "{PEER} signing"
        );
        let verify_cold = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (key, case) = inputs.case(i);
                let public = key.public.as_slice().try_into().expect("an encoding");
                let public = $scheme::PublicKey::try_from_bytes(public).expect("a key");
                let signature = case.signature.as_slice().try_into().expect("an encoding");
                assert!(
                    public.verify(&case.message, signature, &[]),
                    "a valid signature"
                );
            }
        };
        let verify_prepared = {
            let inputs = Rc::clone($inputs);
            move |i| {
                let (_, case) = inputs.case(i);
                let signature = case.signature.as_slice().try_into().expect("an encoding");
                assert!(
                    public[case.key].verify(&case.message, signature, &[]),
                    "a valid signature"
                );
            }
        };
        vec![
            Contender::new(Op::Keygen, PEER, keygen),
            Contender::new(Op::Sign, PEER, sign),
            Contender::new(Op::VerifyCold, PEER, verify_cold),
            Contender::new(Op::VerifyPrepared, PEER, verify_prepared),
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
                $scheme::PublicKey::try_from_bytes(public)
                    .is_ok_and(|public| public.verify(message, signature, &[]))
            }
        };
    }
    match set {
        Set::MlDsa44 => verify!(ml_dsa_44),
        Set::MlDsa65 => verify!(ml_dsa_65),
        Set::MlDsa87 => verify!(ml_dsa_87),
    }
}

pub(super) fn loaded(inputs: &Inputs) -> Vec<Loaded> {
    let key = &inputs.keys[0];
    macro_rules! of {
        ($scheme:ident) => {{
            let private = key.private.as_slice().try_into().expect("an encoding");
            let private = held(|| $scheme::PrivateKey::try_from_bytes(private).expect("a key"));
            let public = key.public.as_slice().try_into().expect("an encoding");
            let public = held(|| $scheme::PublicKey::try_from_bytes(public).expect("a key"));
            vec![
                Loaded::new(PEER, "private", &key.private, private),
                Loaded::new(PEER, "public", &key.public, public),
            ]
        }};
    }
    match inputs.set {
        Set::MlDsa44 => of!(ml_dsa_44),
        Set::MlDsa65 => of!(ml_dsa_65),
        Set::MlDsa87 => of!(ml_dsa_87),
    }
}
