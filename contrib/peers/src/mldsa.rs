//! Operations of `mldsa-core` on every backend of this CPU.

use std::rc::Rc;

use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, MuBuilder, ParameterSet,
    PreparedVerifyingKey, Randomness, SignJob, SigningKey, VerifyError, VerifyingKey,
    internals::{
        JobMessage, Secret, Verification, Zeroed, keygen_internal, keygen_many, sign_mu_observed,
        verify_lanes,
    },
};

use crate::inputs::{Case, Key};
use crate::{Contender, Inputs, Op, Set};

/// Name in the rows of the scorecard.
const PEER: &str = "ours";
/// Signatures in one call of the multi-verify rows.
const WIDTH: usize = 8;
/// Keys in one call of the key generation for many.
const KEYS: usize = 64;

/// All operations on all backends.
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

/// Mean number of signing attempts over all cases. It is the same for all deterministic signers.
#[must_use]
pub fn mean_attempts(inputs: &Inputs) -> f64 {
    let rejections = match inputs.set {
        Set::MlDsa44 => rejections::<MlDsa44>(inputs),
        Set::MlDsa65 => rejections::<MlDsa65>(inputs),
        Set::MlDsa87 => rejections::<MlDsa87>(inputs),
    };
    1.0 + rejections as f64 / inputs.cases.len() as f64
}

/// Rejected attempts of all cases.
fn rejections<P: ParameterSet>(inputs: &Inputs) -> usize {
    let keys: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| SigningKey::<P>::from_seed(&key.seed))
        .collect();
    let mut rejections = 0;
    for case in &inputs.cases {
        let key = &keys[case.key];
        let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), Context::EMPTY);
        mu.update(&case.message);
        let mut signature = P::SignatureBytes::zeroed();
        sign_mu_observed(
            key,
            &mu.finish(),
            Randomness::Deterministic,
            signature.as_mut(),
            &mut |_| rejections += 1,
        )
        .expect("signing");
        assert_eq!(signature.as_ref(), case.signature, "{PEER} signing");
    }
    rejections
}

fn encoded<'a, P: ParameterSet>(
    backend: Backend,
    key: &'a P::PublicKeyBytes,
    case: &'a Case,
) -> Verification<'a, P> {
    let message = JobMessage::Pure(Context::EMPTY, &case.message);
    Verification::encoded(backend, key, message, &case.signature)
}

/// Verification of [`WIDTH`] cases in one call.
fn multi<P: ParameterSet, K: 'static>(
    inputs: &Rc<Inputs>,
    keys: Rc<[K]>,
    item: impl for<'a> Fn(&'a K, &'a Case) -> Verification<'a, P> + 'static,
) -> impl FnMut(usize) + 'static {
    let inputs = Rc::clone(inputs);
    move |i| {
        let mut results = [Err(VerifyError::SignatureLength); WIDTH];
        let item = |n| {
            let (_, case) = inputs.case(i + n);
            item(&keys[case.key], case)
        };
        verify_lanes(item, &mut results);
        assert_eq!(results, [Ok(()); WIDTH]);
    }
}

fn of<P: ParameterSet>(inputs: &Rc<Inputs>, backend: Backend) -> Vec<Contender> {
    let detected = backend == Backend::detect();
    let signing: Vec<_> = inputs
        .keys
        .iter()
        .map(|key| {
            let mut key = SigningKey::<P>::from_seed(&key.seed).with_backend(backend);
            // As the other implementations sign: the signature is not verified again.
            key.set_self_verification(false);
            key
        })
        .collect();
    let prepared_signing: Rc<[_]> = signing.iter().map(SigningKey::prepare).collect();
    let prepared: Rc<[_]> = signing
        .iter()
        .map(|key| key.verifying_key().prepare())
        .collect();
    let public: Rc<[P::PublicKeyBytes]> = signing
        .iter()
        .map(|key| key.verifying_key().as_bytes().clone())
        .collect();

    // `from_seed` and `verify_encoded` always take the detected backend. Another one is only
    // reachable through the internal interfaces.
    let keygen = if detected {
        Contender::keygen(PEER, inputs, SigningKey::<P>::from_seed, |key| {
            key.verifying_key().as_ref().to_vec()
        })
    } else {
        let keygen = move |seed: &[u8; 32]| {
            let mut pk = P::PublicKeyBytes::zeroed();
            let mut sk = Secret::<P::SecretKeyBytes>::zeroed();
            keygen_internal::<P>(backend, seed, &mut pk, sk.expose_mut());
            (pk, sk)
        };
        Contender::keygen(PEER, inputs, keygen, |(pk, _)| pk.as_ref().to_vec())
    };
    let keygen_batch = {
        let (inputs, mut public) = (Rc::clone(inputs), vec![P::PublicKeyBytes::zeroed(); KEYS]);
        move |i| {
            let mut private: Vec<_> = (0..KEYS).map(|_| Secret::zeroed()).collect();
            let private = private.iter_mut().map(Secret::expose_mut);
            let keys = (i..).zip(&mut public).zip(private);
            let mut keys: Vec<_> = keys
                .map(|((i, pk), sk)| (&inputs.key(i).seed, pk, sk))
                .collect();
            keygen_many::<P>(backend, &mut keys);
            for ((_, pk, _), i) in keys.iter().zip(i..) {
                assert_eq!(pk.as_ref(), inputs.key(i).public, "{PEER} keygen");
            }
        }
    };
    let many = inputs.cases.len();
    let sign_batch = {
        let (inputs, keys) = (Rc::clone(inputs), Rc::clone(&prepared_signing));
        let mut signer = BatchSigner::new().with_backend(backend);
        let mut signatures = vec![P::SignatureBytes::zeroed(); many];
        move |i| {
            let jobs = (i..i + many).map(|i| {
                let (_, case) = inputs.case(i);
                let key = keys[case.key].as_prepared_ref();
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
            let (_, last) = inputs.case(i + many - 1);
            assert_eq!(
                signatures[many - 1].as_ref(),
                last.signature,
                "{PEER} signing"
            );
        }
    };
    let sign = move |_: &Key, case: &Case| {
        let (key, ctx) = (&signing[case.key], Context::EMPTY);
        key.sign_with_context(&case.message, ctx, Randomness::Deterministic)
            .expect("signing")
    };
    let sign_prepared = move |_: &Key, case: &Case| {
        let (key, ctx) = (&prepared_signing[case.key], Context::EMPTY);
        key.sign_with_context(&case.message, ctx, Randomness::Deterministic)
            .expect("signing")
    };
    let verify_prepared = {
        let prepared = Rc::clone(&prepared);
        move |_: &Key, case: &Case| {
            let verdict = prepared[case.key].verify_with_context(
                &case.message,
                Context::EMPTY,
                &case.signature,
            );
            verdict.is_ok()
        }
    };
    let verify_cold = {
        let public = Rc::clone(&public);
        move |_: &Key, case: &Case| {
            let key = &public[case.key];
            if detected {
                let ctx = Context::EMPTY;
                return VerifyingKey::<P>::verify_encoded(key, &case.message, ctx, &case.signature)
                    .is_ok();
            }
            let mut result = [Ok(())];
            verify_lanes(|_| encoded::<P>(backend, key, case), &mut result);
            result[0].is_ok()
        }
    };
    let multi_prepared = multi(inputs, prepared, |key: &PreparedVerifyingKey<P>, case| {
        let message = JobMessage::Pure(Context::EMPTY, &case.message);
        Verification::prepared(key.as_prepared_ref(), message, &case.signature)
    });
    let multi_cold = multi(inputs, public, move |key, case| {
        encoded::<P>(backend, key, case)
    });
    [
        keygen,
        Contender::new(Op::KeygenBatch, PEER, keygen_batch).width(KEYS),
        Contender::signer(Op::Sign, PEER, true, inputs, sign),
        Contender::signer(Op::SignPrepared, PEER, true, inputs, sign_prepared),
        Contender::new(Op::SignBatch, PEER, sign_batch).width(many),
        Contender::verifier(Op::VerifyCold, PEER, inputs, verify_cold),
        Contender::verifier(Op::VerifyPrepared, PEER, inputs, verify_prepared),
        Contender::new(Op::MultiVerifyPrepared, PEER, multi_prepared).width(WIDTH),
        Contender::new(Op::MultiVerifyCold, PEER, multi_cold).width(WIDTH),
    ]
    .map(|contender| contender.backend(backend.name()))
    .into()
}
