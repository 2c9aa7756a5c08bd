//! Batches of signatures and of keys against those made one by one.

#![allow(clippy::unwrap_used, reason = "a test")]

use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreHash, PreHashed,
    PreparedSigningKey, Randomness, SignJob, SigningKey, no_alloc::BatchSignerScratch,
    no_alloc::PreparedSigningKeyStorage,
};
use proptest::prelude::*;

macro_rules! for_all_sets {
    ($($test:ident),+ $(,)?) => {$(mod $test {
        use super::*;

        #[test]
        fn ml_dsa_44() { generic::$test::<MlDsa44>() }
        #[test]
        fn ml_dsa_65() { generic::$test::<MlDsa65>() }
        #[test]
        fn ml_dsa_87() { generic::$test::<MlDsa87>() }
    })+};
}

for_all_sets! {
    any_number_of_messages,
    every_form_in_one_batch,
    memory_of_the_caller,
    a_callers_panic_loses_nothing,
    self_verification_changes_no_signature,
    keys_of_many_seeds,
}

/// Messages of all lengths around the ends of blocks.
fn message(n: usize) -> Vec<u8> {
    (0..n * 31 % 300).map(|i| (i * 7 + n) as u8).collect()
}

fn keys<P: ParameterSet>(count: u8) -> Vec<PreparedSigningKey<P>> {
    let key = |n| SigningKey::from_seed(&[n; 32]).prepare();
    (0..count).map(key).collect()
}

mod generic {
    use super::*;

    pub(super) fn any_number_of_messages<P: ParameterSet>() {
        let keys = keys::<P>(3);
        let messages: Vec<_> = (0..=40).map(message).collect();
        let rnds: Vec<_> = (0..=40).map(|n| [n; 32]).collect();
        let ctx = Context::new(b"batch").unwrap();
        let randomness = |n: usize| match n % 3 {
            0 => Randomness::Deterministic,
            _ => Randomness::Hedged(&rnds[n]),
        };
        let alone = |key: &PreparedSigningKey<P>, n: usize| {
            key.sign_with_context(&messages[n], ctx, randomness(n))
                .unwrap()
        };
        let of_first: Vec<_> = (0..=40).map(|n| alone(&keys[0], n)).collect();
        let of_any: Vec<_> = (0..=40).map(|n| alone(&keys[n % 3], n)).collect();
        for backend in Backend::available() {
            let mut signer = BatchSigner::new().with_backend(backend);
            for count in 0..=40 {
                for (expected, spread) in [(&of_first, 1), (&of_any, 3)] {
                    let jobs = (0..count).map(|n| {
                        let key = keys[n % spread].as_prepared_ref();
                        SignJob::new(key, &messages[n], ctx, randomness(n))
                    });
                    let mut seen = vec![0; count];
                    signer.sign(jobs, |n, signature| {
                        seen[n] += 1;
                        assert_eq!(signature.unwrap().as_ref(), expected[n].as_ref());
                    });
                    assert_eq!(seen, vec![1; count], "{backend:?}");
                }
            }
        }
        let jobs = |count: usize| (0..count).map(|n| (&messages[n][..], randomness(n)));
        for count in [0, 1, 9, 41] {
            let signatures = keys[0].sign_many(jobs(count), ctx).unwrap();
            assert_eq!(signatures, of_first[..count]);
        }
    }

    pub(super) fn every_form_in_one_batch<P: ParameterSet>() {
        let keys = keys::<P>(2);
        let (digest, rnd) = ([5; 64], [6; 32]);
        let digest = PreHashed::new(PreHash::Shake256, &digest).unwrap();
        let mu = Mu::from_bytes([9; 64]);
        let long = vec![3; 5000];
        let longest = [1; 255];
        let contexts = [&[][..], b"c", &longest].map(|ctx| Context::new(ctx).unwrap());
        let mut jobs = Vec::new();
        let mut expected = Vec::new();
        for key in &keys {
            for ctx in contexts {
                for randomness in [Randomness::Deterministic, Randomness::Hedged(&rnd)] {
                    let form = key.as_prepared_ref();
                    jobs.push(SignJob::new(form, &long, ctx, randomness));
                    expected.push(key.sign_with_context(&long, ctx, randomness));
                    jobs.push(SignJob::prehashed(form, &digest, ctx, randomness));
                    expected.push(key.sign_prehashed(&digest, ctx, randomness));
                    jobs.push(SignJob::mu(form, mu, randomness));
                    expected.push(key.sign_mu(&mu, randomness));
                    jobs.push(SignJob::new(form, b"", ctx, randomness));
                    expected.push(key.sign_with_context(b"", ctx, randomness));
                }
            }
        }
        for backend in Backend::available() {
            let mut signed = 0;
            let mut signer = BatchSigner::new().with_backend(backend);
            signer.sign(jobs.iter().copied(), |n, signature| {
                let expected = expected[n].as_ref().unwrap();
                assert_eq!(signature.unwrap().as_ref(), expected.as_ref(), "{n}");
                signed += 1;
            });
            assert_eq!(signed, jobs.len());
        }
    }

    pub(super) fn memory_of_the_caller<P: ParameterSet>() {
        let key = SigningKey::<P>::from_seed(&[8; 32]);
        let mut memory = PreparedSigningKeyStorage::new();
        let prepared = key.prepare_in(&mut memory);
        assert_eq!(prepared.verifying_key(), key.verifying_key());
        let messages: Vec<_> = (0..20).map(message).collect();
        let ctx = Context::EMPTY;
        let mut memory = Box::new(BatchSignerScratch::<P>::ZERO);
        let mut signer = BatchSigner::new_in(&mut memory);
        for randomness in [Randomness::Deterministic, Randomness::Hedged(&[3; 32])] {
            let jobs = messages
                .iter()
                .map(|message| SignJob::new(prepared, message, ctx, randomness));
            let mut signed = 0;
            signer.sign(jobs, |n, signature| {
                let expected = key
                    .sign_with_context(&messages[n], ctx, randomness)
                    .unwrap();
                assert_eq!(signature.unwrap().as_ref(), expected.as_ref());
                let mut alone = vec![0; P::SIG_LEN];
                prepared
                    .sign_into(&messages[n], ctx, randomness, &mut alone)
                    .unwrap();
                assert_eq!(alone, expected.as_ref());
                signed += 1;
            });
            assert_eq!(signed, messages.len());
        }
    }

    /// After a panic in either of the caller's functions the signer works as before.
    pub(super) fn a_callers_panic_loses_nothing<P: ParameterSet>() {
        let keys = keys::<P>(1);
        let (signing, key) = (&keys[0], keys[0].as_prepared_ref());
        let job = || SignJob::mu(key, Mu::from_bytes([1; 64]), Randomness::Deterministic);
        let expected = signing.sign_mu(&Mu::from_bytes([1; 64]), Randomness::Deterministic);
        let mut signer = BatchSigner::new();
        for limit in 0..12 {
            let calls = core::panic::AssertUnwindSafe(|| {
                let jobs = (0..12).map(|n| {
                    assert!(n != limit, "as the test wants it");
                    job()
                });
                signer.sign(jobs, |_, _| {});
            });
            assert!(std::panic::catch_unwind(calls).is_err());
            let mut signed = 0;
            let calls = core::panic::AssertUnwindSafe(|| {
                signer.sign((0..12).map(|_| job()), |_, _| {
                    assert!(signed != limit, "as the test wants it");
                    signed += 1;
                });
            });
            assert!(std::panic::catch_unwind(calls).is_err());
        }
        signer.sign([job()], |_, signature| {
            assert_eq!(
                signature.unwrap().as_ref(),
                expected.as_ref().unwrap().as_ref()
            );
        });
    }

    pub(super) fn keys_of_many_seeds<P: ParameterSet>() {
        let seeds: Vec<_> = (0..20).map(|n| [n; 32]).collect();
        let alone: Vec<_> = seeds.iter().map(SigningKey::<P>::from_seed).collect();
        for count in 0..=20 {
            let keys = SigningKey::<P>::from_seeds(&seeds[..count]);
            assert_eq!(keys, alone[..count]);
            for (key, alone) in keys.iter().zip(&alone) {
                assert_eq!(key.seed(), alone.seed());
                assert_eq!(key.verifying_key(), alone.verifying_key());
                assert_eq!(key.verifying_key().tr(), alone.verifying_key().tr());
            }
        }
    }

    pub(super) fn self_verification_changes_no_signature<P: ParameterSet>() {
        let mut key = SigningKey::<P>::from_seed(&[4; 32]);
        let verifying = key.prepare();
        key.set_self_verification(false);
        let plain = key.prepare();
        let messages: Vec<_> = (0..9).map(message).collect();
        let jobs = || messages.iter().map(|m| (&m[..], Randomness::Deterministic));
        assert_eq!(
            verifying.sign_many(jobs(), Context::EMPTY).unwrap(),
            plain.sign_many(jobs(), Context::EMPTY).unwrap()
        );
    }
}

#[test]
fn memory_is_as_documented() {
    let of_44 = (
        BatchSignerScratch::<MlDsa44>::LEN,
        PreparedSigningKeyStorage::<MlDsa44>::LEN,
    );
    let of_65 = (
        BatchSignerScratch::<MlDsa65>::LEN,
        PreparedSigningKeyStorage::<MlDsa65>::LEN,
    );
    let of_87 = (
        BatchSignerScratch::<MlDsa87>::LEN,
        PreparedSigningKeyStorage::<MlDsa87>::LEN,
    );
    assert_eq!(of_44, (94_720, 28_672));
    assert_eq!(of_65, (126_464, 48_128));
    assert_eq!(of_87, (169_984, 80_896));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    // Any mixture of keys, lengths, contexts and randomness.
    #[test]
    fn any_mixture(jobs in prop::collection::vec(
        (0usize..3, prop::collection::vec(any::<u8>(), 0..400),
         prop::collection::vec(any::<u8>(), 0..=255), any::<Option<[u8; 32]>>()),
        0..24,
    )) {
        let keys = keys::<MlDsa44>(3);
        let parts = |n: usize| {
            let (key, message, ctx, rnd) = &jobs[n];
            let randomness = rnd.as_ref().map_or(Randomness::Deterministic, Randomness::Hedged);
            (&keys[*key], &message[..], Context::new(ctx).unwrap(), randomness)
        };
        let mut left = jobs.len();
        let form = |n| {
            let (key, message, ctx, randomness) = parts(n);
            SignJob::new(key.as_prepared_ref(), message, ctx, randomness)
        };
        BatchSigner::new().sign((0..jobs.len()).map(form), |n, signature| {
            let (key, message, ctx, randomness) = parts(n);
            let expected = key.sign_with_context(message, ctx, randomness).unwrap();
            assert_eq!(signature.unwrap().as_ref(), expected.as_ref());
            left -= 1;
        });
        prop_assert_eq!(left, 0);
    }
}
