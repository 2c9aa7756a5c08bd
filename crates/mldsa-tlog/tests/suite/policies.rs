//! Quorums, and proofs that are verified with them.

use mldsa_tlog::{
    Checkpoint, Cosigner, Error, MAX_NAMES, Note, Policy, PolicyError, Proof, leaf_hash,
};

use crate::merkle::{path, root};
use crate::{TEXT, cosigner, line, note};

const ORIGIN: &str = "example.com/behind-the-sofa";

/// Two of three `X`, and one of three `Y`.
fn nested() -> String {
    let vkey = |name| cosigner(name).public().to_string();
    let mut policy = format!("# A policy\n\nlog {} https://example.com/ \n", vkey(ORIGIN));
    for name in ["X1", "X2", "X3", "Y1", "Y2", "Y3"] {
        policy += &format!("\twitness {name}  {}\n", vkey(name));
    }
    policy + "group X 2 X1 X2 X3\ngroup Y any Y1 Y2 Y3\ngroup all all X Y\nquorum all\n"
}

fn parse(policy: &str) -> Result<Policy, PolicyError> {
    Policy::parse(policy.as_bytes())
}

fn signed(names: &[&str]) -> String {
    let cosigners: Vec<Cosigner> = names.iter().map(|name| cosigner(name)).collect();
    note(TEXT, &cosigners.iter().collect::<Vec<_>>())
}

fn verify(policy: &Policy, note: &str) -> Result<Vec<String>, Error> {
    let verified = policy.verify(&Note::parse(note.as_bytes())?)?;
    assert_eq!(verified.checkpoint, Checkpoint::parse(TEXT).unwrap());
    Ok(verified
        .witnesses
        .iter()
        .map(|(name, time)| format!("{name} {time}"))
        .collect())
}

#[test]
fn nested_groups() {
    let policy = parse(&nested()).unwrap();
    let verdict = |names: &[&str]| verify(&policy, &signed(names));
    let witnesses = verdict(&["Y2", "X3", ORIGIN, "X1"]).unwrap();
    assert_eq!(witnesses, ["X1 1", "X3 1", "Y2 1"]);
    let witnesses = verdict(&[ORIGIN, "X1", "X2", "X3", "Y1", "unknown"]);
    assert_eq!(witnesses.unwrap().len(), 4);
    assert_eq!(verdict(&["X1", "X2", "Y1"]), Err(Error::NotSigned));
    for names in [
        &[ORIGIN][..],
        &[ORIGIN, "X1", "X2", "X3"],
        &[ORIGIN, "X1", "Y1", "Y2", "Y3"],
        &[ORIGIN, "X1", "X1", "X1", "Y1"], // A witness counts once.
    ] {
        assert_eq!(verdict(names), Err(Error::Quorum), "{names:?}");
    }
    let many = signed(&[ORIGIN, "Y1"]) + &line(&cosigner("X1"), TEXT, 1).repeat(98);
    assert_eq!(verify(&policy, &many), Err(Error::Quorum));
    let too_many = many + &line(&cosigner("X1"), TEXT, 1);
    assert_eq!(verify(&policy, &too_many), Err(Error::TooLarge));
}

#[test]
fn an_invalid_signature_of_a_known_key_ends_it() {
    let policy = parse(&nested()).unwrap();
    let other = TEXT.replace("20852163", "20852164");
    let (good, stale) = (
        line(&cosigner("Y3"), TEXT, 1),
        line(&cosigner("Y3"), &other, 1),
    );
    let unknown = line(&cosigner("Z"), &other, 1);
    let valid = signed(&[ORIGIN, "X1", "X2", "Y1"]);
    // The first line of a key decides, whatever follows it.
    for (lines, verdict) in [
        (stale.clone(), Err(Error::Signature)),
        (format!("{stale}{good}"), Err(Error::Signature)),
        (format!("{good}{stale}"), Ok(4)),
        (unknown, Ok(3)),
    ] {
        let witnesses = verify(&policy, &format!("{valid}{lines}"));
        assert_eq!(witnesses.map(|list| list.len()), verdict);
    }
    let extended = valid.replacen("=\n\n", "=\nextension\n\n", 1);
    assert_eq!(verify(&policy, &extended), Err(Error::ExtensionLines));
}

/// The reason is that of the first line that is refused, whichever way signatures are verified.
#[test]
fn the_first_line_decides() {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let policy = parse(&nested()).unwrap();
    let good = line(&cosigner("X1"), TEXT, 1);
    let invalid = line(&cosigner(ORIGIN), &TEXT.replace("20852163", "20852164"), 1);
    let changed = |change: fn(&mut Vec<u8>)| {
        let (name, signature) = good.trim_end().rsplit_once(' ').unwrap();
        let mut bytes = BASE64_STANDARD.decode(signature).unwrap();
        change(&mut bytes);
        format!("{name} {}\n", BASE64_STANDARD.encode(bytes))
    };
    let late = changed(|bytes| bytes[4] = 0x80);
    let short = changed(|bytes| bytes.truncate(100));
    for (wrong, error) in [
        (late, Error::Subtree),
        (short, Error::Malformed("cosignature")),
    ] {
        let verdict = |lines: &[&str]| verify(&policy, &format!("{TEXT}\n{}", lines.concat()));
        assert_eq!(verdict(&[&invalid, &wrong]), Err(Error::Signature));
        assert_eq!(verdict(&[&wrong, &invalid]), Err(error));
        let valid = line(&cosigner(ORIGIN), TEXT, 1);
        assert_eq!(verdict(&[&valid, &wrong]), Err(error));
        assert_eq!(verdict(&[&wrong]), Err(Error::NotSigned));
    }
}

#[test]
fn logs() {
    let (one, two) = (cosigner(ORIGIN), cosigner("example.com/two"));
    let text = format!("log {}\nlog {}\nquorum none\n", two.public(), one.public());
    let policy = parse(&text).unwrap();
    assert!(verify(&policy, &note(TEXT, &[&one])).unwrap().is_empty());
    // Another log of the policy cannot sign in the name of the first.
    assert_eq!(verify(&policy, &note(TEXT, &[&two])), Err(Error::NotSigned));
    assert_eq!(
        verify(&parse("quorum none\n").unwrap(), &note(TEXT, &[&one])),
        Err(Error::NotSigned)
    );
    // The key of a log that is a witness, too.
    let both = format!("log {0}\nwitness w {0}\nquorum w\n", one.public());
    let witnesses = verify(&parse(&both).unwrap(), &note(TEXT, &[&one]));
    assert_eq!(witnesses.unwrap(), [format!("{ORIGIN} 1")]);
    // Two keys of one log, one of them enough.
    let renewed = Cosigner::new(ORIGIN, mldsa_core::SigningKey::from_seed(&[9; 32])).unwrap();
    let policy = parse(&format!("{text}log {}", renewed.public())).unwrap();
    assert!(verify(&policy, &note(TEXT, &[&renewed])).is_ok());
    assert!(verify(&policy, &note(TEXT, &[&one, &renewed])).is_ok());
}

#[test]
fn other_algorithms_never_count() {
    let ed25519 = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let log = cosigner(ORIGIN);
    let policy = |quorum: &str| {
        let (log, witness) = (log.public(), cosigner("w"));
        let text = format!(
            "log {log}\nlog {ed25519}\nwitness old {ed25519}\nwitness new {}\n",
            witness.public()
        );
        parse(&format!("{text}group both any old new\nquorum {quorum}\n")).unwrap()
    };
    let line = format!("\u{2014} PeterNeumann x08go{}\n", "A".repeat(83));
    let text = note(TEXT, &[&log]) + &line;
    assert_eq!(verify(&policy("old"), &text), Err(Error::Quorum));
    assert_eq!(verify(&policy("both"), &text), Err(Error::Quorum));
    assert!(
        verify(
            &policy("both"),
            &(text + &crate::line(&cosigner("w"), TEXT, 1))
        )
        .is_ok()
    );
}

#[test]
fn refused_policies() {
    let (w, v) = (
        cosigner("w").public().to_string(),
        cosigner("v").public().to_string(),
    );
    let error = |text: &str| {
        let error = parse(text).unwrap_err();
        (error.line, error.reason)
    };
    let base = format!("witness a {w}\nwitness b {v}\n");
    for (text, line, part) in [
        ("", 0, "quorum"),
        (&*base, 0, "quorum"),
        ("quorum", 1, "line"),
        ("quorum a", 1, "name"),
        ("quorum none\nquorum none", 2, "line"),
        ("\n# x\nlogs x", 3, "line"),
        ("log", 1, "line"),
        ("log x y z", 1, "line"),
        ("quorum none\r", 1, "character"),
        ("# \u{7f}", 1, "character"),
        (&format!("witness none {w}"), 1, "name"),
        (&format!("witness a {w}\nwitness a {v}"), 2, "name"),
        (&format!("witness a {w}\nwitness b {w}"), 2, "duplicate key"),
        (&format!("log {w}\nlog {w}"), 2, "duplicate key"),
        (&format!("{base}group g any"), 3, "line"),
        (&format!("{base}group g 0 a b"), 3, "threshold"),
        (&format!("{base}group g 3 a b"), 3, "threshold"),
        (&format!("{base}group g +1 a b"), 3, "threshold"),
        (
            &format!("{base}group g 18446744073709551617 a b"),
            3,
            "threshold",
        ),
        (&format!("{base}group g any c"), 3, "name"),
        (&format!("{base}group g any none"), 3, "name"),
        (&format!("{base}group g any g"), 3, "name"),
        (&format!("{base}group a any b"), 3, "name"),
        (&format!("{base}group g any a a"), 3, "member"),
        (&format!("{base}group g any a\ngroup h any a"), 4, "member"),
    ] {
        assert_eq!(error(text), (line, Error::Malformed(part)), "{text}");
    }
    // The same key under another name and ID.
    let mut seed = [0; 32];
    seed[0] = b'w';
    let renamed = Cosigner::new("x", mldsa_core::SigningKey::from_seed(&seed)).unwrap();
    let twice = format!("witness a {w}\nwitness b {}", renamed.public());
    assert_eq!(error(&twice), (2, Error::Malformed("duplicate key")));
    let members = |count| {
        format!(
            "{base}group g0 any a b\n{}",
            (1..count).fold(String::new(), |all, n| {
                all + &format!("group g{n} any g{}\n", n - 1)
            })
        )
    };
    let deep = members(MAX_NAMES - 2);
    assert!(parse(&format!("{deep}quorum g125")).is_ok());
    assert_eq!(error(&members(MAX_NAMES - 1)).1, Error::TooLarge);
    assert_eq!(error(&"#\n".repeat(500_001)).1, Error::TooLarge);
}

#[test]
fn proofs() {
    let log = cosigner("log");
    let witness = cosigner("w");
    let text = format!(
        "log {}\nwitness w {}\nquorum w\n",
        log.public(),
        witness.public()
    );
    let policy = parse(&text).unwrap();
    let checkpoint = Checkpoint {
        origin: "log",
        size: 13,
        root: root(0, 13),
    };
    let note = note(&checkpoint.to_string(), &[&log, &witness]);
    for (index, extra) in [
        (0, None),
        (12, Some(vec![])),
        (8, Some(b"age-v1.2.1".to_vec())),
    ] {
        let proof = Proof {
            extra,
            index,
            hashes: path(index, 0, 13),
            note: &note,
        };
        let written = proof.to_string();
        let read = Proof::parse(written.as_bytes()).unwrap();
        assert_eq!(read, proof);
        let leaf = leaf_hash(&index.to_be_bytes());
        assert_eq!(read.verify(&policy, &leaf).unwrap().witnesses, [("w", 1)]);
        assert_eq!(read.verify(&policy, &[0; 32]).unwrap_err(), Error::Proof);
        let other = Proof {
            index: index ^ 1,
            ..read.clone()
        };
        assert_eq!(other.verify(&policy, &leaf).unwrap_err(), Error::Proof);
    }
    let parse = |text: &str, length: usize| {
        let hashes = ("A".repeat(43) + "=\n").repeat(length);
        let proof = format!("c2sp.org/tlog-proof@v1\n{text}{hashes}\n{note}");
        Proof::parse(proof.as_bytes()).map(|_| ())
    };
    assert_eq!(parse("index 8\n", 0), Ok(()));
    assert_eq!(parse("index 18446744073709551615\n", 63), Ok(()));
    assert_eq!(parse("index 8\n", 64), Err(Error::TooLarge));
    for wrong in [
        "index 08\n",
        "index -1\n",
        "index 1 \n",
        "index 18446744073709551616\n",
        "extra *\nindex 1\n",
        "index 1\nextra AA==\n",
        "index 1\nAAAA\n",
        "",
    ] {
        assert!(
            matches!(parse(wrong, 0), Err(Error::Malformed(_))),
            "{wrong}"
        );
    }
    assert_eq!(Proof::parse(&vec![b'a'; 1_000_001]), Err(Error::TooLarge));
}
