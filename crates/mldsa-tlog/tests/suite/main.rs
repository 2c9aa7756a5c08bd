//! Notes, keys, cosignatures, policies, proofs and requests, and what has to be refused.

mod merkle;
mod policies;
mod requests;

use mldsa_core::{KeyError, MlDsa44, Randomness, SigningKey};
use mldsa_tlog::{
    Checkpoint, Cosigner, CosignerKey, Error, MAX_SIGNATURES, Note, SignedMessage, Subtree, key_id,
};

const TEXT: &str =
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

/// A cosigner whose key is made from its name.
fn cosigner(name: &str) -> Cosigner {
    let mut seed = [0; 32];
    seed[..name.len()].copy_from_slice(name.as_bytes());
    Cosigner::new(name, SigningKey::<MlDsa44>::from_seed(&seed)).unwrap()
}

/// The line of a cosigner under a checkpoint.
fn line(cosigner: &Cosigner, text: &str, time: u64) -> String {
    let checkpoint = Checkpoint::parse(text).unwrap();
    let tree = checkpoint.tree();
    cosigner
        .sign(time, checkpoint.origin, &tree, Randomness::Deterministic)
        .unwrap()
}

fn note(text: &str, cosigners: &[&Cosigner]) -> String {
    let lines: String = cosigners
        .iter()
        .map(|cosigner| line(cosigner, text, 1))
        .collect();
    format!("{text}\n{lines}")
}

#[test]
fn messages_have_the_bytes_of_the_specification() {
    let tree = Subtree {
        start: 8,
        end: 13,
        hash: [7; 32],
    };
    let message = SignedMessage::new("w/1", 0, "log", &tree).unwrap();
    let mut expected = b"subtree/v1\n\0\x03w/1".to_vec();
    expected.extend([0; 8]);
    expected.extend(b"\x03log\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x0d");
    expected.extend([7; 32]);
    assert_eq!(message.as_ref(), expected);
    let whole = Subtree { start: 0, ..tree };
    assert!(
        SignedMessage::new(&"n".repeat(255), i64::MAX as u64, &"o".repeat(255), &whole).is_ok()
    );
    for (name, time, origin, tree, error) in [
        ("", 0, "log", whole, Error::Malformed("name")),
        (&"n".repeat(256), 0, "log", whole, Error::Malformed("name")),
        ("w", 0, "", whole, Error::Malformed("name")),
        ("w", 1 << 63, "log", whole, Error::Subtree),
        ("w", 1, "log", tree, Error::Subtree),
        (
            "w",
            0,
            "log",
            Subtree {
                start: 7,
                end: 13,
                hash: [0; 32],
            },
            Error::Subtree,
        ),
        (
            "w",
            0,
            "log",
            Subtree {
                start: 8,
                end: 8,
                hash: [0; 32],
            },
            Error::Subtree,
        ),
        (
            "w",
            0,
            "log",
            Subtree {
                start: 1,
                end: u64::MAX,
                hash: [0; 32],
            },
            Error::Subtree,
        ),
    ] {
        assert_eq!(
            SignedMessage::new(name, time, origin, &tree).unwrap_err(),
            error
        );
    }
}

#[test]
fn checkpoints_are_read_and_written() {
    let checkpoint = Checkpoint::parse(TEXT).unwrap();
    assert_eq!(
        (checkpoint.origin, checkpoint.size),
        ("example.com/behind-the-sofa", 20_852_163)
    );
    assert_eq!(checkpoint.to_string(), TEXT);
    assert_eq!(
        Checkpoint::parse(&format!("{TEXT}more\n")),
        Err(Error::ExtensionLines)
    );
    let root = &TEXT[TEXT.len() - 45..];
    for wrong in [
        "".into(),
        TEXT.trim_end().to_string(),
        format!("\n1\n{root}"),
        format!("o\n01\n{root}"),
        format!("o\n+1\n{root}"),
        format!("o\n18446744073709551616\n{root}"),
        format!("o\n-1\n{root}"),
        "o\n1\nAAAA\n".into(),
        format!("o\n1\n{}", root.replace('=', "")),
        format!("o\n1\nA{root}"),
        format!("o\n1\n{}", root.replace("I=", "J=")), // Bits after the hash.
    ] {
        assert_eq!(
            Checkpoint::parse(&wrong),
            Err(Error::Malformed("checkpoint")),
            "{wrong}"
        );
    }
    assert_eq!(
        Checkpoint::parse(&"x\n".repeat(600_000)),
        Err(Error::TooLarge)
    );
}

#[test]
fn keys_are_read_and_written() {
    let public = cosigner("witness.example/1");
    let vkey = public.public().to_string();
    let read = CosignerKey::parse(&vkey).unwrap();
    assert_eq!(read.to_string(), vkey);
    assert_eq!(
        read.id(),
        key_id("witness.example/1", read.verifying_key().as_bytes())
    );
    let error = |vkey: &str| CosignerKey::parse(vkey).unwrap_err();
    assert_eq!(error(&vkey.replace("example/1", "example/2")), Error::KeyId);
    assert_eq!(error(&vkey[..vkey.len() - 4]), Error::KeyId);
    assert_eq!(error(&"a".repeat(5000)), Error::TooLarge);
    // An Ed25519 key of the Go project.
    let other = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    assert_eq!(error(other), Error::Algorithm);
    for wrong in [
        "",
        "a",
        "a+b",
        "a+00000000+",
        "a+0000000g+BgAA",
        "+00000000+BgAA",
        "a b+00000000+BgAA",
    ] {
        assert_eq!(error(wrong), Error::Malformed("verifier key"), "{wrong}");
    }
    let capital = {
        let (name, rest) = vkey.split_once('+').unwrap();
        let (id, key) = rest.split_once('+').unwrap();
        format!("{name}+{}+{key}", id.to_uppercase())
    };
    assert_eq!(error(&capital), Error::Malformed("verifier key"));
    // A shorter key with the right ID.
    let short = {
        use base64::prelude::{BASE64_STANDARD, Engine};
        use sha2::{Digest, Sha256};
        let hash = Sha256::new()
            .chain_update(b"a\n\x06")
            .chain_update([1; 32])
            .finalize();
        let id = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
        format!(
            "a+{id:08x}+{}",
            BASE64_STANDARD.encode([&[6][..], &[1; 32]].concat())
        )
    };
    assert_eq!(error(&short), Error::Key(KeyError::Length));
    for wrong in ["", "a b", "a+b", "a\u{2003}b", &"a".repeat(256)] {
        assert!(Cosigner::new(wrong, SigningKey::from_seed(&[1; 32])).is_err());
    }
}

#[test]
fn cosignatures_cover_everything() {
    let (witness, other) = (cosigner("witness"), cosigner("other"));
    let key = witness.public();
    let signed = note(TEXT, &[&other, &witness]);
    let (checkpoint, time) = key
        .verify_note(&Note::parse(signed.as_bytes()).unwrap())
        .unwrap();
    assert_eq!((checkpoint, time), (Checkpoint::parse(TEXT).unwrap(), 1));
    for (from, to) in [
        ("behind", "beyond"),
        ("20852163", "20852164"),
        ("\nCsU", "\nCsV"),
    ] {
        let changed = signed.replacen(from, to, 1);
        let changed = Note::parse(changed.as_bytes()).unwrap();
        assert_eq!(key.verify_note(&changed), Err(Error::Signature), "{from}");
    }
    // The signature of one cosigner under the name and ID of another, and at another time.
    let parsed = Note::parse(signed.as_bytes()).unwrap();
    let tree = checkpoint.tree();
    let mut cosignature = parsed.signatures().next().unwrap().cosignature().unwrap();
    assert_eq!(
        key.verify(checkpoint.origin, &tree, &cosignature),
        Err(Error::Signature)
    );
    cosignature = parsed.signatures().nth(1).unwrap().cosignature().unwrap();
    key.verify(checkpoint.origin, &tree, &cosignature).unwrap();
    cosignature.time = 2;
    assert_eq!(
        key.verify(checkpoint.origin, &tree, &cosignature),
        Err(Error::Signature)
    );
    let stranger = cosigner("stranger");
    assert_eq!(
        stranger.public().verify_note(&parsed),
        Err(Error::NotSigned)
    );
    // A subtree.
    let part = Subtree {
        start: 8,
        end: 13,
        hash: [3; 32],
    };
    let line = witness
        .sign(0, "log", &part, Randomness::Deterministic)
        .unwrap();
    let of_part = format!("{TEXT}\n{line}");
    let parsed = Note::parse(of_part.as_bytes()).unwrap();
    let cosignature = parsed.signatures().next().unwrap().cosignature().unwrap();
    key.verify("log", &part, &cosignature).unwrap();
    assert_eq!(
        key.verify("log", &Subtree { end: 14, ..part }, &cosignature),
        Err(Error::Signature)
    );
    assert_eq!(key.verify_note(&parsed), Err(Error::Signature));
    assert!(
        witness
            .sign(5, "log", &part, Randomness::Deterministic)
            .is_err()
    );
}

#[test]
fn notes_have_bounds_and_one_form() {
    let valid = note(TEXT, &[&cosigner("a"), &cosigner("b")]);
    let parsed = Note::parse(valid.as_bytes()).unwrap();
    assert_eq!(parsed.text(), TEXT);
    let names: Vec<_> = parsed.signatures().map(|line| line.name).collect();
    assert_eq!(names, ["a", "b"]);
    // The last empty line ends the text.
    let twice = format!("first\n\n{valid}");
    assert_eq!(
        Note::parse(twice.as_bytes()).unwrap().text(),
        format!("first\n\n{TEXT}")
    );
    let short = "\u{2014} a AAAAAAA=\n";
    for (wrong, error) in [
        (TEXT.to_string(), "note"),
        (format!("{TEXT}\n"), "note"),
        (valid.trim_end().to_string(), "signature line"),
        (format!("{valid}x\n"), "signature line"),
        (format!("{valid}\u{2014} a\n"), "signature line"),
        (format!("{valid}\u{2014} a AAA\n"), "signature line"),
        (format!("{valid}\u{2014} a AAAAAAB=\n"), "signature line"),
        (format!("{valid}\u{2014}  AAAAAAA=\n"), "signature line"),
        (format!("{valid}\u{2014} a+b AAAAAAA=\n"), "signature line"),
        (format!("{valid}- a AAAAAAA=\n"), "signature line"),
        (format!("{valid}{short}\r"), "note"),
        (valid.replacen("com", "c\tm", 1), "note"),
    ] {
        assert_eq!(
            Note::parse(wrong.as_bytes()),
            Err(Error::Malformed(error)),
            "{wrong}"
        );
    }
    assert_eq!(Note::parse(b"a\n\n\xff"), Err(Error::Malformed("note")));
    let many = |count: usize| format!("{TEXT}\n{}", short.repeat(count));
    assert!(Note::parse(many(MAX_SIGNATURES).as_bytes()).is_ok());
    assert_eq!(
        Note::parse(many(MAX_SIGNATURES + 1).as_bytes()),
        Err(Error::TooLarge)
    );
    assert_eq!(Note::parse(many(1000).as_bytes()), Err(Error::TooLarge));
    assert_eq!(Note::parse(&vec![b'a'; 1_000_001]), Err(Error::TooLarge));
    // Another algorithm's line is a line, and no cosignature.
    let parsed = many(1);
    let line = Note::parse(parsed.as_bytes())
        .unwrap()
        .signatures()
        .next()
        .unwrap();
    assert_eq!(line.cosignature(), Err(Error::Malformed("cosignature")));
}
