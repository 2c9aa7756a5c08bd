//! `run`, and the results of `combine` and `verify`.

use super::*;

/// A wrong argument leaves no files.
#[test]
fn invalid_arguments_leave_no_files() {
    let place = Place::new("not-run");
    let (dir, payload) = (place.at("all"), place.at("payload"));
    let long = "x".repeat(256);
    let nowhere = place.at("nowhere/all");
    for (dir, payload, more, why) in [
        (&nowhere, &payload, [].as_slice(), &*nowhere),
        (&payload, &payload, &[], &payload),
        (&dir, &nowhere, &[], &nowhere),
        (&dir, &payload, &args!["--content", &""], "content label"),
        (&dir, &payload, &["--ctx", &long], "255 bytes"),
        (
            &dir,
            &payload,
            &["--consensus", "--ctx", &long[32..]],
            "223 bytes",
        ),
    ] {
        let args = args!["run --dir", dir, "--payload", payload];
        refused(&place.step(&[&args[..], more].concat()), why);
        assert!(!Path::new(dir).is_dir());
    }
    let args = args!["aggregate run -n 2 --dir", &dir, "--payload -"];
    let run = mldsa(&args, b"what is decided");
    good(&run);
    assert!(run.stdout.contains("payload: SHA-256 847fb2c3"));
}

#[test]
fn run_makes_an_aggregate() {
    let place = Place::new("at-once");
    let (dir, payload) = (place.at("all"), place.at("payload"));
    let args = args!["run -n 5 --dir", &dir, "--payload", &payload, "--ctx TEST"];
    let run = place.step(&args);
    good(&run);
    let names = "member-0000 member-0001 member-0002 member-0003 member-0004";
    assert_eq!(run.lines()[0], format!("signers: 5 of 5: {names}"));
    let attempt = run.lines()[3].strip_prefix("attempt: ").unwrap().to_owned();
    let round = format!("all/round-{attempt}");
    let verify =
        |aggregate: &str, more: &[&str]| place.verify(aggregate, "all/committee", &round, more);
    let outputs = ["pk", "sig", "message", "ctx"].map(|name| place.at(name));
    let [pk, sig, message, ctx] = &outputs;
    let out = [
        "--pk-out",
        pk,
        "--sig-out",
        sig,
        "--message-out",
        message,
        "--ctx-out",
        ctx,
    ];
    let verified = verify("all/aggregate", &args!["--quorum 5", ..out]);
    good(&verified);
    assert_eq!(verified.stdout, run.stdout);
    // 8 leaves, one content with room for a silent member: 6,144 + 4 + 96 bytes.
    let object = fs::metadata(place.at("all/aggregate")).unwrap().len();
    let totals = [
        format!("aggregate: {object} bytes, signature 4627 of them"),
        format!(
            "for a verifier without the openings: {} bytes (31220 of openings)",
            object + 31_220
        ),
        "a list of 5 signatures: 23135 bytes".into(),
    ];
    assert_eq!(run.lines()[5..], totals);
    // A result on standard output is alone there.
    let verify_to_stdout = |option: &str| {
        let paths = [
            "all/committee",
            "verifier",
            &round,
            "all/aggregate",
            "payload",
        ];
        let [committee, store, round, aggregate, payload] = paths.map(|name| place.at(name));
        std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args![
                "aggregate verify --committee",
                &committee,
                "--store",
                &store
            ])
            .args([
                "--round",
                &round,
                "--aggregate",
                &aggregate,
                "--payload",
                &payload,
            ])
            .args(args!["--ctx TEST --quorum 5", option, "-"])
            .output()
            .unwrap()
    };
    let output = verify_to_stdout("--sig-out");
    assert_eq!(output.stdout, fs::read(sig).unwrap());
    assert_eq!(output.stderr, run.stdout.as_bytes());
    // To `mldsa verify` it is a signature like any other.
    let ordinary = |ctx: &str| {
        let args = args!["verify --key", pk, "--sig", sig, "--ctx", ctx, message];
        mldsa(&args, b"")
    };
    assert_eq!(ordinary("TEST").stdout, "valid\n");
    assert_eq!(ordinary("another").code, 1);
    let [pk, sig, message, ctx] = outputs.each_ref().map(|path| fs::read(path).unwrap());
    let pk = PublicKey::try_from_bytes(pk.try_into().unwrap()).unwrap();
    assert!(pk.verify(&message, &sig.try_into().unwrap(), &ctx));
    // Not twice into one place.
    assert_eq!(place.step(&args).code, 2);

    let mut bytes = fs::read(place.at("all/aggregate")).unwrap();
    let last = bytes.len() - 1000;
    bytes[last] ^= 1;
    fs::write(place.at("all/changed"), bytes).unwrap();
    invalid(
        &verify("all/changed", &args!["--quorum 5"]),
        "does not verify",
    );
}

#[test]
fn verify_requires_policy_and_decision() {
    let place = Place::new("policy");
    let digest = place.agreed("1");
    // One signer of three.
    for step in ["open", "commit", "respond"] {
        good(&place.member(step, 0, &args!["--cohort m0"]));
    }
    let out = place.at("aggregate");
    let combined = place.member("combine", 0, &args!["--cohort m0 --out", &out]);
    if combined.code == 1 {
        return;
    }
    good(&combined);
    let verify = |more: &[&str]| {
        let more = [&["--content", "slot 7"], more].concat();
        place.verify("aggregate", "committee", "round", &more)
    };
    assert_eq!(verify(&[]).code, 2);
    invalid(&verify(&args!["--quorum 2"]), "too few");
    refused(&verify(&args!["--quorum 0"]), "out of range");
    refused(&verify(&args!["--threshold 1"]), "--weights <FILE>");
    refused(&verify(&args!["--quorum 4"]), "there are 3 members");
    let alone = verify(&args!["--quorum 1 --expect-roots", &digest]);
    good(&alone);
    assert_eq!(alone.lines()[0], "signers: 1 of 3: m0");
    let payload = "847fb2c33a0510a8b4f606d8392fdac8659fe657b3206b7e0f99b6d432ff4f7d";
    assert_eq!(alone.lines()[1], format!("payload: SHA-256 {payload}"));
    assert_eq!(alone.lines()[2], format!("roots: {digest}"));
    refused(
        &verify(&args!["--quorum 1 --expect-roots 00"]),
        "list of roots is",
    );
    let weights = place.at("weights");
    fs::write(&weights, "m0 5\nm1 7\n").unwrap();
    good(&verify(&args!["--weights", &weights, "--threshold 5"]));
    invalid(
        &verify(&args!["--weights", &weights, "--threshold 6"]),
        "too few",
    );
    assert_eq!(verify(&["--weights", &weights]).code, 2);
    for out in ["0", "13"] {
        let run = verify(&["--weights", &weights, "--threshold", out]);
        refused(&run, &format!("--threshold {out}: not in 1 to 12"));
    }
    let threshold = args!["--threshold 5 --weights", &weights];
    fs::write(&weights, "\u{feff}m0 5\r\n\r\nm1 7\r\n").unwrap();
    good(&verify(&threshold));
    for (text, why) in [
        (&b"m0 5\nm1 \x1b[2J\n"[..], "line 2: not a member's name"),
        (b"m0 5\nm9 7\n", "unknown member"),
        (b"m\xff 5\n", "not text"),
        (b"m0 18446744073709551615\nm1 1\n", "2^64"),
        (b"m0 0\nm1 0\n", "no weight above 0"),
    ] {
        fs::write(&weights, text).unwrap();
        let run = verify(&threshold);
        refused(&run, why);
        assert!(run.stderr.contains(&weights) && !run.stderr.contains('\u{1b}'));
    }
    fs::remove_file(&weights).unwrap();
    refused(&verify(&threshold), &weights);
    // Another payload, label, domain or kind than the expected one.
    fs::write(place.at("payload"), b"something else").unwrap();
    invalid(&verify(&args!["--quorum 1"]), "another decision");
    fs::write(place.at("payload"), b"what is decided").unwrap();
    invalid(
        &verify(&args!["--quorum 1 --consensus"]),
        "another decision",
    );
    let other = place.verify(
        "aggregate",
        "committee",
        "round",
        &args!["--quorum 1 --content", &"slot 6"],
    );
    invalid(&other, "another decision");
}

/// Standard output has the aggregate and nothing else.
#[test]
fn an_aggregate_can_go_to_a_pipe() {
    let place = Place::new("pipe");
    place.agreed("1");
    let alone = args!["--cohort m0"];
    for step in ["open", "commit", "respond"] {
        good(&place.member(step, 0, &alone));
    }
    let out = place.at("aggregate");
    let combined = place.member("combine", 0, &args!["--cohort m0 --out", &out]);
    if combined.code == 1 {
        return;
    }
    good(&combined);
    let [committee, store, round, payload] =
        ["committee", "member-0", "round", "payload"].map(|name| place.at(name));
    // Bytes that are no text.
    let piped = std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args![
            "aggregate combine --committee",
            &committee,
            "--store",
            &store
        ])
        .args([
            "--round",
            &round,
            "--payload",
            &payload,
            "--content",
            "slot 7",
        ])
        .args(args!["--ctx TEST --cohort m0 --out -"])
        .output()
        .unwrap();
    assert!(piped.status.success());
    assert_eq!(piped.stdout, fs::read(out).unwrap());
    assert!(piped.stderr.starts_with(b"signers: 1 of 3: m0"));
    // Where the report cannot be written, nothing is.
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let [verifier, aggregate, pk] = ["verifier", "aggregate", "pk"].map(|name| place.at(name));
    let verify = std::process::Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args!["aggregate verify --committee", &committee])
        .args(["--store", &verifier, "--round", &round])
        .args(["--aggregate", &aggregate, "--payload", &payload])
        .args(args!["--content", &"slot 7", "--ctx TEST --quorum 1"])
        .args(["--pk-out", &pk])
        .stdout(closed)
        .output()
        .unwrap();
    assert_eq!(verify.status.code(), Some(2), "{verify:?}");
    for path in [pk, verifier] {
        assert!(!Path::new(&path).exists(), "{path}");
    }
}
