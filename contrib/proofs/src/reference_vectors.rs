//! The reference against ACVP and Wycheproof, in the folder that `MLDSA_VECTORS` names.

use std::path::Path;

use mldsa_kat::hash::Hash;
use mldsa_kat::model::format_message;
use mldsa_kat::scheme::Message;
use mldsa_kat::set::{SETS, Set};
use mldsa_kat::vectors::{Fields, folder, json};
use serde_json::Value;

use crate::parallel;
use crate::scheme::{in_range, keygen, mu, sign, tr, verify};

/// A name and what is to be true.
type Case = (String, Box<dyn Fn() -> bool + Send + Sync>);

/// Runs all cases whether all are as expected.
pub(crate) fn compare() -> Result<bool, String> {
    let Some(folder) = folder("reference") else {
        return Ok(false);
    };
    let mut cases = Vec::new();
    for set in SETS {
        key_cases(&folder, set, &mut cases);
        for name in ["sigGen", "sigGen-tr1"] {
            siggen(&folder, set, name, &mut cases)?;
        }
        sigver(&folder, set, &mut cases);
        for kind in ["sign_seed", "sign_noseed", "verify"] {
            wycheproof(&folder, set, kind, &mut cases);
        }
    }
    let bad = parallel::map(cases.len(), |n| {
        let check = core::panic::AssertUnwindSafe(&cases[n].1);
        !std::panic::catch_unwind(check).unwrap_or(false)
    })?;
    let bad: Vec<_> = (0..cases.len()).filter(|&n| bad[n]).collect();
    bad.iter()
        .for_each(|&n| println!("differs: {}", cases[n].0));
    println!(
        "reference: {} of {} cases of ACVP and Wycheproof agree",
        cases.len() - bad.len(),
        cases.len()
    );
    Ok(bad.is_empty() && !cases.is_empty())
}

/// The groups and tests of a set in an ACVP file.
fn tests(file: &Value, set: &'static Set) -> Vec<(Value, Value)> {
    file.list("testGroups")
        .iter()
        .filter(|group| group.text("parameterSet") == set.name)
        .flat_map(|group| {
            let mut head = group.clone();
            head["tests"] = Value::Null;
            let pair = move |test: &Value| (head.clone(), test.clone());
            group.list("tests").iter().map(pair)
        })
        .collect()
}

/// mu of an ACVP test, with tr from its public or private key.
fn acvp_mu(group: &Value, test: &Value, tr: &[u8]) -> Vec<u8> {
    if group.text("signatureInterface") == "internal" {
        return if group.flag("externalMu") {
            test.bytes("mu")
        } else {
            mu(tr, &test.bytes("message"))
        };
    }
    let (ctx, msg) = (
        test.maybe_bytes("context").unwrap_or_default(),
        test.bytes("message"),
    );
    let formatted = if group.text("preHash") == "pure" {
        format_message(Message::Pure {
            ctx: &ctx,
            msg: &msg,
        })
    } else {
        let hash = Hash::named(test.text("hashAlg"));
        format_message(Message::PreHashed {
            ctx: &ctx,
            hash,
            digest: &hash.digest(&msg),
        })
    };
    mu(tr, &formatted.unwrap_or_default())
}

fn key_cases(folder: &Path, set: &'static Set, cases: &mut Vec<Case>) {
    let file = json(&folder.join("acvp/keyGen-internalProjection.json.gz"));
    for (_, test) in tests(&file, set) {
        let name = format!("ACVP keyGen {}", test.number("tcId"));
        let check =
            move || keygen(set, &test.bytes("seed")) == (test.bytes("pk"), test.bytes("sk"));
        cases.push((name, Box::new(check)));
    }
}

fn siggen(
    folder: &Path,
    set: &'static Set,
    file: &str,
    cases: &mut Vec<Case>,
) -> Result<(), String> {
    let prompt = json(&folder.join(format!("acvp/{file}-prompt.json.gz")));
    let expected = json(&folder.join(format!("acvp/{file}-expectedResults.json.gz")));
    for (group, test) in tests(&prompt, set) {
        let id = test.number("tcId");
        let signature = expected
            .list("testGroups")
            .iter()
            .flat_map(|group| group.list("tests"))
            .find(|test| test.number("tcId") == id)
            .ok_or("no result of a test")?
            .bytes("signature");
        let check = move || {
            let sk = match test.maybe_bytes("seed") {
                Some(seed) => keygen(set, &seed).1,
                None => test.bytes("sk"),
            };
            let mu = acvp_mu(&group, &test, &sk[64..128]);
            let rnd = test.maybe_bytes("rnd").unwrap_or_else(|| vec![0; 32]);
            in_range(set, &sk) && sign(set, &sk, &mu, &rnd) == signature
        };
        cases.push((format!("ACVP {file} {id}"), Box::new(check)));
    }
    Ok(())
}

fn sigver(folder: &Path, set: &'static Set, cases: &mut Vec<Case>) {
    let file = json(&folder.join("acvp/sigVer-internalProjection.json.gz"));
    for (group, test) in tests(&file, set) {
        let name = format!("ACVP sigVer {}", test.number("tcId"));
        let check = move || {
            let pk = test.bytes("pk");
            let mu = acvp_mu(&group, &test, &tr(&pk));
            verify(set, &pk, &mu, &test.bytes("signature")) == test.flag("testPassed")
        };
        cases.push((name, Box::new(check)));
    }
}

fn wycheproof(folder: &Path, set: &'static Set, kind: &str, cases: &mut Vec<Case>) {
    let file = format!("mldsa_{}_{kind}_test.json.gz", &set.name[7..]);
    let content = json(&folder.join("wycheproof").join(&file));
    for group in content.list("testGroups") {
        for test in group.list("tests") {
            let name = format!("Wycheproof {file} {}", test.number("tcId"));
            let (keys, test) = (
                ["privateSeed", "privateKey", "publicKey"].map(|key| group.maybe_bytes(key)),
                test.clone(),
            );
            cases.push((name, Box::new(move || wycheproof_case(set, &keys, &test))));
        }
    }
}

fn wycheproof_case(set: &'static Set, keys: &[Option<Vec<u8>>; 3], test: &Value) -> bool {
    let is_valid = test.text("result") == "valid";
    let message = |tr: &[u8]| match (test.maybe_bytes("msg"), test.maybe_bytes("mu")) {
        (Some(msg), _) => {
            let ctx = test.maybe_bytes("ctx").unwrap_or_default();
            let formatted = format_message(Message::Pure {
                ctx: &ctx,
                msg: &msg,
            });
            formatted.ok().map(|formatted| mu(tr, &formatted))
        }
        (None, given) => given,
    };
    let sk = match keys {
        [Some(seed), ..] if seed.len() == 32 => keygen(set, seed).1,
        [None, Some(sk), _] => sk.clone(),
        [None, None, Some(pk)] => {
            let verdict =
                message(&tr(pk)).is_some_and(|mu| verify(set, pk, &mu, &test.bytes("sig")));
            return verdict == is_valid;
        }
        _ => return !is_valid,
    };
    if !in_range(set, &sk) {
        return !is_valid;
    }
    let rnd = test.maybe_bytes("rnd").unwrap_or_else(|| vec![0; 32]);
    match message(&sk[64..128]) {
        Some(mu) if is_valid => sign(set, &sk, &mu, &rnd) == test.bytes("sig"),
        signed => signed.is_some() == is_valid,
    }
}
