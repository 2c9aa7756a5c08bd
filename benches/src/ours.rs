//! Our own operations, on every backend this machine has.

use std::rc::Rc;

use mldsa_core::{
    Backend, Context, Hedge, MlDsa44, MlDsa65, MlDsa87, MuBuilder, ParameterSet, SigningKey,
    VerifyingKey,
    hazmat::{Secret, Zeroed, keygen_internal, sign_mu_observed},
};

use crate::{Contender, Inputs, Op, Set};

const PEER: &str = "ours";

/// Every operation on every available backend.
pub(crate) fn contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    let on = match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>,
        Set::MlDsa65 => of::<MlDsa65>,
        Set::MlDsa87 => of::<MlDsa87>,
    };
    Backend::available()
        .flat_map(|backend| on(inputs, backend))
        .collect()
}

/// Signing attempts per message, mean over all cases: what the deterministic
/// signers have to do, whoever they are.
#[must_use]
pub fn mean_attempts(inputs: &Inputs) -> f64 {
    match inputs.set {
        Set::MlDsa44 => attempts::<MlDsa44>(inputs),
        Set::MlDsa65 => attempts::<MlDsa65>(inputs),
        Set::MlDsa87 => attempts::<MlDsa87>(inputs),
    }
}

fn attempts<P: ParameterSet>(inputs: &Inputs) -> f64 {
    let keys: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| SigningKey::<P>::from_seed(&key.seed))
        .collect();
    let mut attempts = 0usize;
    for case in &inputs.cases {
        let key = &keys[case.key];
        let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), Context::EMPTY);
        mu.update(&case.message);
        let mut signature = P::SignatureBytes::zeroed();
        attempts += 1;
        let observe = &mut |_| attempts += 1;
        sign_mu_observed(
            key,
            &mu.finish(),
            Hedge::Deterministic,
            signature.as_mut(),
            observe,
        )
        .expect("signing");
        assert_eq!(signature.as_ref(), case.signature, "{PEER} signing");
    }
    attempts as f64 / inputs.cases.len() as f64
}

fn of<P: ParameterSet>(inputs: &Rc<Inputs>, backend: Backend) -> Vec<Contender> {
    let signing: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| SigningKey::<P>::from_seed(&key.seed).with_backend(backend))
        .collect();
    let prepared_signing: Vec<_> = signing.iter().map(SigningKey::prepare).collect();
    let prepared: Vec<_> = signing
        .iter()
        .map(|key| key.verifying_key().prepare())
        .collect();

    let keygen = {
        let inputs = Rc::clone(inputs);
        move |i| SigningKey::<P>::from_seed(&inputs.key(i).seed)
    };
    // `from_seed` always takes the best backend; another one has to be pinned
    // one level below.
    let keygen_pinned = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let mut pk = P::PublicKeyBytes::zeroed();
            let mut sk = Secret::<P::SecretKeyBytes>::zeroed();
            keygen_internal::<P>(backend, &inputs.key(i).seed, &mut pk, sk.expose_mut());
            (pk, sk)
        }
    };
    assert_eq!(
        keygen(0).verifying_key().as_ref(),
        inputs.keys[0].public,
        "{PEER} keygen"
    );
    assert_eq!(
        keygen_pinned(0).0.as_ref(),
        inputs.keys[0].public,
        "{PEER} keygen"
    );

    let sign = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            let (key, ctx) = (&signing[case.key], Context::EMPTY);
            key.sign(&case.message, ctx, Hedge::Deterministic)
                .expect("signing")
        }
    };
    let sign_prepared = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            let (key, ctx) = (&prepared_signing[case.key], Context::EMPTY);
            key.sign(&case.message, ctx, Hedge::Deterministic)
                .expect("signing")
        }
    };
    assert_eq!(
        sign(0).as_ref(),
        inputs.cases[0].signature,
        "{PEER} signing"
    );
    assert_eq!(
        sign_prepared(0).as_ref(),
        inputs.cases[0].signature,
        "{PEER} signing"
    );

    let verify_cold = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (key, case) = inputs.case(i);
            let key = VerifyingKey::<P>::from_bytes(&key.public).expect("a key");
            key.with_backend(backend)
                .verify(&case.message, Context::EMPTY, &case.signature)
                .expect("a valid signature");
        }
    };
    let verify_prepared = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            prepared[case.key]
                .verify(&case.message, Context::EMPTY, &case.signature)
                .expect("a valid signature");
        }
    };
    [
        if backend == Backend::detect() {
            Contender::new(Op::Keygen, PEER, keygen)
        } else {
            Contender::new(Op::Keygen, PEER, keygen_pinned)
        },
        Contender::new(Op::Sign, PEER, sign),
        Contender::new(Op::SignPrepared, PEER, sign_prepared),
        Contender::new(Op::VerifyCold, PEER, verify_cold),
        Contender::new(Op::VerifyPrepared, PEER, verify_prepared),
    ]
    .map(|contender| contender.backend(backend.name()))
    .into()
}
