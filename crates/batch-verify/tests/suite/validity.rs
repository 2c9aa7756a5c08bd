//! The validity contract of `docs/validity.md`: a file with one vector or more
//! for every reject class, and the same verdict on each from every way to
//! verify.
//!
//! `UPDATE_VECTORS=1 cargo test -p batch-verify --test suite validity` writes the file.

use std::path::Path;

use batch_verify::{BatchVerifier, Committee, Item, KeyStorage, Report, Threads, Vote};
use mldsa_core::internals::{JobMessage, Verification, verify_lanes};
use mldsa_core::{
    Backend, ByteArray, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, Signature,
    SigningKey, VerifyingKey,
};
use serde_json::{Value, json};

const FILE: &str = "../../tests/kat/data/reject-classes.json";
const CTX: &[u8] = b"validity/v1";
const MSG: &[u8] = b"a message that was signed";

/// Bytes of one verification.
#[derive(Clone)]
struct Input {
    pk: Vec<u8>,
    ctx: Vec<u8>,
    msg: Vec<u8>,
    sig: Vec<u8>,
}

/// Change of a vector to the valid input: `field` is cut or filled with
/// zeros to `len` bytes, then `bytes` go to `at`.
struct Edit {
    field: &'static str,
    len: Option<usize>,
    at: usize,
    bytes: Vec<u8>,
}

fn put(field: &'static str, at: usize, bytes: &[u8]) -> Edit {
    Edit {
        field,
        len: None,
        at,
        bytes: bytes.to_vec(),
    }
}

fn resize(field: &'static str, len: usize) -> Edit {
    Edit {
        field,
        len: Some(len),
        at: 0,
        bytes: Vec::new(),
    }
}

/// `(what, reason, edits)`; the reason of a valid input is `None`.
type Case = (&'static str, Option<&'static str>, Vec<Edit>);

fn valid<P: ParameterSet>() -> Input {
    let key = SigningKey::<P>::from_seed(&[0x5a; 32]);
    // The first message whose signature has two hints in the first polynomial
    // and room for one more, so that every fault of a hint can be made of it.
    for n in 0u8.. {
        let msg = [MSG, &[n]].concat();
        let ctx = Context::new(CTX).unwrap();
        let sig = key.sign(&msg, ctx, Randomness::Deterministic).unwrap();
        let (hint_at, omega) = hint::<P>();
        let hint = &sig.as_ref()[hint_at..];
        if hint[omega] >= 2 && usize::from(hint[omega + P::K - 1]) < omega {
            return Input {
                pk: key.verifying_key().as_bytes().as_ref().to_vec(),
                ctx: CTX.to_vec(),
                msg,
                sig: sig.as_ref().to_vec(),
            };
        }
    }
    unreachable!("256 messages without such a signature");
}

/// Offset of the hint, and omega.
fn hint<P: ParameterSet>() -> (usize, usize) {
    (P::SIG_LEN - P::PARAMS.omega - P::K, P::PARAMS.omega)
}

/// `bytes` of z with its first coefficient replaced by gamma1 - `packed`.
fn first_z<P: ParameterSet>(sig: &[u8], packed: u32) -> Edit {
    let bits = 1 + P::PARAMS.gamma1_bits;
    let at = P::C_TILDE_LEN;
    let old = u32::from_le_bytes(sig[at..at + 4].try_into().unwrap());
    let new = old >> bits << bits | packed;
    put("sig", at, &new.to_le_bytes())
}

const CONTEXT: &str = "context_too_long";
const KEY: &str = "public_key_length";
const LENGTH: &str = "signature_length";
const HINT: &str = "hint_encoding";
const NORM: &str = "response_norm";
const CHALLENGE: &str = "challenge_mismatch";

fn case(what: &'static str, reason: &'static str, edit: Edit) -> Case {
    (what, Some(reason), vec![edit])
}

fn cases<P: ParameterSet>(base: &Input) -> Vec<Case> {
    let sig = &base.sig;
    let (hint_at, omega) = hint::<P>();
    let hint = &sig[hint_at..];
    let count = usize::from(hint[omega + P::K - 1]);
    let counters = hint_at + omega;
    let (gamma1, beta) = (1u32 << P::PARAMS.gamma1_bits, P::PARAMS.beta() as u32);
    let flip = |at: usize| put("sig", at, &[sig[at] ^ 1]);
    let hint_fault = put("sig", P::SIG_LEN - 1, &[0xff]);
    let hint_fault_again = put("sig", P::SIG_LEN - 1, &[0xff]);
    let mut fewer = hint.to_vec();
    fewer[count - 1] = 0;
    let last = fewer[omega + P::K - 1];
    for counter in &mut fewer[omega..] {
        *counter = (*counter).min(last - 1);
    }
    vec![
        ("valid", None, vec![]),
        case("context of 256 bytes", CONTEXT, resize("ctx", 256)),
        case("key one byte short", KEY, resize("pk", P::PK_LEN - 1)),
        case("key one byte long", KEY, resize("pk", P::PK_LEN + 1)),
        case("empty key", KEY, resize("pk", 0)),
        case(
            "signature one byte short",
            LENGTH,
            resize("sig", P::SIG_LEN - 1),
        ),
        case(
            "signature one byte long",
            LENGTH,
            resize("sig", P::SIG_LEN + 1),
        ),
        case("empty signature", LENGTH, resize("sig", 0)),
        case("hint counter above omega", HINT, hint_fault),
        case(
            "hint counter below the one before",
            HINT,
            put("sig", counters + 1, &[hint[omega] - 1]),
        ),
        case(
            "two equal hint indices",
            HINT,
            put("sig", hint_at + 1, &hint[..1]),
        ),
        case(
            "hint indices in falling order",
            HINT,
            put("sig", hint_at, &[hint[1], hint[0]]),
        ),
        case(
            "unused hint byte not zero",
            HINT,
            put("sig", hint_at + omega - 1, &[1]),
        ),
        case("z = gamma1 - beta", NORM, first_z::<P>(sig, beta)),
        case(
            "z = beta - gamma1",
            NORM,
            first_z::<P>(sig, 2 * gamma1 - beta),
        ),
        case("z = gamma1", NORM, first_z::<P>(sig, 0)),
        case(
            "z = 1 - gamma1, the other end",
            NORM,
            first_z::<P>(sig, 2 * gamma1 - 1),
        ),
        case(
            "last coefficient of z",
            NORM,
            put("sig", hint_at - 3, &[0; 3]),
        ),
        case(
            "z = gamma1 - beta - 1, allowed",
            CHALLENGE,
            first_z::<P>(sig, beta + 1),
        ),
        case(
            "z = beta + 1 - gamma1, allowed",
            CHALLENGE,
            first_z::<P>(sig, 2 * gamma1 - beta - 1),
        ),
        case("first bit of the challenge", CHALLENGE, flip(0)),
        case(
            "last byte of the challenge",
            CHALLENGE,
            flip(P::C_TILDE_LEN - 1),
        ),
        case("a bit of z", CHALLENGE, flip(P::C_TILDE_LEN + 100)),
        case("one hint less", CHALLENGE, put("sig", hint_at, &fewer)),
        case(
            "another message",
            CHALLENGE,
            resize("msg", base.msg.len() + 1),
        ),
        case("empty message", CHALLENGE, resize("msg", 0)),
        case("empty context", CHALLENGE, resize("ctx", 0)),
        case("another context", CHALLENGE, put("ctx", 0, b"V")),
        case("a bit of rho", CHALLENGE, put("pk", 0, &[base.pk[0] ^ 1])),
        case("a bit of t1", CHALLENGE, put("pk", 40, &[base.pk[40] ^ 1])),
        (
            "all zero",
            Some("response_norm"),
            vec![resize("sig", 0), resize("sig", P::SIG_LEN)],
        ),
        (
            "hint and norm",
            Some("hint_encoding"),
            vec![first_z::<P>(sig, 0), hint_fault_again],
        ),
        (
            "norm and challenge",
            Some("response_norm"),
            vec![first_z::<P>(sig, 0), flip(0)],
        ),
        (
            "lengths of key and signature",
            Some("public_key_length"),
            vec![resize("sig", 5), resize("pk", 5)],
        ),
    ]
}

fn set<P: ParameterSet>() -> Value {
    let base = valid::<P>();
    let cases: Vec<Value> = cases::<P>(&base)
        .iter()
        .map(|(what, reason, edits)| {
            let edits: Vec<Value> = edits
                .iter()
                .map(|edit| {
                    let mut value = json!({ "field": edit.field });
                    if let Some(len) = edit.len {
                        value["len"] = len.into();
                    }
                    if !edit.bytes.is_empty() {
                        value["at"] = edit.at.into();
                        value["bytes"] = hex::encode(&edit.bytes).into();
                    }
                    value
                })
                .collect();
            json!({ "what": what, "reason": reason, "edits": edits })
        })
        .collect();
    json!({
        "set": P::NAME,
        "pk": hex::encode(&base.pk),
        "ctx": hex::encode(&base.ctx),
        "msg": hex::encode(&base.msg),
        "sig": hex::encode(&base.sig),
        "cases": cases,
    })
}

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
                .and_then(|sig| key.verify(&input.msg, ctx, sig.as_ref()));
            for result in [
                key.verify(&input.msg, ctx, &input.sig),
                prepared.verify(&input.msg, ctx, &input.sig),
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
            let encoded = P::PublicKeyBytes::from_slice(&input.pk).unwrap();
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
                                _ => Verification::encoded(backend, encoded, message, signature),
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
        let builder = |threads: &Threads| {
            BatchVerifier::<P>::builder()
                .backend(backend)
                .threads(threads.clone())
        };
        for threads in [Threads::Inline, Threads::Dedicated(2)] {
            let verifier = builder(&threads).build().unwrap();
            let items = usable.iter().map(|(input, _)| {
                let context = Context::new(&input.ctx).unwrap();
                Item::new(&input.pk[..], context, &input.msg[..], &input.sig)
            });
            for _ in 0..2 {
                check(&verifier.verify(items.clone()), &usable, "by key");
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
                let verifier = builder(&threads).build_for(first.clone()).unwrap();
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
                    check(&verifier.verify(votes.clone()), &known, &at);
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
