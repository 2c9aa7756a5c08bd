//! One vector or more for every reject class of the validity contract
//! (`docs/validity.md`), given to every verifier, the model and the peers.

use mldsa_kat::scheme::{Message, Reason};
use mldsa_kat::set::Set;
use mldsa_kat::tally::Tally;
use serde_json::Value;

use crate::all_verifiers::AllVerifiers;

for_each_set!(reject_classes);

const FILE: &str = include_str!("../../data/reject-classes.json");

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap_or_default()).expect("hex")
}

fn reject_classes(set: &'static Set) {
    let sets: Vec<Value> = serde_json::from_str(FILE).expect("JSON");
    let vectors = sets.iter().find(|vectors| vectors["set"] == set.name);
    let vectors = vectors.expect("every set");
    let cases = vectors["cases"].as_array().expect("cases");
    let verifiers = AllVerifiers::new(set);
    let mut tally = Tally::new(format!("reject classes, {}", set.name));
    for case in cases {
        let [mut pk, mut ctx, mut msg, mut sig] =
            ["pk", "ctx", "msg", "sig"].map(|field| bytes(&vectors[field]));
        for edit in case["edits"].as_array().expect("edits") {
            let field = match edit["field"].as_str() {
                Some("pk") => &mut pk,
                Some("ctx") => &mut ctx,
                Some("msg") => &mut msg,
                _ => &mut sig,
            };
            if let Some(len) = edit["len"].as_u64() {
                field.resize(usize::try_from(len).expect("a length"), 0);
            }
            let new = bytes(&edit["bytes"]);
            let at = usize::try_from(edit["at"].as_u64().unwrap_or(0)).expect("a place");
            field[at..at + new.len()].copy_from_slice(&new);
        }
        let want = match case["reason"].as_str() {
            None => Ok(()),
            Some("context_too_long") => Err(Reason::Context),
            Some("public_key_length") => Err(Reason::KeyLength),
            Some("signature_length") => Err(Reason::SignatureLength),
            Some("hint_encoding") => Err(Reason::HintEncoding),
            Some("response_norm") => Err(Reason::ResponseNorm),
            Some("challenge_mismatch") => Err(Reason::ChallengeMismatch),
            Some(_) => Err(Reason::Other),
        };
        let message = Message::pure(&ctx, &msg);
        tally.case(&case["what"], verifiers.agree(&pk, message, &sig, want));
    }
    tally.finish(34);
}
