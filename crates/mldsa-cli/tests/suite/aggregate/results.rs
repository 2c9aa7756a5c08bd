//! Results of `combine` and `verify`.

use fips204::ml_dsa_87::PublicKey;
use fips204::traits::{SerDes, Verifier};

use super::*;

#[test]
fn a_certificate_has_an_ordinary_signature() {
    let place = Place::new("ordinary");
    place.agreed(1);
    place.signed(1, "all");
    let verify = |certificate: &str, more: &str| {
        place.verify(certificate, &format!("--content slot-7 {more}"))
    };
    let out = "--pk-out pk --sig-out sig --message-out message --ctx-out ctx";
    let run = place.good(&verify("all", out));
    assert_eq!(run.lines()[0], "signers: 3 of 3: m0 m1 m2");
    // 8 leaves, two contents of 4 attempts: 6,144 + 4 + 96 bytes an opening.
    let object = 4627 + 35 + "TEST".len() + "slot-7".len() + "what is decided".len() + 1;
    let totals = [
        format!("aggregate: {object} bytes, signature 4627 of them"),
        format!(
            "for a verifier without the openings: {} bytes (18732 of openings)",
            object + 18_732
        ),
        "a list of 3 signatures: 13881 bytes".into(),
    ];
    assert_eq!(run.lines()[6..], totals);
    // Magic, and a length before each part.
    assert_eq!(place.get("all").len(), 8 + object + 18_732 + 4 * 4);
    // A result on standard output is alone there.
    let mut to_stdout = place.command(&verify("all", "--sig-out -"));
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
    // A byte of the signature, and one of an opening.
    let bytes = place.get("all");
    for (at, code, why) in [(3000, 1, "does not verify"), (9000, 2, "agreed root")] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        place.put("changed", &changed);
        place.fails(code, &verify("changed", ""), why);
    }
    for len in [7, 4000, bytes.len() - 1] {
        place.put("changed", &bytes[..len]);
        place.refused(&verify("changed", ""), "changed: wrong length");
    }
}

#[test]
fn verify_requires_the_expected_decision() {
    let place = Place::new("policy");
    let digest = place.agreed(1);
    place.signed_by([0], 1, "aggregate");
    let verify = |more: &str| place.verify("aggregate", &format!("--content slot-7 {more}"));
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
    let (_, attempt) = place.signed_by([0], 1, "aggregate");
    let mut piped = place.command(&own("combine", 0, &format!("{attempt} --out -")));
    let piped = piped.output().unwrap();
    assert!(piped.status.success());
    assert_eq!(piped.stdout, place.get("aggregate"));
    assert!(piped.stderr.starts_with(b"signers: 1 of 3: m0"));
    // If the report cannot be written, no result is.
    #[cfg(unix)]
    {
        let more = "--content slot-7 --pk-out pk";
        place.with_closed_output(&place.verify("aggregate", more));
        assert!(!place.exists("pk") && !place.exists("verifier"));
    }
}

/// The plan fixes the threshold.
#[test]
fn plans_have_a_threshold() {
    let place = Place::new("thresholds");
    for n in 0..3 {
        place.good(&own("init", n, &format!("--id m{n}")));
    }
    let plan = |epoch: usize, more: &str| {
        format!("plan --committee committee --all-registered --content c --epoch {epoch} {more}")
    };
    let range = "threshold out of range";
    for (more, why) in [
        ("--quorum 0", range),
        ("--quorum 4", range),
        ("--threshold 1", "--weights <FILE>"),
        ("--weights weights", "--threshold"),
        ("--weights weights --threshold 1", "weights"),
    ] {
        place.refused(&plan(1, more), why);
    }
    place.refused("plan --committee committee --content c", "--all-registered");
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
