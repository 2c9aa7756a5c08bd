//! ml-dsa (RustCrypto): portable Rust. Both key objects always hold the
//! expanded matrix, so `sign` is loading the encoded private key and signing.

use std::rc::Rc;

use ml_dsa::{
    ExpandedSigningKey, ExpandedSigningKeyBytes, MlDsa44, MlDsa65, MlDsa87, MlDsaParams, Signature,
    SigningKey, VerifyingKey,
};

use super::{Loaded, Verify};
use crate::{Contender, Inputs, Op, Set, held, inputs::Key};

const PEER: &str = "ml-dsa";

pub(super) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>(inputs),
        Set::MlDsa65 => of::<MlDsa65>(inputs),
        Set::MlDsa87 => of::<MlDsa87>(inputs),
    }
}

fn of<P: MlDsaParams + 'static>(inputs: &Rc<Inputs>) -> Vec<Contender> {
    let private: Vec<_> = inputs.keys.iter().map(load_private::<P>).collect();
    let public: Vec<_> = inputs.keys.iter().map(load_public::<P>).collect();

    let keygen = {
        let inputs = Rc::clone(inputs);
        move |i| SigningKey::<P>::from_seed(&inputs.key(i).seed.into())
    };
    let encoded = keygen(0).expanded_key().verifying_key().encode();
    assert_eq!(encoded.as_slice(), inputs.keys[0].public, "{PEER} keygen");

    let sign = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (key, case) = inputs.case(i);
            load_private::<P>(key)
                .sign_deterministic(&case.message, &[])
                .expect("signing")
                .encode()
        }
    };
    let sign_prepared = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            private[case.key]
                .sign_deterministic(&case.message, &[])
                .expect("signing")
                .encode()
        }
    };
    assert_eq!(
        sign(0).as_slice(),
        inputs.cases[0].signature,
        "{PEER} signing"
    );
    assert_eq!(
        sign_prepared(0).as_slice(),
        inputs.cases[0].signature,
        "{PEER} signing"
    );

    let verify_cold = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (key, case) = inputs.case(i);
            let signature = Signature::try_from(case.signature.as_slice()).expect("a signature");
            let valid = load_public::<P>(key).verify_with_context(&case.message, &[], &signature);
            assert!(valid, "a valid signature");
        }
    };
    let verify_prepared = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            let signature = Signature::try_from(case.signature.as_slice()).expect("a signature");
            let valid = public[case.key].verify_with_context(&case.message, &[], &signature);
            assert!(valid, "a valid signature");
        }
    };
    vec![
        Contender::new(Op::Keygen, PEER, keygen),
        Contender::new(Op::Sign, PEER, sign),
        Contender::new(Op::SignPrepared, PEER, sign_prepared),
        Contender::new(Op::VerifyCold, PEER, verify_cold),
        Contender::new(Op::VerifyPrepared, PEER, verify_prepared),
    ]
}

#[expect(
    deprecated,
    reason = "the encoded private key is what all signers are given"
)]
fn load_private<P: MlDsaParams>(key: &Key) -> ExpandedSigningKey<P> {
    let bytes: &ExpandedSigningKeyBytes<P> =
        key.private.as_slice().try_into().expect("an encoding");
    ExpandedSigningKey::from_expanded(bytes)
}

fn load_public<P: MlDsaParams>(key: &Key) -> VerifyingKey<P> {
    VerifyingKey::decode(key.public.as_slice().try_into().expect("an encoding"))
}

pub(super) fn verifier(set: Set) -> Verify {
    fn accepts<P: MlDsaParams>(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let public = public.try_into().map(VerifyingKey::<P>::decode);
        let signature = Signature::try_from(signature);
        public.is_ok_and(|public| {
            signature.is_ok_and(|signature| public.verify_with_context(message, &[], &signature))
        })
    }
    match set {
        Set::MlDsa44 => accepts::<MlDsa44>,
        Set::MlDsa65 => accepts::<MlDsa65>,
        Set::MlDsa87 => accepts::<MlDsa87>,
    }
}

pub(super) fn loaded(inputs: &Inputs) -> Vec<Loaded> {
    fn of<P: MlDsaParams>(key: &Key) -> Vec<Loaded> {
        let private = held(|| SigningKey::<P>::from_seed(&key.seed.into()));
        let expanded = held(|| load_private::<P>(key));
        let public = held(|| load_public::<P>(key));
        vec![
            Loaded::new(PEER, "private, from the seed", &key.seed, private),
            Loaded::new(PEER, "private, expanded", &key.private, expanded),
            Loaded::new(PEER, "public", &key.public, public),
        ]
    }
    let key = &inputs.keys[0];
    match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>(key),
        Set::MlDsa65 => of::<MlDsa65>(key),
        Set::MlDsa87 => of::<MlDsa87>(key),
    }
}
