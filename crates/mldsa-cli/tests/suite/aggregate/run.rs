//! `run`, and the results of `combine` and `verify`.

use fips204::ml_dsa_87::PublicKey;
use fips204::traits::{SerDes, Verifier};

use super::*;

/// A wrong argument leaves no files.
#[test]
fn invalid_arguments_leave_no_files() {
    let place = Place::new("not-run");
    let long = "x".repeat(256);
    for (dir, payload, more, why) in [
        ("nowhere/all", "payload", "", "nowhere/all"),
        ("payload", "payload", "", "payload"),
        ("all", "nowhere/all", "", "nowhere/all"),
        ("all", "payload", "--content=", "content label"),
        ("all", "payload", &format!("--ctx {long}"), "255 bytes"),
        (
            "all",
            "payload",
            &format!("--consensus --ctx {}", &long[32..]),
            "223 bytes",
        ),
    ] {
        place.refused(&format!("run --dir {dir} --payload {payload} {more}"), why);
        assert!(!place.path(dir).is_dir());
    }
    let dir = place.at("all");
    let args = args!["aggregate run -n 2 --payload - --dir", &dir];
    let run = mldsa(&args, b"what is decided");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("payload: SHA-256 847fb2c3"));
}

#[test]
fn run_makes_an_aggregate() {
    let place = Place::new("at-once");
    let command = "run -n 5 --dir all --payload payload --ctx TEST";
    let run = place.good(command);
    let names = "member-0000 member-0001 member-0002 member-0003 member-0004";
    assert_eq!(run.lines()[0], format!("signers: 5 of 5: {names}"));
    let attempt = run.lines()[3].strip_prefix("attempt: ").unwrap();
    place.rename("all/committee", "committee");
    let verify = |aggregate: &str, more: &str| {
        verify(
            aggregate,
            &format!("all/round-{attempt}"),
            &format!("--quorum 5 {more}"),
        )
    };
    let out = "--pk-out pk --sig-out sig --message-out message --ctx-out ctx";
    let verified = place.good(&verify("all/aggregate", out));
    assert_eq!(verified.stdout, run.stdout);
    // 8 leaves, one content, attempts for a silent member: 6,144 + 4 + 96 bytes an opening.
    let object = place.get("all/aggregate").len();
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
    let mut to_stdout = place.command(&verify("all/aggregate", "--sig-out -"));
    let output = to_stdout.output().unwrap();
    assert_eq!(output.stdout, place.get("sig"));
    assert_eq!(output.stderr, run.stdout.as_bytes());
    // An ordinary ML-DSA-87 signature for `mldsa verify` and for the peer.
    let [pk, sig, message] = ["pk", "sig", "message"].map(|name| place.at(name));
    let ordinary = |ctx: &str| {
        let args = args!["verify --key", &pk, "--sig", &sig, "--ctx", ctx, &message];
        mldsa(&args, b"")
    };
    assert_eq!(ordinary("TEST").stdout, "valid\n");
    assert_eq!(ordinary("another").code, 1);
    let [pk, sig, message, ctx] = ["pk", "sig", "message", "ctx"].map(|name| place.get(name));
    let pk = PublicKey::try_from_bytes(pk.try_into().unwrap()).unwrap();
    assert!(pk.verify(&message, &sig.try_into().unwrap(), &ctx));
    place.refused(command, "all: ");

    let mut bytes = place.get("all/aggregate");
    let last = bytes.len() - 1000;
    bytes[last] ^= 1;
    place.put("all/changed", &bytes);
    place.invalid(&verify("all/changed", ""), "does not verify");
}

#[test]
fn verify_requires_policy_and_decision() {
    let place = Place::new("policy");
    let digest = place.agreed(1);
    for step in ["open", "commit", "respond"] {
        place.good(&member(step, 0, "--cohort m0"));
    }
    let combined = place.run(&member("combine", 0, "--cohort m0 --out aggregate"));
    if combined.code == 1 {
        return;
    }
    assert_eq!(combined.code, 0, "{}", combined.stderr);
    let verify = |more: &str| verify("aggregate", "round", &format!("--content slot-7 {more}"));
    place.refused(&verify(""), "--quorum");
    place.invalid(&verify("--quorum 2"), "too few");
    place.refused(&verify("--quorum 0"), "out of range");
    place.refused(&verify("--threshold 1"), "--weights <FILE>");
    place.refused(&verify("--quorum 4"), "there are 3 members");
    let alone = place.good(&verify(&format!("--quorum 1 --expect-roots {digest}")));
    let payload = "847fb2c33a0510a8b4f606d8392fdac8659fe657b3206b7e0f99b6d432ff4f7d";
    let expected = [
        "signers: 1 of 3: m0".into(),
        format!("payload: SHA-256 {payload}"),
        format!("roots: {digest}"),
    ];
    assert_eq!(alone.lines()[..3], expected);
    place.refused(&verify("--quorum 1 --expect-roots 00"), "list of roots is");
    place.put("weights", b"m0 5\nm1 7\n");
    place.good(&verify("--weights weights --threshold 5"));
    place.invalid(&verify("--weights weights --threshold 6"), "too few");
    place.refused(&verify("--weights weights"), "--threshold");
    for out in ["0", "13"] {
        let args = verify(&format!("--weights weights --threshold {out}"));
        place.refused(&args, &format!("--threshold {out}: not in 1 to 12"));
    }
    let threshold = verify("--threshold 5 --weights weights");
    place.put("weights", "\u{feff}m0 5\r\n\r\nm1 7\r\n".as_bytes());
    place.good(&threshold);
    for (text, why) in [
        (&b"m0 5\nm1 \x1b[2J\n"[..], "line 2: not a member's name"),
        (b"m0 5\nm9 7\n", "unknown member"),
        (b"m\xff 5\n", "not text"),
        (b"m0 18446744073709551615\nm1 1\n", "2^64"),
        (b"m0 0\nm1 0\n", "no weight above 0"),
    ] {
        place.put("weights", text);
        let run = place.refused(&threshold, why);
        assert!(run.stderr.contains("weights") && !run.stderr.contains('\u{1b}'));
    }
    place.remove("weights");
    place.refused(&threshold, "weights");
    // Another payload, kind, label or domain than the expected one.
    place.put("payload", b"something else");
    place.invalid(&verify("--quorum 1"), "another task");
    place.put("payload", b"what is decided");
    place.invalid(&verify("--quorum 1 --consensus"), "another task");
    let label = verify("--quorum 1").replace("slot-7", "slot-6");
    place.invalid(&label, "another task");
}

/// Standard output has the aggregate and nothing else.
#[test]
fn an_aggregate_can_be_written_to_a_pipe() {
    let place = Place::new("pipe");
    place.agreed(1);
    for step in ["open", "commit", "respond"] {
        place.good(&member(step, 0, "--cohort m0"));
    }
    let combined = place.run(&member("combine", 0, "--cohort m0 --out aggregate"));
    if combined.code == 1 {
        return;
    }
    assert_eq!(combined.code, 0, "{}", combined.stderr);
    let mut piped = place.command(&member("combine", 0, "--cohort m0 --out -"));
    let piped = piped.output().unwrap();
    assert!(piped.status.success());
    assert_eq!(piped.stdout, place.get("aggregate"));
    assert!(piped.stderr.starts_with(b"signers: 1 of 3: m0"));
    // If the report cannot be written, no result is.
    #[cfg(unix)]
    {
        let more = "--content slot-7 --quorum 1 --pk-out pk";
        place.with_closed_output(&verify("aggregate", "round", more));
        assert!(!place.exists("pk") && !place.exists("verifier"));
    }
}
