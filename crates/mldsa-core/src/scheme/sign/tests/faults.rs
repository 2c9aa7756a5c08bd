//! Single faults in signing with self-verification: after each of them, what is released is valid
//! for the caller's message and made of masks that nobody else can compute.
//!
//! Every kernel of every backend is a place of faults, and so is the memory of keys.

use std::{boxed::Box, vec, vec::Vec};

use crate::backend::Backend;
use crate::backend::faults::{KINDS, POINTS, Plan, SKIP, arm, change, faulty, hits};
use crate::error::SignError;
use crate::hash::prehash::{PreHash, PreHashed};
use crate::hash::transcript::{Context, Mu, MuBuilder, Randomness};
use crate::keys::no_alloc::{PreparedSigningKeyStorage, SignInto};
use crate::keys::{AnyPreparedSigningKey, BatchSigner, PreparedSigningKey, SignJob, SigningKey};
use crate::memory::array::Zeroed;
use crate::params::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use crate::random::Random;
use crate::ring::poly::NttPoly;
use crate::scheme::sign::{challenge, is_response_of_masks};

const CONTEXT: Context<'_> = Context::EMPTY;
const MESSAGES: [&[u8]; 3] = [b"one", b"two", b"three"];
const DIGEST: (PreHash, [u8; 64]) = (PreHash::Sha2_512, [3; 64]);
const RND: Randomness<'_> = Randomness::Deterministic;

/// What is released for each message.
type Released = Vec<Option<Vec<u8>>>;

/// The ways to sign.
#[derive(Clone, Copy, Debug)]
enum Form {
    Unprepared,
    Prepared,
    PreparedIn,
    Batch,
    AnyPrehashed,
}

const FORMS: [Form; 5] = [
    Form::Unprepared,
    Form::Prepared,
    Form::PreparedIn,
    Form::Batch,
    Form::AnyPrehashed,
];

/// A key in all its forms.
struct Keys<P: ParameterSet> {
    key: SigningKey<P>,
    prepared: PreparedSigningKey<P>,
}

impl<P: ParameterSet> Keys<P>
where
    AnyPreparedSigningKey: From<PreparedSigningKey<P>>,
{
    fn new(backend: Backend) -> Self {
        let key = SigningKey::<P>::from_seed(&[5; 32]).with_backend(backend);
        let prepared = key.prepare();
        Self { key, prepared }
    }

    fn sign(&self, form: Form, plan: Option<Plan>) -> (Released, [u32; POINTS]) {
        let mut memory = Box::new(PreparedSigningKeyStorage::new());
        arm(None);
        let in_place = self.key.prepare_in(&mut memory);
        arm(plan);
        let bytes = |signature: Result<P::SignatureBytes, SignError>| {
            Some(signature.ok()?.as_ref().to_vec())
        };
        let released = match form {
            Form::Unprepared => {
                let signed = self.key.sign_with_context(MESSAGES[0], CONTEXT, RND);
                vec![bytes(signed.map(|signature| signature.0))]
            }
            Form::Prepared => {
                let signed = self.prepared.sign_with_context(MESSAGES[0], CONTEXT, RND);
                vec![bytes(signed.map(|signature| signature.0))]
            }
            Form::PreparedIn => {
                let mut out = vec![0; P::SIG_LEN];
                let signed = in_place.sign_into(MESSAGES[0], CONTEXT, RND, &mut out);
                assert!(signed.is_ok() || out.iter().all(|byte| *byte == 0));
                vec![signed.ok().map(|()| out)]
            }
            Form::Batch => {
                let (mut released, mut answers) = (vec![None; 3], [0; 3]);
                let key = self.prepared.as_prepared_ref();
                let jobs = MESSAGES.map(|message| SignJob::new(key, message, CONTEXT, RND));
                BatchSigner::new()
                    .with_backend(self.key.verifying_key().backend())
                    .sign(jobs, |n, signature| {
                        answers[n] += 1;
                        released[n] = bytes(signature.cloned());
                    });
                assert_eq!(answers, [1; 3], "{plan:?}");
                released
            }
            Form::AnyPrehashed => {
                arm(None);
                let any = AnyPreparedSigningKey::from(self.key.prepare());
                arm(plan);
                let signed = any.sign_prehashed(DIGEST.0, &DIGEST.1, CONTEXT, RND);
                vec![signed.unwrap().ok()]
            }
        };
        let counts = hits();
        arm(None);
        (released, counts)
    }
}

/// Requires that what is released after a fault is valid and made of the masks of the key.
fn judge<P: ParameterSet>(
    clean: &SigningKey<P>,
    form: Form,
    released: &Released,
    what: &dyn core::fmt::Debug,
) {
    let (p, key) = (&P::PARAMS, clean.verifying_key());
    let mut memory = Box::new(PreparedSigningKeyStorage::new());
    let material = &clean.prepare_in(&mut memory).material;
    for (signature, message) in released.iter().zip(MESSAGES) {
        let Some(signature) = signature else { continue };
        let mu = mu_of::<P>(form, message, key.tr());
        assert_eq!(key.verify_mu(&mu, signature), Ok(()), "{what:?}");
        let (c_tilde, rest) = signature.split_at(p.c_tilde_len);
        let mut c_hat = NttPoly::zeroed();
        challenge(key.backend(), p, &mut c_tilde.to_vec(), &mut c_hat);
        let z = &rest[..p.l * p.z_poly_len()];
        let mut attempts = 0..200;
        let found = attempts.any(|attempt| {
            let (inputs, mut out) = ((&mu, RND.rnd(), attempt), vec![0; p.sig_len()]);
            is_response_of_masks(key.backend(), p, material, inputs, &c_hat, z, &mut out)
        });
        assert!(found, "{what:?}: other masks");
    }
}

fn mu_of<P: ParameterSet>(form: Form, message: &[u8], tr: &[u8; 64]) -> Mu {
    if let Form::AnyPrehashed = form {
        let digest = PreHashed::<P>::new(DIGEST.0, &DIGEST.1).unwrap();
        return digest.mu(tr, CONTEXT);
    }
    let mut mu = MuBuilder::from_tr(tr, CONTEXT);
    mu.update(message);
    mu.finish()
}

fn faults_of_kernels<P: ParameterSet>()
where
    AnyPreparedSigningKey: From<PreparedSigningKey<P>>,
{
    let clean = SigningKey::<P>::from_seed(&[5; 32]).with_backend(Backend::PORTABLE);
    let mut random = Random::new(9);
    for base in Backend::available() {
        let keys = Keys::<P>::new(faulty(base));
        for form in FORMS {
            let (good, hits) = keys.sign(form, None);
            judge(&clean, form, &good, &form);
            assert!(good.iter().all(Option::is_some), "{base:?} {form:?}");
            let (mut withheld, mut other) = (0, 0);
            for point in (0..POINTS).filter(|point| hits[*point] > 0) {
                for kind in 0..KINDS {
                    let plan = Plan {
                        point,
                        occurrence: (random.next() >> 8) as u32 % hits[point],
                        kind,
                        seed: random.next(),
                    };
                    let (released, _) = keys.sign(form, Some(plan));
                    let is_complete = released.iter().all(Option::is_some);
                    withheld += usize::from(!is_complete);
                    if released != good {
                        judge(&clean, form, &released, &(base, form, plan));
                        other += usize::from(is_complete);
                    }
                }
            }
            let name = (P::NAME, base, form);
            std::println!("{name:?}: {withheld} withheld, {other} others released");
            assert!(withheld >= 10, "the faults are none");
        }
    }
}

/// Faults in the memory of a key that is used afterwards: K, `tr`, s1 or s2.
fn faults_of_keys<P: ParameterSet>()
where
    AnyPreparedSigningKey: From<PreparedSigningKey<P>>,
{
    let mut random = Random::new(10);
    for backend in Backend::available() {
        for (kind, part) in (0..SKIP).flat_map(|kind| (0..4).map(move |part| (kind, part))) {
            let mut keys = Keys::<P>::new(backend);
            let plan = Plan {
                point: part,
                occurrence: 0,
                kind,
                seed: random.next(),
            };
            let (expanded, tr) = keys.key.memory();
            let before = (expanded.to_vec(), *tr);
            let (s1, s2) = (128, 128 + P::L * P::PARAMS.eta_poly_len());
            match part {
                0 => change(plan, &mut expanded[32..64]),
                1 => change(plan, tr),
                2 => change(plan, &mut expanded[s1..s2]),
                _ => change(
                    plan,
                    &mut expanded[s2..s2 + P::K * P::PARAMS.eta_poly_len()],
                ),
            }
            if before == (expanded.to_vec(), *tr) {
                continue;
            }
            let (k_seed, tr, s_hat) = keys.prepared.memory();
            match part {
                0 => change(plan, k_seed),
                1 => change(plan, tr),
                2 => change(plan, &mut s_hat[0].0),
                _ => change(plan, &mut s_hat[P::L].0),
            }
            // The key of the last form is prepared after the fault.
            for form in FORMS {
                let (released, _) = keys.sign(form, None);
                let is_empty = released.iter().all(Option::is_none);
                assert!(is_empty, "{backend:?} {form:?} {plan:?}");
            }
        }
    }
}

#[test]
fn faults_of_kernels_release_nothing_wrong() {
    faults_of_kernels::<MlDsa44>();
    faults_of_kernels::<MlDsa65>();
    faults_of_kernels::<MlDsa87>();
}

#[test]
fn faults_of_keys_release_nothing() {
    faults_of_keys::<MlDsa44>();
    faults_of_keys::<MlDsa65>();
    faults_of_keys::<MlDsa87>();
}
