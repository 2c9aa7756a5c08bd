//! The program that the instruction gate runs under Callgrind: every main
//! operation once, each counted alone. Signing is counted where the first
//! attempt is accepted.

use core::hint::black_box;

use mldsa_core::internals::{self, AttemptRejection, Zeroed};
use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    Backend, BatchSigner, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness, SignJob,
    SigningKey,
};
use mldsa_gates::valgrind::{self, count_instructions};

fn main() {
    if !valgrind::is_running() {
        eprintln!("to be run by: cargo run -p mldsa-gates -- counts");
        std::process::exit(2);
    }
    for backend in Backend::available() {
        operations::<MlDsa44>(backend);
        operations::<MlDsa65>(backend);
        operations::<MlDsa87>(backend);
    }
}

fn operations<P: ParameterSet>(backend: Backend) {
    let xi = [42; 32];
    let count = |operation: &str, run: &mut dyn FnMut()| {
        count_instructions(&format!("{} {} {operation}", backend.name(), P::NAME), run);
    };
    let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
    count("keygen", &mut || {
        internals::keygen_internal::<P>(backend, black_box(&xi), &mut pk, &mut sk);
    });
    let xis = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| [n; 32]);
    let mut pks = [const { P::PublicKeyBytes::ZEROED }; 8];
    let mut sks = [const { P::SecretKeyBytes::ZEROED }; 8];
    let keys = xis.iter().zip(&mut pks).zip(&mut sks);
    let mut keys: Vec<_> = keys.map(|((xi, pk), sk)| (xi, pk, sk)).collect();
    count("keygen of eight", &mut || {
        internals::keygen_many::<P>(backend, black_box(&mut keys));
    });
    count("import, checked", &mut || {
        let checked = internals::check_expanded::<P>(backend, black_box(sk.as_ref()), &mut pk);
        assert_eq!(checked, Ok(()));
    });

    let mut key = SigningKey::<P>::from_seed(&xi).with_backend(backend);
    // Verification has rows of its own.
    key.set_self_verification(false);
    let vk = key.verifying_key();
    let mu = accepted_at_once(&key);
    let mut out = P::SignatureBytes::zeroed();
    count("sign, one attempt", &mut || {
        let signed = key.sign_mu_into(black_box(&mu), Randomness::Deterministic, out.as_mut());
        assert_eq!(signed, Ok(()));
    });
    let mut prepared = None;
    count("prepare signing key", &mut || {
        prepared = Some(black_box(&key).prepare())
    });
    if let Some(prepared) = prepared {
        count("sign prepared, one attempt", &mut || {
            let signed =
                prepared.sign_mu_into(black_box(&mu), Randomness::Deterministic, out.as_mut());
            assert_eq!(signed, Ok(()));
        });
        let job = SignJob::mu(prepared.as_prepared_ref(), mu, Randomness::Deterministic);
        let mut signer = BatchSigner::new().with_backend(backend);
        count("sign eight, one attempt each", &mut || {
            let mut signed = 0;
            signer.sign(black_box([job; 8]), |_, signature| {
                signed += usize::from(signature.is_ok_and(|s| s.as_ref() == out.as_ref()));
            });
            assert_eq!(signed, 8);
        });
    }
    count("verify", &mut || {
        assert_eq!(vk.verify_mu(black_box(&mu), &out), Ok(()));
    });
    let mut prepared = None;
    count("prepare verifying key", &mut || {
        prepared = Some(black_box(vk).prepare())
    });
    if let Some(prepared) = prepared {
        count("verify prepared", &mut || {
            assert_eq!(prepared.verify_mu(black_box(&mu), &out), Ok(()));
        });
    }
}

/// The first of a row of messages that needs one attempt.
fn accepted_at_once<P: ParameterSet>(key: &SigningKey<P>) -> Mu {
    let mut out = P::SignatureBytes::zeroed();
    (0..=255)
        .map(|n| Mu::from_bytes([n; 64]))
        .find(|mu| {
            let mut rejected = 0;
            let mut observe = |_: AttemptRejection| rejected += 1;
            let signed = internals::sign_mu_observed(
                key,
                mu,
                Randomness::Deterministic,
                out.as_mut(),
                &mut observe,
            );
            signed == Ok(()) && rejected == 0
        })
        .expect("one of 256")
}
