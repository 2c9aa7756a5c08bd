//! Our own operations, on every backend this machine has.

use std::rc::Rc;

use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, MuBuilder, ParameterSet,
    PreparedVerifyingKey, Randomness, SignJob, SigningKey, VerifyError, VerifyingKey,
    hazmat::{
        JobMessage, Rejection, Secret, Verification, Zeroed, keygen_internal, keygen_many,
        sign_mu_observed, verify_lanes,
    },
    no_alloc,
};

use crate::inputs::{Case, Key};
use crate::peers::Loaded;
use crate::{Contender, Inputs, Op, Set, held};

const PEER: &str = "ours";
/// Signatures in one call of the multi-verify rows.
const WIDTH: usize = 8;
/// Keys in one call of the key generation for many.
const KEYS: usize = 64;

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
    let rejections: usize = rejections(inputs).iter().map(Vec::len).sum();
    1.0 + rejections as f64 / inputs.cases.len() as f64
}

/// Why attempts were rejected, for each case: one attempt more was made.
#[must_use]
pub fn rejections(inputs: &Inputs) -> Vec<Vec<Rejection>> {
    match inputs.set {
        Set::MlDsa44 => rejections_of::<MlDsa44>(inputs),
        Set::MlDsa65 => rejections_of::<MlDsa65>(inputs),
        Set::MlDsa87 => rejections_of::<MlDsa87>(inputs),
    }
}

fn rejections_of<P: ParameterSet>(inputs: &Inputs) -> Vec<Vec<Rejection>> {
    let keys: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| SigningKey::<P>::from_seed(&key.seed))
        .collect();
    let of_case = |case: &Case| {
        let key = &keys[case.key];
        let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), Context::EMPTY);
        mu.update(&case.message);
        let mut signature = P::SignatureBytes::zeroed();
        let mut rejections = Vec::new();
        sign_mu_observed(
            key,
            &mu.finish(),
            Randomness::Deterministic,
            signature.as_mut(),
            &mut |rejection| rejections.push(rejection),
        )
        .expect("signing");
        assert_eq!(signature.as_ref(), case.signature, "{PEER} signing");
        rejections
    };
    inputs.cases.iter().map(of_case).collect()
}

/// Whether an encoded public key accepts a message and its signature, with an empty
/// context.
pub(crate) fn accepts<P: ParameterSet>(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let mut pk = P::PublicKeyBytes::zeroed();
    if public.len() != pk.as_ref().len() {
        return false;
    }
    pk.as_mut().copy_from_slice(public);
    no_alloc::verify::<P>(&pk, message, Context::EMPTY, signature).is_ok()
}

/// Whether the key of a case accepts its signature.
pub(crate) type Accepts = Box<dyn Fn(&Case) -> bool>;

/// Verification under the keys of the inputs, prepared and encoded.
pub(crate) fn verifiers(inputs: &Inputs, backend: Backend) -> [(Op, Accepts); 2] {
    fn of<P: ParameterSet>(inputs: &Inputs, backend: Backend) -> [(Op, Accepts); 2] {
        let load = |key: &Key| VerifyingKey::<P>::from_bytes(&key.public).expect("a key");
        let keys = inputs.keys.iter().map(load);
        let keys: Vec<_> = keys.map(|key| key.with_backend(backend)).collect();
        let prepared: Vec<_> = keys.iter().map(VerifyingKey::prepare).collect();
        let ready = move |case: &Case| {
            let verdict = prepared[case.key].verify(&case.message, Context::EMPTY, &case.signature);
            verdict.is_ok()
        };
        let cold =
            move |case: &Case| verify_cold::<P>(backend, keys[case.key].as_bytes(), case).is_ok();
        [
            (Op::VerifyPrepared, Box::new(ready)),
            (Op::VerifyCold, Box::new(cold)),
        ]
    }
    match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>(inputs, backend),
        Set::MlDsa65 => of::<MlDsa65>(inputs, backend),
        Set::MlDsa87 => of::<MlDsa87>(inputs, backend),
    }
}

/// Loaded keys of ours.
pub(crate) fn loaded(inputs: &Inputs) -> Vec<Loaded> {
    fn of<P: ParameterSet>(key: &Key) -> Vec<Loaded> {
        let private = held(|| SigningKey::<P>::from_seed(&key.seed));
        let prepared = held(|| SigningKey::<P>::from_seed(&key.seed).prepare());
        let load = || VerifyingKey::<P>::from_bytes(&key.public).expect("a key");
        let public = held(load);
        let ready = held(|| load().prepare());
        vec![
            Loaded::new("mldsa-core", "private", &key.seed, private),
            Loaded::new("mldsa-core", "private, prepared", &key.seed, prepared),
            Loaded::new("mldsa-core", "public", &key.public, public),
            Loaded::new("mldsa-core", "public, prepared", &key.public, ready),
        ]
    }
    let key = &inputs.keys[0];
    match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>(key),
        Set::MlDsa65 => of::<MlDsa65>(key),
        Set::MlDsa87 => of::<MlDsa87>(key),
    }
}

fn prepared<'a, P: ParameterSet>(
    key: &'a PreparedVerifyingKey<P>,
    case: &'a Case,
) -> Verification<'a, P> {
    let message = JobMessage::Pure(Context::EMPTY, &case.message);
    Verification::prepared(key.as_prepared_ref(), message, &case.signature)
}

fn encoded<'a, P: ParameterSet>(
    backend: Backend,
    key: &'a P::PublicKeyBytes,
    case: &'a Case,
) -> Verification<'a, P> {
    let message = JobMessage::Pure(Context::EMPTY, &case.message);
    Verification::encoded(backend, key, message, &case.signature)
}

/// From the bytes of the key, nothing known of it: one call, which hashes the key beside
/// the expansion of its matrix. Another backend than the best has to be pinned one level
/// below.
fn verify_cold<P: ParameterSet>(
    backend: Backend,
    key: &P::PublicKeyBytes,
    case: &Case,
) -> Result<(), VerifyError> {
    if backend == Backend::detect() {
        return no_alloc::verify::<P>(key, &case.message, Context::EMPTY, &case.signature);
    }
    let mut result = [Ok(())];
    verify_lanes(|_| encoded::<P>(backend, key, case), &mut result);
    result[0]
}

fn of<P: ParameterSet>(inputs: &Rc<Inputs>, backend: Backend) -> Vec<Contender> {
    let signing: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| SigningKey::<P>::from_seed(&key.seed).with_backend(backend))
        .collect();
    let prepared_signing: Rc<[_]> = signing.iter().map(SigningKey::prepare).collect();
    let prepared: Rc<[_]> = signing
        .iter()
        .map(|key| key.verifying_key().prepare())
        .collect();
    let encoded: Rc<[P::PublicKeyBytes]> = signing
        .iter()
        .map(|key| key.verifying_key().as_bytes().clone())
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
    let mut keygen_batch = {
        let inputs = Rc::clone(inputs);
        let mut public = vec![P::PublicKeyBytes::zeroed(); KEYS];
        move |i| {
            // Wiped on the clock, as every other form of a key is.
            let mut private: Vec<_> = (0..KEYS).map(|_| Secret::zeroed()).collect();
            let private = private.iter_mut().map(Secret::expose_mut);
            let mut keys: Vec<_> = (i..)
                .zip(&mut public)
                .zip(private)
                .map(|((i, pk), sk)| (&inputs.key(i).seed, pk, sk))
                .collect();
            keygen_many::<P>(backend, &mut keys);
            keys.iter()
                .zip(i..)
                .all(|((_, pk, _), i)| pk.as_ref() == inputs.key(i).public)
        }
    };
    assert!(keygen_batch(0), "{PEER} keygen");
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
            key.sign(&case.message, ctx, Randomness::Deterministic)
                .expect("signing")
        }
    };
    let many = inputs.cases.len();
    let sign_batch = {
        let (inputs, prepared_signing) = (Rc::clone(inputs), Rc::clone(&prepared_signing));
        let mut signer = BatchSigner::new().with_backend(backend);
        let mut signatures = vec![P::SignatureBytes::zeroed(); many];
        move |i| {
            let jobs = (i..i + many).map(|i| {
                let (_, case) = inputs.case(i);
                let key = prepared_signing[case.key].as_prepared_ref();
                SignJob::new(
                    key,
                    &case.message,
                    Context::EMPTY,
                    Randomness::Deterministic,
                )
            });
            signer.sign(jobs, |n, signature| {
                let signature = signature.expect("signing");
                signatures[n].as_mut().copy_from_slice(signature.as_ref());
            });
            signatures[many - 1].as_ref() == inputs.case(i + many - 1).1.signature
        }
    };
    let sign_prepared = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let (_, case) = inputs.case(i);
            let (key, ctx) = (&prepared_signing[case.key], Context::EMPTY);
            key.sign(&case.message, ctx, Randomness::Deterministic)
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

    let mut sign_batch = sign_batch;
    assert!(sign_batch(0), "{PEER} signing");

    let verify_cold = {
        let (inputs, encoded) = (Rc::clone(inputs), Rc::clone(&encoded));
        move |i| {
            let (_, case) = inputs.case(i);
            verify_cold::<P>(backend, &encoded[case.key], case).expect("a valid signature");
        }
    };
    let multi_verify_prepared = {
        let (inputs, prepared) = (Rc::clone(inputs), Rc::clone(&prepared));
        move |i| {
            let mut results = [Err(VerifyError::SignatureLength); WIDTH];
            let item = |n| {
                let (_, case) = inputs.case(i + n);
                self::prepared(&prepared[case.key], case)
            };
            verify_lanes(item, &mut results);
            assert_eq!(results, [Ok(()); WIDTH]);
        }
    };
    let multi_verify_cold = {
        let inputs = Rc::clone(inputs);
        move |i| {
            let mut results = [Err(VerifyError::SignatureLength); WIDTH];
            let item = |n| {
                let (_, case) = inputs.case(i + n);
                self::encoded::<P>(backend, &encoded[case.key], case)
            };
            verify_lanes(item, &mut results);
            assert_eq!(results, [Ok(()); WIDTH]);
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
        Contender::new(Op::KeygenBatch, PEER, keygen_batch).width(KEYS),
        Contender::new(Op::Sign, PEER, sign),
        Contender::new(Op::SignPrepared, PEER, sign_prepared),
        Contender::new(Op::SignBatch, PEER, sign_batch).width(many),
        Contender::new(Op::VerifyCold, PEER, verify_cold),
        Contender::new(Op::VerifyPrepared, PEER, verify_prepared),
        Contender::new(Op::MultiVerifyPrepared, PEER, multi_verify_prepared).width(WIDTH),
        Contender::new(Op::MultiVerifyCold, PEER, multi_verify_cold).width(WIDTH),
    ]
    .map(|contender| contender.backend(backend.name()))
    .into()
}
