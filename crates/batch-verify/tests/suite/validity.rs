//! The validity contract of `docs/validity.md`: a file with one vector or more
//! for every reject class, and the same verdict on each from every way to
//! verify.
//!
//! `UPDATE_VECTORS=1 cargo test -p batch-verify --test suite validity` writes the file.

mod cases;

use std::path::Path;

use batch_verify::{
    BatchVerifier, Committee, CommitteeVerifier, Item, KeyStorage, RejectReason, Report, Threads,
    Vote,
};
use mldsa_core::internals::{JobMessage, Verification, verify_lanes};
use mldsa_core::{
    Backend, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, VerifyingKey,
};
use serde_json::{Value, json};

use self::cases::{Input, set};

const FILE: &str = "../../tests/kat/data/reject-classes.json";

#[test]
fn the_file_is_what_this_program_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let sets = json!([set::<MlDsa44>(), set::<MlDsa65>(), set::<MlDsa87>()]);
    let text = serde_json::to_string_pretty(&sets).unwrap() + "\n";
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// The edited input of a vector.
fn edited(base: &Input, case: &Value) -> Input {
    let mut input = base.clone();
    for edit in case["edits"].as_array().unwrap() {
        let field = match edit["field"].as_str().unwrap() {
            "pk" => &mut input.pk,
            "ctx" => &mut input.ctx,
            "msg" => &mut input.msg,
            _ => &mut input.sig,
        };
        if let Some(len) = edit["len"].as_u64() {
            field.resize(len as usize, 0);
        }
        if let Some(bytes) = edit["bytes"].as_str() {
            let bytes = hex::decode(bytes).unwrap();
            let at = edit["at"].as_u64().unwrap() as usize;
            field[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
    input
}

fn check<P: ParameterSet>(set: &Value) -> usize {
    let bytes = |name: &str| hex::decode(set[name].as_str().unwrap()).unwrap();
    let base = Input {
        pk: bytes("pk"),
        ctx: bytes("ctx"),
        msg: bytes("msg"),
        sig: bytes("sig"),
    };
    let cases = set["cases"].as_array().unwrap();
    let inputs: Vec<Input> = cases.iter().map(|case| edited(&base, case)).collect();
    let reasons: Vec<Option<&str>> = cases.iter().map(|case| case["reason"].as_str()).collect();
    for backend in Backend::available() {
        for ((case, input), reason) in cases.iter().zip(&inputs).zip(&reasons) {
            let at = format!("{} {} {}", P::NAME, backend.name(), case["what"]);
            let Ok(ctx) = Context::new(&input.ctx) else {
                assert_eq!(*reason, Some("context_too_long"), "{at}");
                continue;
            };
            let Ok(key) = VerifyingKey::<P>::from_bytes(&input.pk) else {
                assert_eq!(*reason, Some("public_key_length"), "{at}");
                continue;
            };
            let key = key.with_backend(backend);
            let prepared = key.prepare();
            // One by one: cold, prepared, decoded first.
            let decoded = Signature::<P>::from_bytes(&input.sig)
                .and_then(|sig| key.verify_with_context(&input.msg, ctx, &sig));
            for result in [
                key.verify_with_context(&input.msg, ctx, &input.sig),
                prepared.verify_with_context(&input.msg, ctx, &input.sig),
                decoded,
            ] {
                let name = result
                    .err()
                    .map(|error| batch_verify::RejectReason::from(error).name());
                assert_eq!(name, *reason, "{at}");
            }
            // In lanes, between good neighbours.
            let good_key = VerifyingKey::<P>::from_bytes(&base.pk)
                .unwrap()
                .with_backend(backend);
            let good_prepared = good_key.prepare();
            let encoded = P::PublicKeyBytes::try_from(&input.pk).ok().unwrap();
            for form in 0..3 {
                for place in [0, 3, 8] {
                    let mut results = [Ok(()); 9];
                    verify_lanes(
                        |n| {
                            let input = if n == place { input } else { &base };
                            let context = Context::new(&input.ctx).unwrap();
                            let message = JobMessage::Pure(context, &input.msg);
                            let signature = &input.sig;
                            if n != place {
                                let key = good_prepared.as_prepared_ref();
                                return Verification::prepared(key, message, signature);
                            }
                            match form {
                                0 => {
                                    let key = prepared.as_prepared_ref();
                                    Verification::prepared(key, message, signature)
                                }
                                1 => Verification::unprepared(&key, message, signature),
                                _ => Verification::encoded(backend, &encoded, message, signature),
                            }
                        },
                        &mut results,
                    );
                    for (n, result) in results.into_iter().enumerate() {
                        let name = result
                            .err()
                            .map(|error| batch_verify::RejectReason::from(error).name());
                        assert_eq!(
                            name,
                            if n == place { *reason } else { None },
                            "{at} lane {n}"
                        );
                    }
                }
            }
        }
        // All of them in one batch, by key and by member. Members sign under one context, so
        // each context has a committee.
        let usable: Vec<(&Input, Option<&str>)> = inputs
            .iter()
            .zip(reasons.iter().copied())
            .filter(|(input, _)| input.ctx.len() <= 255)
            .collect();
        let check = |report: &Report, usable: &[(&Input, Option<&str>)], at: &str| {
            assert_eq!(report.verdicts().len(), usable.len());
            for (verdict, (_, reason)) in report.verdicts().iter().zip(usable) {
                let name = verdict.err().map(|reason| reason.name());
                assert_eq!(name, *reason, "{} {} {at}", P::NAME, backend.name());
            }
            assert_eq!(report.skipped(), 0);
        };
        let mut members: Vec<&[u8]> = usable.iter().map(|(input, _)| &*input.pk).collect();
        members.retain(|key| key.len() == P::PK_LEN);
        members.sort_unstable();
        members.dedup();
        let mut contexts: Vec<&[u8]> = usable.iter().map(|(input, _)| &*input.ctx).collect();
        contexts.sort_unstable();
        contexts.dedup();
        for threads in [Threads::Inline, Threads::Dedicated(2)] {
            let builder = BatchVerifier::<P>::builder().backend(backend);
            let verifier = builder.threads(threads.clone()).build().unwrap();
            let items = usable.iter().map(|(input, _)| {
                let context = Context::new(&input.ctx).unwrap();
                Item::new(&input.pk[..], context, &input.msg[..], &input.sig)
            });
            for _ in 0..2 {
                check(&verifier.verify_batch(items.clone()), &usable, "by key");
            }
            for storage in [
                KeyStorage::BySize,
                KeyStorage::Packed,
                KeyStorage::Compact,
                KeyStorage::Lru { max_bytes: 1 << 20 },
            ] {
                let first = Committee::<P>::builder(contexts[0])
                    .key_storage(storage)
                    .backend(backend)
                    .build(members.iter().map(|key| (key, 1)))
                    .unwrap();
                let others = contexts[1..]
                    .iter()
                    .map(|ctx| first.with_context(ctx).unwrap());
                let committees: Vec<_> = [first.clone()].into_iter().chain(others).collect();
                let builder = CommitteeVerifier::builder().threads(threads.clone());
                let verifier = builder.build(first.clone()).unwrap();
                let verifier = committees[1..].iter().fold(verifier, |verifier, other| {
                    verifier.with_committee(other.clone())
                });
                let known: Vec<_> = usable
                    .iter()
                    .copied()
                    .filter(|(input, _)| input.pk.len() == P::PK_LEN)
                    .collect();
                let votes = known.iter().map(|(input, _)| {
                    let mut committees = committees.iter();
                    let committee = committees.find(|c| c.context() == input.ctx).unwrap();
                    let member = committee.member_of(&input.pk).unwrap();
                    Vote::new(member, &input.msg[..], &input.sig)
                });
                for _ in 0..2 {
                    let at = format!("{storage:?}");
                    check(&verifier.verify_batch(votes.clone()), &known, &at);
                }
            }
        }
    }
    for reason in [
        "context_too_long",
        "public_key_length",
        "signature_length",
        "hint_encoding",
        "response_norm",
        "challenge_mismatch",
    ] {
        assert!(reasons.contains(&Some(reason)), "{reason}");
    }
    cases.len()
}

#[test]
fn every_way_to_verify_gives_the_verdict_of_the_vector() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let sets: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let sets = sets.as_array().unwrap();
    assert_eq!(sets.len(), 3);
    let counts = [
        check::<MlDsa44>(&sets[0]),
        check::<MlDsa65>(&sets[1]),
        check::<MlDsa87>(&sets[2]),
    ];
    assert_eq!(counts, [34; 3]);
}

/// The tables of the page have every reason, and those of rules are in the order of the checks.
#[test]
fn every_reason_has_a_row() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validity.md");
    let page = std::fs::read_to_string(page).unwrap();
    let row = |reason: &RejectReason| {
        let cell = format!("| `{reason}` |");
        let mut rows = page.lines().filter(|line| line.starts_with("| "));
        rows.position(|row| row.contains(&cell)).expect(&cell)
    };
    let is_rule = |reason: &&RejectReason| {
        use RejectReason::{NotVerified, Other};
        ![Other, NotVerified].contains(*reason)
    };
    let (rules, others): (Vec<_>, Vec<_>) = RejectReason::ALL.iter().partition(is_rule);
    let rows: Vec<usize> = rules.into_iter().chain(others).map(row).collect();
    assert!(rows.is_sorted());
}
