//! An aggregate is an ordinary ML-DSA-87 signature: those of the files of `ml-adsa` and of
//! committees of several sizes, and changes of them, given to every verifier, the model and the
//! peers.

// The committee that signs in memory for the tests of the crate.
#[allow(dead_code, reason = "shared with other tests")]
#[path = "../../../../crates/mladsa-aggregate/tests/committee/mod.rs"]
mod committee;

use mldsa_kat::scheme::{Message, Verifier};
use mldsa_kat::set::ML_DSA_87;
use mldsa_kat::tally::{Tally, same};
use serde_json::Value;

use crate::all_verifiers::AllVerifiers;

/// An aggregate as an ordinary signature.
struct Signed {
    pk: Vec<u8>,
    ctx: Vec<u8>,
    msg: Vec<u8>,
    sig: Vec<u8>,
}

/// Cases for each aggregate.
const CASES: usize = 14;

impl Signed {
    /// Accepted, and rejected after a change to the signature, in each of its parts, to the
    /// message, the context or the key.
    fn check(&self, verifiers: &AllVerifiers, what: &str, tally: &mut Tally) {
        let Self { pk, ctx, msg, sig } = self;
        let verdict = |pk: &[u8], ctx: &[u8], msg: &[u8], sig: &[u8], valid: bool| {
            let message = Message::Pure { ctx, msg };
            let want = verifiers.model.verify(pk, message, sig);
            same("valid", want.is_ok(), valid)?;
            verifiers.agree(pk, message, sig, want)
        };
        let changed = |bytes: &[u8], at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1;
            bytes
        };
        tally.case(what, verdict(pk, ctx, msg, sig, true));
        // c_tilde, z, the hints and their counts.
        for at in [0, 63, 64, 2000, 4543, 4544, 4626] {
            let outcome = verdict(pk, ctx, msg, &changed(sig, at), false);
            tally.case(format!("{what}, signature, {at}"), outcome);
        }
        for at in [0, 32, 2591] {
            let outcome = verdict(&changed(pk, at), ctx, msg, sig, false);
            tally.case(format!("{what}, key, {at}"), outcome);
        }
        let outcome = verdict(pk, &changed(ctx, 0), msg, sig, false);
        tally.case(format!("{what}, context"), outcome);
        let outcome = verdict(pk, ctx, &changed(msg, 0), sig, false);
        tally.case(format!("{what}, message"), outcome);
        let longer = [msg, &[0][..]].concat();
        let outcome = verdict(pk, ctx, &longer, sig, false);
        tally.case(format!("{what}, longer message"), outcome);
    }
}

/// Every aggregate in a file, at whatever depth.
fn collect(file: &Value, found: &mut Vec<Signed>) {
    if let Some(sig) = file.get("sig") {
        let bytes = |value: &Value| hex::decode(value.as_str().expect("text")).expect("hex");
        // In consensus mode the participants' root follows the domain.
        let ctx = match file.get("fips_ctx") {
            Some(ctx) => bytes(ctx),
            None => file["ctx"].as_str().expect("text").into(),
        };
        found.push(Signed {
            pk: bytes(&file["pk"]),
            ctx,
            msg: bytes(&file["msg"]),
            sig: bytes(sig),
        });
    }
    match file {
        Value::Array(files) => files.iter().for_each(|file| collect(file, found)),
        Value::Object(files) => files.values().for_each(|file| collect(file, found)),
        _ => {}
    }
}

#[test]
fn of_the_files() {
    let verifiers = AllVerifiers::new(&ML_DSA_87);
    let mut tally = Tally::new("aggregates of the files");
    let mut aggregates = 0;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ml-adsa");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = std::fs::read(&path).expect("a file");
        let mut found = Vec::new();
        collect(&serde_json::from_slice(&text).expect("JSON"), &mut found);
        for (number, signed) in found.iter().enumerate() {
            signed.check(&verifiers, &format!("{name}, {number}"), &mut tally);
        }
        aggregates += found.len();
    }
    assert_eq!(aggregates, 10);
    tally.finish(aggregates * CASES);
}

#[test]
fn of_committees() {
    let verifiers = AllVerifiers::new(&ML_DSA_87);
    let mut tally = Tally::new("aggregates of committees");
    let sizes = [1, 2, 3, 16];
    for n in sizes {
        let mut group = committee::Group::new(n);
        let (aggregate, round) = group.sign(&group.all(), 0, b"payload");
        let signed = Signed {
            pk: round.aggregate_key().as_bytes().to_vec(),
            ctx: round.context().to_vec(),
            msg: round.message().to_vec(),
            sig: aggregate.signature().as_bytes().to_vec(),
        };
        signed.check(&verifiers, &format!("{n} members"), &mut tally);
    }
    tally.finish(sizes.len() * CASES);
}
