//! Logs that Go reads and writes: `logs write|read FOLDER`; `cosignatures`, figures.

use std::path::Path;

use mldsa_core::{Context, MlDsa44, Randomness, SigningKey, VerifyingKey};
use mldsa_tlog::{
    AddCheckpoint, Checkpoint, Cosigner, CosignerKey, Note, Policy, Proof, SignSubtree,
    SignedMessage, leaf_hash,
};

#[path = "../../../crates/mldsa-tlog/tests/suite/merkle.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the tests")]
mod merkle;

use merkle::{consistency, path, root, tree};

const SIZE: u64 = 13;

fn cosigner(name: &str) -> Cosigner {
    Cosigner::new(name, SigningKey::generate().unwrap()).unwrap()
}

/// A log of 13 entries, which are the numbers from 0 with 8 bytes each.
pub fn write(folder: &Path) {
    let (log, witness) = (
        cosigner("log.example/ours"),
        cosigner("witness.example/ours"),
    );
    let checkpoint = Checkpoint {
        origin: "log.example/ours",
        size: SIZE,
        root: root(0, SIZE),
    };
    let sign = |cosigner: &Cosigner, time, tree| {
        cosigner
            .sign(time, checkpoint.origin, &tree, Randomness::Hedged(&[7; 32]))
            .unwrap()
    };
    let lines =
        sign(&log, 0, checkpoint.tree()) + &sign(&witness, 1_790_000_000, checkpoint.tree());
    let note = format!("{checkpoint}\n{lines}");
    let proof = Proof {
        extra: Some(b"extra".to_vec()),
        index: 8,
        hashes: path(8, 0, SIZE),
        note: &note,
    };
    let request = AddCheckpoint {
        old_size: 5,
        proof: consistency(0, 5, 0, SIZE, true),
        note: &note,
    };
    let policy = format!(
        "# ours\nlog {}\nwitness w {} https://witness.example/\ngroup g any w\nquorum g\n",
        log.public(),
        witness.public()
    );
    for (name, text) in [
        ("note", &note),
        ("log.vkey", &log.public().to_string()),
        ("witness.vkey", &witness.public().to_string()),
        ("policy", &policy),
        ("subtree", &sign(&witness, 0, tree(8, SIZE))),
        ("proof", &proof.to_string()),
        ("request", &request.to_string()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// What Go wrote about the same entries.
pub fn read(folder: &Path) {
    let read = |name: &str| std::fs::read(folder.join(format!("go-{name}"))).unwrap();
    let (note, policy) = (read("note"), read("policy"));
    let policy = Policy::parse(&policy).unwrap();
    let note = Note::parse(&note).unwrap();
    let verified = policy.verify(&note).unwrap();
    assert_eq!(
        (verified.checkpoint.size, verified.checkpoint.root),
        (SIZE, root(0, SIZE))
    );
    assert_eq!(verified.witnesses.len(), 1);
    assert!(
        verified.witnesses[0].1 > 0,
        "torchwood's and formats' signatures have a time"
    );
    let (proof, request, subtree) = (read("proof"), read("request"), read("subtree"));
    let proof = Proof::parse(&proof).unwrap();
    proof
        .verify(&policy, &leaf_hash(&12u64.to_be_bytes()))
        .unwrap();
    assert!(
        proof
            .verify(&policy, &leaf_hash(&11u64.to_be_bytes()))
            .is_err()
    );
    let text = String::from_utf8(read("policy")).unwrap();
    let log = CosignerKey::parse(text.lines().next().unwrap().split(' ').nth(1).unwrap()).unwrap();
    let request = AddCheckpoint::parse(&request).unwrap();
    assert_eq!(
        request.check(|_| Some((&log, (5, root(0, 5))))),
        Ok(verified.checkpoint)
    );
    let request = SignSubtree::parse(&subtree).unwrap();
    assert_eq!(request.subtree, tree(8, 12));
    assert_eq!(request.check_consistency(), Ok(verified.checkpoint));
    let line = request
        .cosignatures()
        .next()
        .unwrap()
        .cosignature()
        .unwrap();
    log.verify("log.example/go", &request.subtree, &line)
        .unwrap();
    println!("this library read the log of Go");
}

/// Measures a note with the signatures of a log and of 16 known witnesses, and one cosignature, beside `ml-dsa`. Writes note and policy
/// for Go.
pub fn cosignatures(folder: &Path) {
    use ml_dsa::signature::{Signer, Verifier};
    type Theirs = ml_dsa::MlDsa44;

    let checkpoint = Checkpoint {
        origin: "log.example",
        size: SIZE,
        root: root(0, SIZE),
    };
    let names = (1..=16).map(|n| format!("witness.example/{n}"));
    let (mut policy, mut note) = (String::new(), format!("{checkpoint}\n"));
    let mut theirs = Vec::new();
    for (n, name) in ["log.example".into()].into_iter().chain(names).enumerate() {
        let cosigner = cosigner(&name);
        let (public, tree) = (cosigner.public(), checkpoint.tree());
        let line = cosigner.sign(1, checkpoint.origin, &tree, Randomness::Deterministic);
        note += &line.unwrap();
        policy += &match n {
            0 => format!("log {public}\n"),
            _ => format!("witness w{n} {public} https://{name}\n"),
        };
        let parsed = Note::parse(note.as_bytes()).unwrap();
        let signature = parsed.signatures().last().unwrap().cosignature().unwrap();
        theirs.push((
            ml_dsa::VerifyingKey::<Theirs>::decode(&(*public.verifying_key().as_bytes()).into()),
            SignedMessage::new(&name, 1, checkpoint.origin, &tree).unwrap(),
            ml_dsa::Signature::<Theirs>::decode(&signature.signature.into()).unwrap(),
        ));
    }
    let members: String = (1..=16).map(|n| format!(" w{n}")).collect();
    policy += &format!("group g all{members}\nquorum g\n");
    std::fs::write(folder.join("note"), &note).unwrap();
    std::fs::write(folder.join("policy"), &policy).unwrap();
    let policy = Policy::parse(policy.as_bytes()).unwrap();

    let (their_key, message, their_signature) = &theirs[0];
    let message = message.as_ref();
    let ours = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    let sign = |randomness: Randomness<'_>| {
        let signature = ours.sign_with_context(message, Context::EMPTY, randomness);
        signature.unwrap()
    };
    let signature = sign(Randomness::Deterministic);
    let bytes = ours.verifying_key().as_bytes();
    let prepared = ours.verifying_key().prepare();
    let seeded = ml_dsa::ExpandedSigningKey::<Theirs>::from_seed(&[7; 32].into());
    median("note of 17 signatures, parsed", || {
        Note::parse(note.as_bytes()).unwrap();
    });
    median("note of 17 signatures, parsed and verified", || {
        policy
            .verify(&Note::parse(note.as_bytes()).unwrap())
            .unwrap();
    });
    median("ml-dsa 0.1.2: 17 signatures, expanded keys", || {
        for (key, message, signature) in &theirs {
            key.verify(message.as_ref(), signature).unwrap();
        }
    });
    median("one cosignature, prepared key", || {
        let verdict = prepared.verify_with_context(message, Context::EMPTY, &signature);
        verdict.unwrap();
    });
    median("one cosignature, encoded key", || {
        let key = VerifyingKey::<MlDsa44>::from_bytes(bytes).unwrap();
        let verdict = key.verify_with_context(message, Context::EMPTY, &signature);
        verdict.unwrap();
    });
    median("ml-dsa 0.1.2: one cosignature, expanded key", || {
        their_key.verify(message, their_signature).unwrap();
    });
    // Another value in every call: what is signed, or with what, differs.
    let mut count = [0; 32];
    let mut fresh = || {
        count[0] = u8::wrapping_add(count[0], 1);
        count
    };
    median("signed, verified before it leaves", || {
        sign(Randomness::Hedged(&fresh()));
    });
    median("ml-dsa 0.1.2: signed, expanded key", || {
        let _: ml_dsa::Signature<Theirs> = seeded.sign(&[message, &fresh()[..8]].concat());
    });
}

fn median(name: &str, mut call: impl FnMut()) {
    let mut times: Vec<f64> = (0..1001)
        .map(|_| {
            let start = crate::now();
            call();
            crate::now() - start
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:44} median {:6.1} us", times[times.len() / 2]);
}
