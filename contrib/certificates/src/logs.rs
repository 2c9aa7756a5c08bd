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

/// A checkpoint with 16 cosignatures of known witnesses, and one cosignature beside `ml-dsa`.
pub fn cosignatures() {
    use ml_dsa::signature::Verifier;

    let log = cosigner("log.example");
    let witnesses: Vec<_> = (0..16)
        .map(|n| cosigner(&format!("witness.example/{n}")))
        .collect();
    let checkpoint = Checkpoint {
        origin: "log.example",
        size: SIZE,
        root: root(0, SIZE),
    };
    let mut policy = format!("log {}\n", log.public());
    let mut note = format!("{checkpoint}\n");
    for (n, cosigner) in [&log].into_iter().chain(&witnesses).enumerate() {
        note += &cosigner
            .sign(
                1,
                checkpoint.origin,
                &checkpoint.tree(),
                Randomness::Deterministic,
            )
            .unwrap();
        if n > 0 {
            policy += &format!("witness w{n} {}\n", cosigner.public());
        }
    }
    let names: String = (1..=16).map(|n| format!(" w{n}")).collect();
    policy += &format!("group all all{names}\nquorum all\n");
    let policy = Policy::parse(policy.as_bytes()).unwrap();

    let message =
        SignedMessage::new("log.example", 1, checkpoint.origin, &checkpoint.tree()).unwrap();
    let message = message.as_ref();
    let ours = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    let signature = ours
        .sign_with_context(message, Context::EMPTY, Randomness::Deterministic)
        .unwrap();
    let bytes = ours.verifying_key().as_bytes();
    let prepared = ours.verifying_key().prepare();
    let theirs = ml_dsa::VerifyingKey::<ml_dsa::MlDsa44>::decode(&(*bytes).into());
    let their_signature =
        ml_dsa::Signature::<ml_dsa::MlDsa44>::decode(&(*signature.as_bytes()).into()).unwrap();
    let seeded = ml_dsa::ExpandedSigningKey::<ml_dsa::MlDsa44>::from_seed(&[7; 32].into());
    for (name, mut call) in [
        (
            "note of 17 signatures, all verified",
            Box::new(|| {
                policy
                    .verify(&Note::parse(note.as_bytes()).unwrap())
                    .unwrap();
            }) as Box<dyn FnMut()>,
        ),
        (
            "one cosignature, prepared key",
            Box::new(|| {
                prepared
                    .verify_with_context(message, Context::EMPTY, &signature)
                    .unwrap();
            }),
        ),
        (
            "one cosignature, encoded key",
            Box::new(|| {
                let key = VerifyingKey::<MlDsa44>::from_bytes(bytes).unwrap();
                key.verify_with_context(message, Context::EMPTY, &signature)
                    .unwrap();
            }),
        ),
        (
            "ml-dsa 0.1.2: one cosignature, expanded key",
            Box::new(|| {
                theirs.verify(message, &their_signature).unwrap();
            }),
        ),
        (
            "signed, verified before it leaves",
            Box::new(|| {
                ours.sign_with_context(message, Context::EMPTY, Randomness::Hedged(&fresh()))
                    .unwrap();
            }),
        ),
        (
            "ml-dsa 0.1.2: signed, expanded key",
            Box::new(|| {
                use ml_dsa::signature::Signer;
                let message = [message, &fresh()[..8]].concat();
                let _: ml_dsa::Signature<ml_dsa::MlDsa44> = seeded.sign(&message);
            }),
        ),
    ] {
        let mut times: Vec<f64> = (0..1001)
            .map(|_| {
                let start = crate::now();
                call();
                crate::now() - start
            })
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        times.sort_by(f64::total_cmp);
        println!(
            "{name:44} median {:6.1} us, mean {mean:6.1} us",
            times[times.len() / 2]
        );
    }
}

/// Another value in every call: what is signed, or with what, differs.
fn fresh() -> [u8; 32] {
    use std::sync::atomic::{AtomicU8, Ordering};
    static NEXT: AtomicU8 = AtomicU8::new(0);
    [NEXT.fetch_add(1, Ordering::Relaxed); 32]
}
