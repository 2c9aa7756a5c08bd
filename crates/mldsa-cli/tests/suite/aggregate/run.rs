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
    let attempt = run.lines()[4].strip_prefix("attempt: ").unwrap();
    place.rename("all/committee", "committee");
    let verify = |aggregate: &str, more: &str| {
        place.verify(aggregate, &format!("all/round-{attempt}"), more)
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
    assert_eq!(run.lines()[6..], totals);
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
fn verify_requires_the_expected_decision() {
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
    let verify =
        |more: &str| place.verify("aggregate", "round", &format!("--content slot-7 {more}"));
    let identity = place.status(1, "committee");
    let alone = place.good(&verify(&format!("--expect-roots {digest}")));
    let payload = "847fb2c33a0510a8b4f606d8392fdac8659fe657b3206b7e0f99b6d432ff4f7d";
    let expected = [
        "signers: 1 of 3: m0".into(),
        format!("payload: SHA-256 {payload}"),
        format!("committee: {identity}"),
        format!("roots: {digest}"),
    ];
    assert_eq!(alone.lines()[..4], expected);
    place.refused(&verify("--expect-roots 00"), "list of roots is");
    // Another payload, kind, label or domain than the expected one.
    place.put("payload", b"something else");
    place.invalid(&verify(""), "another task");
    place.put("payload", b"what is decided");
    place.invalid(&verify("--consensus"), "another task");
    let label = verify("").replace("slot-7", "slot-6");
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
        let more = "--content slot-7 --pk-out pk";
        place.with_closed_output(&place.verify("aggregate", "round", more));
        assert!(!place.exists("pk") && !place.exists("verifier"));
    }
}

/// The rule is fixed by the plan.
#[test]
fn plans_have_a_quorum_rule() {
    let place = Place::new("policy");
    for n in 0..3 {
        place.good(&own("init", n, &format!("--id m{n}")));
    }
    let plan = |epoch: usize, more: &str| {
        format!("plan --committee committee --all-registered --content c --epoch {epoch} {more}")
    };
    let range = "threshold of the quorum rule out of range";
    for (more, why) in [
        ("--quorum 0", range),
        ("--quorum 4", range),
        ("--threshold 1", "--weights <FILE>"),
        ("--weights weights", "--threshold"),
        ("--weights weights --threshold 1", "weights"),
    ] {
        place.refused(&plan(1, more), why);
    }
    place.refused("plan --committee committee --content c", "--members");
    let with_weights = |threshold: u64| format!("--weights weights --threshold {threshold}");
    for (text, threshold, why) in [
        (&b"m0 5\nm1 \x1b[2J\n"[..], 5, "line 2: not a member's name"),
        (b"m0 5\nm9 7\n", 5, "unknown member"),
        (b"m\xff 5\n", 5, "not text"),
        (b"m0 18446744073709551615\nm1 1\n", 5, range),
        (b"m0 0\nm1 0\n", 1, range),
        (b"m0 5\nm1 7\n", 13, range),
    ] {
        place.put("weights", text);
        let run = place.refused(&plan(1, &with_weights(threshold)), why);
        assert!(!run.stderr.contains('\u{1b}') && !place.exists("committee/epoch-1"));
    }
    place.put("weights", "\u{feff}m0 5\r\n\r\nm1 7\r\n".as_bytes());
    for (epoch, more, rule) in [
        (1, with_weights(5), "weight 5 of 12"),
        (2, "--quorum 2".into(), "2 of 3 members"),
        (3, String::new(), "3 of 3 members"),
    ] {
        let planned = place.good(&plan(epoch, &more));
        assert_eq!(planned.lines()[2], format!("quorum: {rule}"));
        assert_eq!(planned.lines().len(), 6);
        assert_eq!(place.status(epoch, "quorum"), rule);
        assert_eq!(
            planned.lines()[0],
            format!("committee: {}", place.status(epoch, "committee"))
        );
    }
}
