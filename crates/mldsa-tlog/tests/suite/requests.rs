//! Requests to a witness, in the order of a log that grows.

use mldsa_core::Randomness;
use mldsa_tlog::{AddCheckpoint, Checkpoint, Error, Hash, Refusal, SignSubtree};

use crate::merkle::{consistency, root, tree};
use crate::{cosigner, note};

fn checkpoint(size: u64, root: Hash) -> String {
    let log = cosigner("log");
    note(
        &Checkpoint {
            origin: "log",
            size,
            root,
        }
        .to_string(),
        &[&log],
    )
}

#[test]
fn a_log_that_grows() {
    let log = cosigner("log");
    let mut latest = (0, [0; 32]);
    for size in [1, 5, 5, 8, 13] {
        let proof = if latest.0 == 0 {
            vec![]
        } else {
            consistency(0, latest.0, 0, size, true)
        };
        let note = checkpoint(size, root(0, size));
        let request = AddCheckpoint {
            old_size: latest.0,
            proof,
            note: &note,
        }
        .to_string();
        let request = AddCheckpoint::parse(request.as_bytes()).unwrap();
        let verified = request.check(|origin| {
            assert_eq!(origin, "log");
            Some((log.public(), latest))
        });
        let verified = verified.unwrap();
        assert_eq!(verified.size, size);
        latest = (verified.size, verified.root);
    }
}

#[test]
fn refusals() {
    let (log, other) = (cosigner("log"), cosigner("other"));
    let (log, other) = (log.public(), other.public());
    let thirteen = (13, root(0, 13));
    let note = checkpoint(20, root(0, 20));
    let changed = note.replacen("\n20\n", "\n21\n", 1);
    let empty = checkpoint(0, [1; 32]);
    let proof = &consistency(0, 13, 0, 20, true)[..];
    let request = |old_size, proof: &[Hash], note, known| {
        let proof = proof.to_vec();
        let request = AddCheckpoint {
            old_size,
            proof,
            note,
        };
        request.check(|_| known)
    };
    assert!(request(13, proof, &note, Some((log, thirteen))).is_ok());
    let conflict = |size| (Refusal::Conflict { size }, 409);
    let inconsistent = (Refusal::Inconsistent, 422);
    for (old_size, proof, note, known, refusal) in [
        (13, proof, &note, None, (Refusal::UnknownLog, 404)),
        (
            13,
            proof,
            &note,
            Some((other, thirteen)),
            (Refusal::NotSigned, 403),
        ),
        (
            13,
            proof,
            &changed,
            Some((log, thirteen)),
            (Refusal::NotSigned, 403),
        ),
        (
            21,
            proof,
            &note,
            Some((log, thirteen)),
            (Refusal::Malformed, 400),
        ),
        (12, proof, &note, Some((log, thirteen)), conflict(13)),
        (0, &[], &note, Some((log, thirteen)), conflict(13)),
        (13, &proof[1..], &note, Some((log, thirteen)), inconsistent),
        (13, proof, &note, Some((log, (13, [0; 32]))), inconsistent),
        // The same size with another root, and a proof where there is nothing to prove.
        (20, &[], &note, Some((log, (20, [0; 32]))), conflict(20)),
        (
            20,
            proof,
            &note,
            Some((log, (20, root(0, 20)))),
            inconsistent,
        ),
        (0, proof, &note, Some((log, (0, [0; 32]))), inconsistent),
        // The tree without leaves has one root.
        (0, &[], &empty, Some((log, (0, [0; 32]))), inconsistent),
    ] {
        let answer = request(old_size, proof, note, known).unwrap_err();
        assert_eq!((answer, answer.status()), refusal, "{old_size}");
    }
}

#[test]
fn requests_for_subtrees() {
    let witness = cosigner("w");
    let part = tree(8, 13);
    let cosignature = witness
        .sign(0, "log", &part, Randomness::Deterministic)
        .unwrap();
    let hashes = |hashes: &[Hash]| -> String {
        use base64::prelude::{BASE64_STANDARD, Engine};
        hashes
            .iter()
            .map(|hash| BASE64_STANDARD.encode(hash) + "\n")
            .collect()
    };
    let proof = hashes(&consistency(8, 13, 0, 20, true));
    let note = checkpoint(20, root(0, 20));
    let (hash, text) = (
        hashes(&[part.hash]),
        |range: &str, lines: &str, hash: &str| {
            format!("subtree {range}\n{hash}{lines}{proof}\n{note}")
        },
    );
    for lines in ["", &cosignature, &cosignature.repeat(2)] {
        let request = text("8 13", lines, &hash);
        let request = SignSubtree::parse(request.as_bytes()).unwrap();
        assert_eq!(request.subtree, part);
        for line in request.cosignatures() {
            witness
                .public()
                .verify("log", &part, &line.cosignature().unwrap())
                .unwrap();
        }
        assert_eq!(request.cosignatures().count(), lines.lines().count());
        assert_eq!(request.check_consistency().unwrap().size, 20);
    }
    let other = text("8 12", "", &hash);
    assert_eq!(
        SignSubtree::parse(other.as_bytes())
            .unwrap()
            .check_consistency(),
        Err(Error::Proof)
    );
    for (range, error) in [
        ("7 13", Error::Subtree),
        ("8 8", Error::Subtree),
        ("16 24", Error::Subtree),
        ("08 13", Error::Malformed("request")),
        ("8", Error::Malformed("request")),
        ("8 13 ", Error::Malformed("request")),
    ] {
        assert_eq!(
            SignSubtree::parse(text(range, "", &hash).as_bytes()),
            Err(error),
            "{range}"
        );
    }
    // The tree without leaves is part of every tree, and has one hash and no proof.
    let empty = Hash::from(<sha2::Sha256 as sha2::Digest>::digest([]));
    for (hash, proof, valid) in [
        (empty, "", true),
        ([0; 32], "", false),
        (empty, &*proof, false),
    ] {
        let request = format!("subtree 0 0\n{}{proof}\n{note}", hashes(&[hash]));
        let request = SignSubtree::parse(request.as_bytes()).unwrap();
        assert_eq!(request.check_consistency().is_ok(), valid);
    }
    let many = text("8 13", &"\u{2014} a AAAAAAA=\n".repeat(101), &hash);
    assert_eq!(SignSubtree::parse(many.as_bytes()), Err(Error::TooLarge));
    assert!(SignSubtree::parse(text("8 13", "\u{2014} a AAAA\n", &hash).as_bytes()).is_err());
    for wrong in [
        "",
        "old\n",
        "old 1",
        "old 1\n",
        "old 01\n\n",
        "old 1\n\n",
        "old 1\n\nx\n",
    ] {
        assert!(AddCheckpoint::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
