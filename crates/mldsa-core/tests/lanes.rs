//! Verification in lanes: every backend, every set, valid and invalid
//! signatures in every position, groups of every size.
#![cfg(all(
    feature = "unstable-internals",
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]

use mldsa_core::internals::{
    Expansion, JobMessage, NttPoly, PackedPoly, Verification, verify_lanes,
};
use mldsa_core::{
    Backend, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey, VerifyError,
    VerifyingKey,
};

/// A signature with what it was made over and what verification must say.
struct Case {
    key: usize,
    ctx: Vec<u8>,
    message: Vec<u8>,
    signature: Vec<u8>,
    expected: Result<(), VerifyError>,
}

/// Keys, and for each of them good signatures over messages of many lengths and
/// signatures broken in each of the ways that have an error of their own.
fn cases<P: ParameterSet>() -> (Vec<SigningKey<P>>, Vec<Case>) {
    let keys: Vec<_> = (0..3)
        .map(|n| SigningKey::<P>::from_seed(&[n; 32]))
        .collect();
    let mut cases = Vec::new();
    let z_at = P::C_TILDE_LEN;
    let hint_at = P::SIG_LEN - P::PARAMS.omega - P::PARAMS.k;
    for (n, len) in [0, 1, 32, 69, 70, 71, 136, 205, 206, 300, 1000, 5000]
        .into_iter()
        .enumerate()
    {
        let key = n % 3;
        let message: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
        let ctx = vec![n as u8; if n % 4 == 3 { 255 } else { n }];
        let signature = keys[key]
            .sign_with_context(
                &message,
                Context::new(&ctx).expect("valid"),
                Randomness::Deterministic,
            )
            .expect("valid")
            .as_ref()
            .to_vec();
        let mut push = |signature: Vec<u8>, message: Vec<u8>, expected| {
            cases.push(Case {
                key,
                ctx: ctx.clone(),
                message,
                signature,
                expected,
            });
        };
        push(signature.clone(), message.clone(), Ok(()));
        match n % 6 {
            0 => {
                let mut other = message.clone();
                other.push(1);
                push(
                    signature.clone(),
                    other,
                    Err(VerifyError::ChallengeMismatch),
                );
            }
            1 => push(
                signature[1..].to_vec(),
                message.clone(),
                Err(VerifyError::SignatureLength),
            ),
            2 => {
                // A hint count above omega.
                let mut bad = signature.clone();
                bad[P::SIG_LEN - 1] = 0xff;
                push(bad, message.clone(), Err(VerifyError::HintEncoding));
            }
            3 => {
                // All-zero bits are z = gamma1.
                let mut bad = signature.clone();
                bad[hint_at - 8..hint_at].fill(0);
                push(bad, message.clone(), Err(VerifyError::ResponseNorm));
            }
            4 => {
                let mut bad = signature.clone();
                bad[z_at + 3] ^= 1;
                push(bad, message.clone(), Err(VerifyError::ChallengeMismatch));
            }
            _ => {
                let mut bad = signature.clone();
                bad[0] ^= 0x80;
                push(bad, message.clone(), Err(VerifyError::ChallengeMismatch));
            }
        }
    }
    (keys, cases)
}

/// Form of a key.
#[derive(Clone, Copy, Debug)]
enum Form {
    Wide,
    Packed,
    Cold,
}

const FORMS: [Form; 3] = [Form::Wide, Form::Packed, Form::Cold];

fn check<P: ParameterSet>() {
    let (keys, cases) = cases::<P>();
    for backend in Backend::available() {
        let cold: Vec<VerifyingKey<P>> = keys
            .iter()
            .map(|key| key.verifying_key().clone().with_backend(backend))
            .collect();
        let wide: Vec<Vec<NttPoly>> = cold
            .iter()
            .map(|key| {
                let mut polys = Vec::new();
                polys.resize_with(VerifyingKey::<P>::PREPARED_POLYS, || NttPoly([0; 256]));
                assert!(!key.prepare_polys(&mut polys[1..]));
                assert!(key.prepare_polys(&mut polys));
                polys
            })
            .collect();
        let packed: Vec<Vec<PackedPoly>> = wide
            .iter()
            .map(|polys| polys.iter().map(PackedPoly::from).collect())
            .collect();
        assert!(
            cold[0]
                .prepared_at(Expansion::Wide(&wide[0][1..]))
                .is_none()
        );
        let prepared = |key: usize, rows| {
            let key = cold[key].prepared_at(rows);
            key.expect("the right number of polynomials")
        };
        let item = |n: usize, form: Form| {
            let case = &cases[n % cases.len()];
            let ctx = Context::new(&case.ctx).expect("valid");
            let message = JobMessage::Pure(ctx, &case.message);
            let rows = match form {
                Form::Wide => Expansion::Wide(&wide[case.key]),
                Form::Packed => Expansion::Packed(&packed[case.key]),
                Form::Cold => {
                    return Verification::unprepared(&cold[case.key], message, &case.signature);
                }
            };
            Verification::prepared(prepared(case.key, rows), message, &case.signature)
        };
        for case in &cases {
            let ctx = Context::new(&case.ctx).expect("valid");
            let at = (backend, P::NAME, case.message.len());
            let verdicts = [
                cold[case.key].verify_with_context(&case.message, ctx, &case.signature),
                cold[case.key]
                    .prepare()
                    .verify_with_context(&case.message, ctx, &case.signature),
                prepared(case.key, Expansion::Packed(&packed[case.key])).verify_with_context(
                    &case.message,
                    ctx,
                    &case.signature,
                ),
            ];
            assert_eq!(verdicts, [case.expected; 3], "{at:?}");
        }
        for group in 1..=17 {
            for first in 0..cases.len() {
                // All of one form, or the forms in turn.
                for kind in 0..=FORMS.len() {
                    let form = |n: usize| *FORMS.get(kind).unwrap_or(&FORMS[(n + first) % 3]);
                    // Cold groups of every size once, not from every place.
                    if kind == 2 && first % 5 != 0 {
                        continue;
                    }
                    let mut results = vec![Err(VerifyError::SignatureLength); group];
                    verify_lanes(|n| item(first + n, form(n)), &mut results);
                    for (n, result) in results.iter().enumerate() {
                        let expected = cases[(first + n) % cases.len()].expected;
                        assert_eq!(
                            *result,
                            expected,
                            "{backend:?} {} {group} {first} {n} {:?}",
                            P::NAME,
                            form(n)
                        );
                    }
                }
            }
        }
    }
}

mod groups_of_any_size_agree_with_single_verification {
    use super::*;

    #[test]
    fn ml_dsa_44() {
        check::<MlDsa44>();
    }

    #[test]
    fn ml_dsa_65() {
        check::<MlDsa65>();
    }

    #[test]
    fn ml_dsa_87() {
        check::<MlDsa87>();
    }
}

#[test]
fn backends_have_names_and_can_be_pinned() {
    let names: Vec<_> = Backend::available().map(Backend::name).collect();
    assert_eq!(names[0], "portable");
    let simd: &[&str] = if cfg!(target_arch = "aarch64") {
        &["neon", "neon-sha3"]
    } else {
        &["avx2", "avx512"]
    };
    for name in simd {
        if !names.contains(name) {
            eprintln!("not run: this CPU has no {name}");
        }
    }
    for backend in Backend::available() {
        assert_eq!(Backend::from_name(backend.name()), Some(backend));
        let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
        assert_eq!(key.verifying_key().backend(), Backend::detect());
        let pinned = key.with_backend(backend);
        assert_eq!(pinned.verifying_key().backend(), backend);
    }
    assert_eq!(Backend::from_name("abacus"), None);
}
