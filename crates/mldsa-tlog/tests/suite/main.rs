//! Notes, keys, cosignatures, policies, proofs and requests, and what has to be refused.

mod merkle;
mod policies;
mod requests;

use mldsa_core::{KeyError, MlDsa44, Randomness, SigningKey};
use mldsa_tlog::{
    Checkpoint, Cosignature, Cosigner, CosignerKey, Error, MAX_SIGNATURES, Note, SignedMessage,
    Subtree, key_id,
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

fn range(start: u64, end: u64) -> Subtree {
    let hash = [7; 32];
    Subtree { start, end, hash }
}

#[test]
fn messages_have_the_bytes_of_the_specification() {
    let message = SignedMessage::new("w/1", 0, "log", &range(8, 13)).unwrap();
    let mut expected = b"subtree/v1\n\0\x03w/1".to_vec();
    expected.extend([0; 8]);
    expected.extend(b"\x03log\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x0d");
    expected.extend([7; 32]);
    assert_eq!(message.as_ref(), expected);
    let (longest, longer) = (&"n".repeat(255), &"n".repeat(256));
    let (max, name) = (i64::MAX as u64, Err(Error::Malformed("name")));
    for (cosigner, time, origin, (start, end), verdict) in [
        (&**longest, max, &**longest, (0, u64::MAX), Ok(())),
        ("w", 1, "log", (0, 0), Ok(())),
        ("", 0, "log", (0, 13), name),
        (longer, 0, "log", (0, 13), name),
        ("w", 0, "", (0, 13), name),
        ("w", 0, longer, (0, 13), name),
        ("w", max + 1, "log", (0, 13), Err(Error::Subtree)),
        ("w", 1, "log", (8, 13), Err(Error::Subtree)),
        ("w", 0, "log", (7, 13), Err(Error::Subtree)),
        ("w", 0, "log", (8, 8), Err(Error::Subtree)),
        ("w", 0, "log", (13, 8), Err(Error::Subtree)),
        ("w", 0, "log", (1, u64::MAX), Err(Error::Subtree)),
        ("w", 0, "log", (u64::MAX, u64::MAX), Err(Error::Subtree)),
        ("w", 0, "log", (1 << 63, u64::MAX), Ok(())),
    ] {
        let message = SignedMessage::new(cosigner, time, origin, &range(start, end));
        assert_eq!(message.map(|_| ()), verdict, "{start} {end}");
    }
}

/// The last and the first size of a log, and what precedes and follows them.
#[test]
fn sizes_at_the_bounds() {
    let root = &TEXT[TEXT.len() - 45..];
    let log = cosigner("o");
    for size in ["0", "1", "18446744073709551615"] {
        let text = format!("o\n{size}\n{root}");
        assert_eq!(Checkpoint::parse(&text).unwrap().to_string(), text);
        let signed = note(&text, &[&log]);
        let parsed = Note::parse(signed.as_bytes()).unwrap();
        let (verified, _) = log.public().verify_note(&parsed).unwrap();
        assert_eq!(verified.size.to_string(), size);
        let other = signed.replacen(size, "2", 1);
        let verdict = log
            .public()
            .verify_note(&Note::parse(other.as_bytes()).unwrap());
        assert_eq!(verdict, Err(Error::Signature));
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
        format!("o\n1\r\n{root}"),
        format!("o\r\n1\n{root}"),
        format!("o\n1\n{}\r\n", root.trim_end()),
        format!("o\n1 \n{root}"),
        format!("o\n\u{664}\n{root}"),
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
    for after in ["\n", " ", "=", "AAAA", "+"] {
        let malformed = Error::Malformed("verifier key");
        assert_eq!(error(&format!("{vkey}{after}")), malformed, "{after:?}");
    }
    // Keys of other lengths with the right ID, the length first.
    let key = read.verifying_key().as_bytes();
    for bytes in [&key[..32], &key[..1311], &[&key[..], &[0]].concat()] {
        use base64::prelude::{BASE64_STANDARD, Engine};
        use sha2::{Digest, Sha256};
        let typed = [&[6], bytes].concat();
        let hash = Sha256::new()
            .chain_update(b"a\n")
            .chain_update(&typed)
            .finalize();
        let id = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
        let vkey = format!("a+{id:08x}+{}", BASE64_STANDARD.encode(&typed));
        assert_eq!(error(&vkey), Error::Key(KeyError::Length));
    }
    for wrong in ["", "a b", "a+b", "a\u{2003}b", &"a".repeat(256)] {
        assert!(Cosigner::new(wrong, SigningKey::from_seed(&[1; 32])).is_err());
    }
}

#[test]
fn cosignatures_cover_everything() {
    let [witness, other, stranger] = ["witness", "other", "stranger"].map(cosigner);
    let key = witness.public();
    let signed = note(TEXT, &[&other, &witness]);
    let parsed = Note::parse(signed.as_bytes()).unwrap();
    let checkpoint = Checkpoint::parse(TEXT).unwrap();
    assert_eq!(key.verify_note(&parsed), Ok((checkpoint, 1)));
    assert_eq!(
        stranger.public().verify_note(&parsed),
        Err(Error::NotSigned)
    );
    for (from, to) in [
        ("hind", "yond"),
        ("20852163", "20852164"),
        ("\nCsU", "\nCsV"),
    ] {
        let changed = signed.replacen(from, to, 1);
        let changed = Note::parse(changed.as_bytes()).unwrap();
        assert_eq!(key.verify_note(&changed), Err(Error::Signature), "{from}");
    }
    // The signature of one cosigner under the name and ID of another, and at another time.
    let verify = |tree: &Subtree, cosignature: &Cosignature| {
        key.verify(checkpoint.origin, tree, cosignature)
    };
    let lines = parsed.signatures().map(|line| line.cosignature().unwrap());
    let [of_other, mut own] = lines.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(verify(&checkpoint.tree(), &of_other), Err(Error::Signature));
    assert_eq!(verify(&checkpoint.tree(), &own), Ok(()));
    own.time = 2;
    assert_eq!(verify(&checkpoint.tree(), &own), Err(Error::Signature));
    // A subtree.
    let sign = |time, part| witness.sign(time, checkpoint.origin, &part, Randomness::Deterministic);
    let of_part = format!("{TEXT}\n{}", sign(0, range(8, 13)).unwrap());
    let parsed = Note::parse(of_part.as_bytes()).unwrap();
    let cosignature = parsed.signatures().next().unwrap().cosignature().unwrap();
    assert_eq!(verify(&range(8, 13), &cosignature), Ok(()));
    assert_eq!(verify(&range(8, 14), &cosignature), Err(Error::Signature));
    assert_eq!(key.verify_note(&parsed), Err(Error::Signature));
    assert_eq!(sign(5, range(8, 13)), Err(Error::Subtree));
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
        (valid.replace('\n', "\r\n"), "note"),
        (
            valid.replacen("\u{2014} b", "\u{2014} b\u{85}", 1),
            "signature line",
        ),
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
