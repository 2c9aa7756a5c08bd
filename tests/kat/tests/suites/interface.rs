//! Interfaces that only `mldsa-core` has: its types, buffers and observer.

use mldsa_core::internals::{self, AttemptRejection, Zeroed, sign_mu_observed};
use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    Backend, Context, MessageError, Mu, ParameterSet, PreHash, PreHashed, Randomness, SignError,
    SigningKey,
};
use mldsa_kat::hash::{HASHES, Source};
use mldsa_kat::model;
use mldsa_kat::scheme::{Message, PrivateKey, Reason};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};
use mldsa_kat::vectors::rejection_kats;
use proptest::prelude::any;

use crate::differential::{flip, random};
use crate::peers;

for_each_type!(
    parameters,
    pre_hashes,
    rejections,
    buffers,
    range_check_alone,
    attempt_limit,
    repetitions,
);

fn set<P: ParameterSet>() -> &'static Set {
    Set::named(P::NAME)
}

fn parameters<P: ParameterSet>() {
    let (set, p) = (set::<P>(), P::PARAMS);
    let ours = Set {
        name: P::NAME,
        k: P::K,
        l: P::L,
        eta: p.eta.into(),
        tau: p.tau,
        gamma1_bits: p.gamma1_bits as usize,
        gamma2: p.gamma2.into(),
        omega: p.omega,
        lambda: P::LAMBDA,
        pk_len: P::PK_LEN,
        sk_len: P::SK_LEN,
        sig_len: P::SIG_LEN,
    };
    assert_eq!(&ours, set);
    assert_eq!(
        internals::MAX_SIGN_ATTEMPTS,
        821,
        "FIPS 204, appendix C, with NIST's list of updates"
    );
    assert_eq!(
        usize::from(P::CATEGORY),
        if set.lambda == 128 {
            2
        } else {
            set.lambda / 32 - 3
        }
    );
    assert_eq!(P::C_TILDE_LEN, set.c_tilde_len());
    assert_eq!(i64::from(p.gamma1() - p.beta() - 1), set.z_max());
}

fn pre_hashes<P: ParameterSet>() {
    // FIPS 204, section 5.4: at least lambda bits of collision strength.
    let strong: &[&str] = match P::LAMBDA {
        128 => &[
            "SHA2-256",
            "SHA2-384",
            "SHA2-512",
            "SHA2-512/256",
            "SHA3-256",
            "SHA3-384",
            "SHA3-512",
            "SHAKE-128",
            "SHAKE-256",
        ],
        192 => &["SHA2-384", "SHA2-512", "SHA3-384", "SHA3-512", "SHAKE-256"],
        _ => &["SHA2-512", "SHA3-512", "SHAKE-256"],
    };
    assert_eq!(
        PreHash::ALL.map(PreHash::name),
        HASHES.each_ref().map(|hash| hash.name)
    );
    for (ours, hash) in PreHash::ALL.into_iter().zip(&HASHES) {
        assert_eq!((ours.oid(), ours.digest_len()), (&hash.oid, hash.len));
        assert_eq!(hash.name.parse::<PreHash>().ok(), Some(ours));
        let accepted = PreHashed::<P>::new(ours, &[0; 64][..hash.len]).map(|_| ());
        let is_strong = strong.contains(&hash.name);
        assert_eq!(ours.is_strong_enough::<P>(), is_strong, "{}", hash.name);
        let want = if is_strong {
            Ok(())
        } else {
            Err(MessageError::WeakPreHash)
        };
        assert_eq!(accepted, want, "{}", hash.name);
        for len in (0..200).filter(|len| *len != hash.len) {
            let rejected = [PreHashed::<P>::new, PreHashed::new_allow_weak]
                .map(|new| new(ours, &[0; 200][..len]).err());
            assert_eq!(
                rejected,
                [Some(MessageError::DigestLength); 2],
                "{} of {len}",
                hash.name
            );
        }
    }
    for name in [
        "",
        "sha2-256",
        "SHA2-256 ",
        "SHA-256",
        "SHA2-512/25",
        "SHAKE128",
    ] {
        assert_eq!(name.parse::<PreHash>().ok(), None, "{name}");
    }
}

/// Every rejection happens at the line of algorithm 7 that the table gives, as often as it says.
/// The table counts z first and ours r0 first, so the two conditions of line 23 are compared as a sum.
fn rejections<P: ParameterSet>() {
    for backend in Backend::available() {
        let mut tally = Tally::new(format!("rejection reasons, {} {}", P::NAME, backend.name()));
        for (i, row) in rejection_kats()
            .iter()
            .filter(|row| row.set == set::<P>())
            .enumerate()
        {
            let key = SigningKey::<P>::from_seed(&row.seed).with_backend(backend);
            let mut counts = [0; 3];
            let mut observe = |rejection| {
                counts[match rejection {
                    AttemptRejection::Z | AttemptRejection::R0 => 0,
                    AttemptRejection::Ct0 => 1,
                    AttemptRejection::HintWeight => 2,
                }] += 1;
            };
            let (mu, mut sig) = (Mu::from_bytes(row.mu), P::SignatureBytes::zeroed());
            let outcome = sign_mu_observed(
                &key,
                &mu,
                Randomness::Deterministic,
                sig.as_mut(),
                &mut observe,
            );
            let [z, r0, ct0, hints] = row.rejections;
            tally.equal(i, (outcome, counts), (Ok(()), [z + r0, ct0, hints]));
        }
        tally.finish(if P::LAMBDA == 128 { 7 } else { 10 });
    }
}

/// Output buffers of wrong lengths: rejected, and left as they are.
fn buffers<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[1; 32]);
    let prepared = key.prepare();
    let (ctx, hedge, mu) = (
        Context::EMPTY,
        Randomness::Deterministic,
        Mu::from_bytes([2; 64]),
    );
    let digest = PreHashed::new(PreHash::Sha2_512, &[3; 64]).expect("a strong hash");
    let mut tally = Tally::new(format!("output buffers, {}", P::NAME));
    let mut memory = vec![0; 2 * P::SIG_LEN];
    let near = (0..100)
        .chain(P::SIG_LEN - 50..P::SIG_LEN)
        .chain(P::SIG_LEN + 1..P::SIG_LEN + 50);
    for len in near.chain([2 * P::SIG_LEN]) {
        let out = &mut memory[..len];
        let outcomes = [
            key.sign_into(b"m", ctx, hedge, out),
            key.sign_prehashed_into(&digest, ctx, hedge, out),
            key.sign_mu_into(&mu, hedge, out),
            prepared.sign_into(b"m", ctx, hedge, out),
            prepared.sign_prehashed_into(&digest, ctx, hedge, out),
            prepared.sign_mu_into(&mu, hedge, out),
            sign_mu_observed(&key, &mu, hedge, out, &mut |_| {}),
            internals::sign_internal(&key, b"m", hedge, out),
        ];
        tally.equal(len, outcomes, [Err(SignError::BufferLength); 8]);
    }
    tally.finish(100 + 50 + 49 + 1);
    assert!(
        memory.iter().all(|byte| *byte == 0),
        "nothing is written on an error"
    );
}

/// `internals::sign_mu_encoded` looks at the range of the secrets only, as `fips204` does:
/// the same signatures from keys whose parts do not belong together.
fn range_check_alone<P: ParameterSet>() {
    let set = set::<P>();
    let [peer, _] = peers::schemes(set);
    let good = SigningKey::<P>::from_seed(&[2; 32]);
    let strategy = (any::<usize>(), any::<[u8; 32]>());
    random("range check alone", set, 60, strategy, |(at, rnd)| {
        let mut sk = good.expanded().clone();
        flip(sk.as_mut(), at);
        let (mu, mut sig) = ([5; 64], P::SignatureBytes::zeroed());
        let key = PrivateKey::Expanded(sk.as_ref());
        let theirs = peer.sign(key, Message::Mu(&mu), Some(&rnd));
        let ours = internals::sign_mu_encoded::<P>(
            &sk,
            &Mu::from_bytes(mu),
            Randomness::Hedged(&rnd),
            &mut sig,
            &mut |_| {},
        );
        match ours {
            Ok(()) => same("signature", Ok(sig.as_ref().to_vec()), theirs),
            Err(error) => {
                same("error", error, SignError::Key)?;
                same("peer", theirs, Err(Reason::SecretRange))
            }
        }
    });
}

/// With every coefficient of t0 at an end of its range most attempts have too
/// many hints, so that some messages use up all attempts: an error, and nothing of a
/// rejected attempt left in the buffer. Where signing ends, it ends as in `fips204`, except
/// that `fips204` keeps the limit of 814 attempts from before NIST's list of updates.
fn attempt_limit<P: ParameterSet>() {
    let set = set::<P>();
    let [peer, _] = peers::schemes(set);
    let mut sk = SigningKey::<P>::from_seed(&[6; 32]).expanded().clone();
    let t0 = set.sk_len - 416 * set.k;
    let mut source = Source::new(b"signs");
    for row in sk.as_mut()[t0..].chunks_mut(416) {
        let ends = source
            .bytes(256)
            .into_iter()
            .map(|byte| i64::from(byte % 2) * 8191);
        let ends: Vec<_> = ends.collect();
        row.copy_from_slice(&model::pack(
            13,
            &ends.try_into().expect("256 coefficients"),
        ));
    }
    let mut tally = Tally::new(format!("attempt limit, {}", P::NAME));
    let mut exhausted = 0;
    for n in 0..12 {
        let (mu, mut sig) = ([n; 64], P::SignatureBytes::zeroed());
        sig.as_mut().fill(0xaa);
        let theirs = peer.sign(PrivateKey::Expanded(sk.as_ref()), Message::Mu(&mu), None);
        let mut rejected = 0;
        let ours = internals::sign_mu_encoded::<P>(
            &sk,
            &Mu::from_bytes(mu),
            Randomness::Deterministic,
            &mut sig,
            &mut |_| rejected += 1,
        );
        let check = || match ours {
            Ok(()) if rejected >= 814 => same("peer gives up", theirs.is_err(), true),
            Ok(()) => same("signature", Ok(sig.as_ref().to_vec()), theirs),
            Err(error) => {
                exhausted += 1;
                same("error", error, SignError::AttemptsExhausted)?;
                same("rejected attempts", rejected, internals::MAX_SIGN_ATTEMPTS)?;
                let untouched = [0, 0xaa].map(|fill| sig.as_ref().iter().all(|byte| *byte == fill));
                same("wiped or untouched", untouched.contains(&true), true)?;
                same("peer", theirs.is_err(), true)
            }
        };
        tally.case(n, check());
    }
    tally.finish(12);
    // Hints of ML-DSA-65 stay below the limit often enough.
    assert_eq!(
        exhausted > 0,
        P::LAMBDA != 192,
        "{exhausted} of 12 exhausted"
    );
}

/// The mean number of attempts is the number of repetitions of FIPS 204 table 1, as NIST's list
/// of updates corrects it.
fn repetitions<P: ParameterSet>() {
    const MESSAGES: usize = 4_000;
    let expected: f64 = match P::LAMBDA {
        128 => 4.36,
        192 => 5.14,
        _ => 3.91,
    };
    let key = SigningKey::<P>::from_seed(&[9; 32]).prepare();
    let mut source = Source::new(b"repetitions");
    let (mut attempts, mut sig) = (0_usize, P::SignatureBytes::zeroed());
    for _ in 0..MESSAGES {
        let mu = Mu::from_bytes(source.bytes(64).try_into().expect("64 bytes"));
        let observe = &mut |_| attempts += 1;
        let signed = key.sign_mu_observed(&mu, Randomness::Deterministic, sig.as_mut(), observe);
        assert_eq!(signed, Ok(()));
        attempts += 1;
    }
    let mean = attempts as f64 / MESSAGES as f64;
    mldsa_kat::tally::say(&format!(
        "attempts, {}: mean {mean:.2} of {MESSAGES} signatures, expected {expected}",
        P::NAME
    ));
    // The number of attempts is geometric; four standard errors of its mean.
    let standard_error = (expected * (expected - 1.0) / MESSAGES as f64).sqrt();
    assert!((mean - expected).abs() < 4.0 * standard_error, "{mean}");
}
