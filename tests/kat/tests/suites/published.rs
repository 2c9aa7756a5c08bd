//! The large published files, in the folder that `MLDSA_VECTORS` names. Each
//! suite prints the number of cases, or that it was not run.

use mldsa_kat::hash::Hash;
use mldsa_kat::model::Model;
use mldsa_kat::scheme::{KeyPair, Message, PrivateKey, Verifier};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};
use mldsa_kat::vectors::{Fields, folder, json, rejection_kats, rejection_rows};
use serde_json::Value;

use crate::{ours, peers};

for_each_set!(acvp_keygen, acvp_siggen, acvp_siggen_tr1, acvp_sigver, cctv);

fn acvp_keygen(set: &'static Set) {
    let Some(folder) = folder("ACVP keyGen") else {
        return;
    };
    let file = json(&folder.join("acvp/keyGen-internalProjection.json.gz"));
    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("ACVP keyGen, {}", scheme.name()));
        for (_, test) in tests(&file, set) {
            let want = KeyPair {
                pk: test.bytes("pk"),
                sk: test.bytes("sk"),
            };
            let got = scheme.load(PrivateKey::Seed(&test.bytes("seed")));
            let imported = scheme.load(PrivateKey::Expanded(&want.sk));
            tally.case(
                test.number("tcId"),
                same("from seed", &got, &Ok(want.clone()))
                    .and_then(|()| same("from expanded key", &imported, &Ok(want))),
            );
        }
        tally.finish(25);
    }
}

fn acvp_siggen(set: &'static Set) {
    siggen(set, "sigGen", 80);
}

fn acvp_siggen_tr1(set: &'static Set) {
    siggen(set, "sigGen-tr1", 160);
}

fn siggen(set: &'static Set, name: &str, cases: usize) {
    let Some(folder) = folder(&format!("ACVP {name}")) else {
        return;
    };
    let prompt = json(&folder.join(format!("acvp/{name}-prompt.json.gz")));
    let expected = json(&folder.join(format!("acvp/{name}-expectedResults.json.gz")));
    let signature = |id: usize| {
        let mut results = expected
            .list("testGroups")
            .iter()
            .flat_map(|g| g.list("tests"));
        results
            .find(|test| test.number("tcId") == id)
            .expect("a result")
            .bytes("signature")
    };
    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("ACVP {name}, {}", scheme.name()));
        for (group, test) in tests(&prompt, set) {
            let id = test.number("tcId");
            let outcome = with_message(group, test, |message| {
                let (seed, sk) = (test.maybe_bytes("seed"), test.maybe_bytes("sk"));
                let key = match (&seed, &sk) {
                    (Some(seed), None) => PrivateKey::Seed(seed),
                    (None, Some(sk)) => PrivateKey::Expanded(sk),
                    _ => return Err("expected one private key".to_owned()),
                };
                let rnd = test.maybe_array("rnd");
                same("rnd given", rnd.is_none(), group.flag("deterministic"))?;
                let sig = scheme.sign(key, message, rnd.as_ref());
                same("signature", &sig, &Ok(signature(id)))?;
                let pk = scheme.load(key)?.pk;
                same(
                    "verdict",
                    scheme.verify(&pk, message, &signature(id)),
                    Ok(()),
                )
            });
            tally.case(id, outcome);
        }
        tally.finish(cases);
    }
}

fn acvp_sigver(set: &'static Set) {
    let Some(folder) = folder("ACVP sigVer") else {
        return;
    };
    let file = json(&folder.join("acvp/sigVer-internalProjection.json.gz"));
    let model = Model(set);
    for verifier in ours::verifiers(set) {
        let mut tally = Tally::new(format!("ACVP sigVer, {}", verifier.name()));
        for (group, test) in tests(&file, set) {
            let (pk, sig) = (test.bytes("pk"), test.bytes("signature"));
            let outcome = with_message(group, test, |message| {
                let verdict = verifier.verify(&pk, message, &sig);
                same(
                    test.text("reason"),
                    verdict.is_ok(),
                    test.flag("testPassed"),
                )?;
                same("reason", verdict, model.verify(&pk, message, &sig))
            });
            tally.case(test.number("tcId"), outcome);
        }
        tally.finish(40);
    }
}

#[test]
fn acvp_rejection_tables() {
    let Some(folder) = folder("ACVP rejection tables") else {
        return;
    };
    // The suite itself runs from the checked-in copy; see `rejection`.
    let upstream = rejection_rows(&json(&folder.join("acvp/rejection-kats.json")));
    let mut tally = Tally::new("ACVP rejection tables, checked-in copy");
    for (i, (own, upstream)) in rejection_kats().iter().zip(&upstream).enumerate() {
        tally.equal(i, own, upstream);
    }
    tally.finish(27);
}

/// The benchmark messages, signed with the key from the all-zero seed, against
/// the signatures of `fips204`.
fn cctv(set: &'static Set) {
    let Some(folder) = folder("CCTV messages") else {
        return;
    };
    let level = &set.name[7..];
    let [peer, _] = peers::schemes(set);
    let pair = peer.load(PrivateKey::Seed(&[0; 32])).expect("a seed");
    let key = PrivateKey::Expanded(&pair.sk);
    for scheme in ours::schemes(set) {
        let mut tally = Tally::new(format!("CCTV messages, {}", scheme.name()));
        for file in [
            format!("sign-messages-{level}.json"),
            format!("sign-messages-{level}.alt.json"),
        ] {
            for text in json(&folder.join("cctv").join(file))
                .as_array()
                .expect("a list")
            {
                let msg = text.as_str().expect("a message");
                let message = Message::pure(b"", msg.as_bytes());
                let (sig, want) = (
                    scheme.sign(key, message, None),
                    peer.sign(key, message, None),
                );
                let check = || {
                    same("signature", &sig, &want)?;
                    same(
                        "verdict",
                        scheme.verify(&pair.pk, message, &sig.unwrap_or_default()),
                        Ok(()),
                    )
                };
                tally.case(msg, check());
            }
        }
        tally.finish(
            2 * match set.lambda {
                128 => 188,
                192 => 147,
                _ => 114,
            },
        );
    }
}

/// The tests of a set, with their groups.
fn tests<'a>(file: &'a Value, set: &'static Set) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    let groups = file.list("testGroups").iter();
    groups
        .filter(|group| group.text("parameterSet") == set.name)
        .flat_map(|group| group.list("tests").iter().map(move |test| (group, test)))
}

/// The input that an ACVP test signs.
fn with_message<T>(group: &Value, test: &Value, run: impl FnOnce(Message<'_>) -> T) -> T {
    let ctx = test.maybe_bytes("context").unwrap_or_default();
    if group.text("signatureInterface") == "internal" {
        return if group.flag("externalMu") {
            run(Message::Mu(&test.array("mu")))
        } else {
            run(Message::Formatted(&test.bytes("message")))
        };
    }
    let msg = test.bytes("message");
    match group.text("preHash") {
        "pure" => run(Message::pure(&ctx, &msg)),
        _ => {
            let hash = Hash::named(test.text("hashAlg"));
            run(Message::hashed(&ctx, hash, &hash.digest(&msg)))
        }
    }
}
