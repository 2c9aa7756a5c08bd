//! `mldsa batch-sign`: the same bytes as the peer, round trips, rejected lines.

use mldsa_core::Set;

use crate::peer::{Form, HASHES, Peer as _, bytes, message_fields, object, seed};
use crate::tool::{args, mldsa};

/// One request and what the peer makes of it.
struct Case {
    set: Set,
    key: [u8; 32],
    form: Form,
    ctx: Vec<u8>,
    rnd: Option<[u8; 32]>,
    from_sk: bool,
    as_mu: bool,
}

impl Case {
    /// Number of cases: every hash, the pure form and `mu` under every set, each with both forms of
    /// the key, with and without `rnd`.
    const COUNT: usize = 3 * (HASHES.len() + 8);

    fn new(number: usize) -> Self {
        let label = format!("sign {number}");
        let random = bytes(&label, 2);
        let (set, kind) = (Set::ALL[number % 3], number / 3);
        let msg = bytes(&format!("{label} msg"), usize::from(random[0]) * 2);
        let ctx_len = usize::from(random[1]) * (kind >> 1 & 1);
        Self {
            set,
            // Neighbours share a key.
            key: seed(&format!("sign key {}", number / 6)),
            form: match HASHES.get(kind) {
                Some(hash) => Form::PreHashed(hash.name, hash.digest(&msg)),
                None => Form::Pure(msg),
            },
            ctx: bytes(&format!("{label} ctx"), ctx_len),
            rnd: (kind & 1 == 1).then(|| seed(&format!("{label} rnd"))),
            from_sk: number & 1 == 1,
            as_mu: kind >= HASHES.len() + 4,
        }
    }

    /// The line of a request: the fields given, and those of the message.
    fn line(&self, first: &[(&'static str, String)]) -> String {
        let mut fields = vec![("set", self.set.name().to_owned())];
        fields.extend_from_slice(first);
        let (pk, _) = self.set.keygen(&self.key);
        fields.extend(message_fields(&pk, &self.form, &self.ctx, self.as_mu));
        object(&fields) + "\n"
    }

    fn sign_line(&self) -> String {
        let mut fields = vec![if self.from_sk {
            ("sk", hex::encode(self.set.keygen(&self.key).1))
        } else {
            ("seed", hex::encode(self.key))
        }];
        fields.extend(self.rnd.map(|rnd| ("rnd", hex::encode(rnd))));
        self.line(&fields)
    }
}

/// Byte-identical to the peer, verified by the peer and by `batch-verify`.
#[test]
fn deterministic_signatures_equal_those_of_the_peer() {
    let cases: Vec<Case> = (0..Case::COUNT).map(Case::new).collect();
    let input: String = cases.iter().map(Case::sign_line).collect();
    let args = args!["batch-sign - --allow-weak-prehash --deterministic --threads"];
    let signed = mldsa(&args![..args, "2"], input.as_bytes());
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    let n = Case::COUNT;
    let summary = format!("{n} lines: {n} signed, 0 public keys, 0 unusable in ");
    assert!(signed.stderr.starts_with(&summary), "{}", signed.stderr);

    let mut votes = String::new();
    assert_eq!(signed.lines().len(), cases.len());
    for (number, (case, line)) in cases.iter().zip(signed.lines()).enumerate() {
        let Case {
            set,
            key,
            form,
            ctx,
            rnd,
            ..
        } = case;
        let (pk, _) = set.keygen(key);
        let sig = set.sign(key, &rnd.unwrap_or_default(), form, ctx);
        let (pk_hex, sig_hex) = (hex::encode(&pk), hex::encode(&sig));
        let expected = format!(
            "{{\"line\":{},\"pk\":\"{pk_hex}\",\"sig\":\"{sig_hex}\"}}",
            number + 1
        );
        assert_eq!(line, expected);
        assert!(set.verify(&pk, &sig, form, ctx));
        votes += &case.line(&[("pk", pk_hex), ("sig", sig_hex)]);
    }
    for threads in ["1", "8"] {
        let again = mldsa(&args![..args, threads], input.as_bytes());
        assert_eq!(again.stdout, signed.stdout);
    }
    let verified = mldsa(
        &args!["batch-verify - --allow-weak-prehash"],
        votes.as_bytes(),
    );
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    assert_eq!(verified.lines().len(), cases.len());
}

/// Without `rnd` and `--deterministic` every signature is another one, and valid.
#[test]
fn signing_is_hedged_by_default() {
    for set in Set::ALL {
        let key = seed("hedged");
        let line = |rest: &str| {
            let (set, key) = (set.name(), hex::encode(key));
            format!("{{\"set\":\"{set}\",\"seed\":\"{key}\",\"msg\":\"6d\"{rest}}}\n")
        };
        let zeros = line(&format!(",\"rnd\":\"{}\"", "00".repeat(32)));
        let input = line("") + &line("") + &zeros + &zeros;
        let sign = |more: &[&str]| {
            let args = args!["batch-sign -", ..more];
            let run = mldsa(&args, input.as_bytes());
            assert_eq!(run.code, 0, "{}", run.stderr);
            let signatures = run.lines().into_iter().map(|line| {
                let hex = line.split("\"sig\":\"").nth(1).unwrap();
                hex::decode(hex.trim_end_matches("\"}")).unwrap()
            });
            <[Vec<u8>; 4]>::try_from(signatures.collect::<Vec<_>>()).unwrap()
        };
        let (pk, _) = set.keygen(&key);
        let form = Form::Pure(b"m".into());
        let fixed = set.sign(&key, &[0; 32], &form, b"");
        let [a, b, given, again] = sign(&[]);
        for fresh in [&a, &b] {
            assert!(set.verify(&pk, fresh, &form, b""));
            assert_ne!(*fresh, fixed, "no fresh randomness");
        }
        assert_ne!(a, b, "one randomness for two lines");
        assert_eq!([given, again], [fixed.clone(), fixed.clone()]);
        assert_eq!(sign(&["--deterministic"]), [(); 4].map(|()| fixed.clone()));
    }
}

#[test]
fn a_line_with_a_key_only_returns_the_public_key() {
    let key = seed("public");
    let mut input = String::new();
    let mut expected = Vec::new();
    for set in Set::ALL {
        let (pk, sk) = set.keygen(&key);
        for field in [("seed", &key[..]), ("sk", &sk)] {
            let name = set.name();
            input += &format!(
                "{{\"{}\":\"{}\",\"set\":\"{name}\"}}\n",
                field.0,
                hex::encode(field.1)
            );
            expected.push(format!(
                "{{\"line\":{},\"pk\":\"{}\"}}",
                expected.len() + 1,
                hex::encode(&pk)
            ));
        }
    }
    let run = mldsa(&args!["batch-sign -"], input.as_bytes());
    assert_eq!(run.lines(), expected);
    assert_eq!(run.code, 0);
    assert!(
        run.stderr
            .starts_with("6 lines: 0 signed, 6 public keys, 0 unusable in ")
    );
}

#[test]
fn hostile_lines() {
    let key = seed("hostile");
    let seed_hex = hex::encode(key);
    let (_, sk) = Set::MlDsa44.keygen(&key);
    let sk_hex = hex::encode(&sk);
    // s1 follows rho, K and tr; a coefficient of 7 is out of range at eta 2.
    let mut out_of_range = sk.clone();
    out_of_range[128] |= 0x07;
    let mut other_t0 = sk.clone();
    other_t0[2559] ^= 1;
    let mut other_tr = sk.clone();
    other_tr[64] ^= 1;
    let mut other_rho = sk;
    other_rho[0] ^= 1;
    let line = |rest: &str| format!("{{\"set\":\"ML-DSA-44\",{rest}}}");
    let with_key = |rest: &str| line(&format!("\"seed\":\"{seed_hex}\",{rest}"));
    let with_sk = |sk: &[u8]| line(&format!("\"sk\":\"{}\"", hex::encode(sk)));
    let ctx = |len| with_key(&format!(r#""msg":"","ctx":"{}""#, "00".repeat(len)));
    let unrelated = r#"field "sk" is rejected: private key parts do not belong"#;
    let (mu, weak) = ("00".repeat(64), "00".repeat(28));
    #[rustfmt::skip]
    let cases = [
        (line(&format!("\"seed\":\"{seed_hex}\"")), ""),
        (with_key(r#""msg":"""#), ""),
        (ctx(255), ""),
        (ctx(256), r#"field "ctx" has more than 255 bytes"#),
        (line(r#""msg":"""#), r#"neither "seed" nor "sk""#),
        (with_key(&format!(r#""sk":"{sk_hex}""#)), r#"both "seed" and "sk""#),
        (line(&format!(r#""seed":"{seed_hex}00""#)), r#"field "seed" has 33 bytes, not 32"#),
        (line(r#""seed":"""#), r#"field "seed" has 0 bytes, not 32"#),
        (line(&format!(r#""sk":"{sk_hex}00""#)), r#"field "sk" has 2561 bytes, not the 2560 of ML-DSA-44"#),
        (with_sk(&out_of_range), r#"field "sk" is rejected: secret coefficient out of range"#),
        (with_sk(&other_t0), unrelated),
        (with_sk(&other_tr), unrelated),
        (with_sk(&other_rho), unrelated),
        (with_key(r#""msg":"","rnd":"00""#), r#"field "rnd" has 1 bytes, not 32"#),
        (with_key(&format!(r#""rnd":"{seed_hex}""#)), r#""rnd" without a message"#),
        (with_key(r#""ctx":"00""#), r#""ctx" without a message"#),
        (with_key(r#""digest":"00""#), r#""digest" without "prehash""#),
        (with_key(r#""prehash":"SHA2-256""#), r#"field "digest" is missing"#),
        (with_key(r#""prehash":"MD5","digest":"00""#), "unknown hash, none of SHA2-256"),
        (with_key(&format!(r#""prehash":"SHA2-224","digest":"{weak}""#)), "SHA2-224 is too weak for ML-DSA-44"),
        (with_key(r#""mu":"00""#), r#"field "mu" has 1 bytes, not 64"#),
        (with_key(&format!(r#""mu":"{mu}","ctx":"""#)), r#""ctx" and "mu""#),
        (with_key(&format!(r#""mu":"{mu}","msg":"""#)), "more than one of"),
        (with_key(r#""pk":"00""#), "unknown field in position"),
        (with_key(r#""msg":7"#), r#"field "msg" is not a string"#),
        (r#"{"set":"Dilithium2"}"#.into(), "unknown set, none of ML-DSA-44"),
        (String::new(), "empty line"),
        ("{]".into(), "bad JSON at column 2"),
    ];
    let input = cases.each_ref().map(|(line, _)| line.as_str()).join("\r\n");
    let args = args!["batch-sign - --deterministic"];
    let run = mldsa(&args, input.as_bytes());
    assert_eq!(run.code, 2);
    assert_eq!(run.lines().len(), cases.len());
    for ((_, error), line) in cases.iter().zip(run.lines()) {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        match answer["error"].as_str() {
            Some(text) if !error.is_empty() => assert!(text.starts_with(error), "{line}\n{error}"),
            found => assert!(found.is_none() && error.is_empty(), "{line}\n{error}"),
        }
    }
    // No answer and no summary repeats a private key, in any field.
    let swapped = [
        format!("{{\"{seed_hex}\":\"seed\"}}"),
        format!("{{\"set\":\"{seed_hex}\",\"seed\":\"ML-DSA-44\"}}"),
        with_key(&format!("\"prehash\":\"{seed_hex}\"")),
        format!("{{\"seed\":{}}}", "1".repeat(64)),
        line(&format!("\"seed\":\"{seed_hex}g\"")),
        line(&format!("\"seed\":[\"{seed_hex}\"]")),
        format!("\"{seed_hex}\""),
    ];
    let other = mldsa(&args!["batch-sign -"], swapped.join("\n").as_bytes());
    assert_eq!((other.code, other.lines().len()), (2, swapped.len()));
    assert!(!other.stdout.contains("1111"), "{}", other.stdout);
    assert!(!other.stdout.contains(&seed_hex[..8]), "{}", other.stdout);
    assert!(!run.stdout.contains(&seed_hex) && !run.stderr.contains(&seed_hex));
    assert!(!run.stdout.contains(&sk_hex[200..260]));
}

#[test]
fn empty_input_and_missing_file() {
    let run = mldsa(&args!["batch-sign -"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert_eq!(mldsa(&["batch-sign", "no such file"], b"").code, 2);
}

/// An `id` is repeated in every answer that has a line to it, and `--echo` feeds `batch-verify`.
#[test]
fn ids_and_echoed_answers() {
    let seed = hex::encode(seed("echo"));
    let digest = "00".repeat(64);
    let request = |set: Set, id: &str, rest: &str| {
        format!(
            "{{\"set\":\"{}\",\"seed\":\"{seed}\",{id}{rest}}}\n",
            set.name()
        )
    };
    let mut input = String::new();
    for set in Set::ALL {
        input += &request(set, "\"id\":\"tx-1 \u{e9}\",", "\"msg\":\"6d\"");
        input += &request(set, "", "\"msg\":\"\",\"ctx\":\"00ff\"");
        input += &request(set, "\"id\":\"\",", &format!("\"mu\":\"{digest}\""));
        input += &request(
            set,
            "",
            &format!("\"prehash\":\"SHA2-512\",\"digest\":\"{digest}\",\"ctx\":\"\""),
        );
    }
    let signed = mldsa(&args!["batch-sign --echo -"], input.as_bytes());
    assert_eq!(
        (signed.code, signed.lines().len()),
        (0, 12),
        "{}",
        signed.stderr
    );
    assert!(!signed.stdout.contains(&seed));
    let verified = mldsa(&args!["batch-verify -"], signed.stdout.as_bytes());
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    for (n, line) in verified.lines().into_iter().enumerate() {
        let id = ["\"id\":\"tx-1 \u{e9}\",", "", "\"id\":\"\",", ""][n % 4];
        assert_eq!(line, format!("{{\"line\":{},{id}\"valid\":true}}", n + 1));
    }
    // Answers to lines that are not usable have the id too, and one that was changed is invalid.
    let errors = request(Set::ALL[0], "\"id\":\"a\",", "\"mu\":\"00\"");
    let run = mldsa(&args!["batch-sign -"], errors.as_bytes());
    assert!(
        run.stdout
            .starts_with("{\"line\":1,\"id\":\"a\",\"error\":"),
        "{}",
        run.stdout
    );
    let changed = signed
        .stdout
        .replacen("\"msg\":\"6d\"", "\"msg\":\"6e\"", 1);
    let run = mldsa(&args!["batch-verify -"], changed.as_bytes());
    assert_eq!(run.code, 1);
    assert!(
        run.stdout
            .starts_with("{\"line\":1,\"id\":\"tx-1 \u{e9}\",\"valid\":false")
    );
    for (id, why) in [
        ("7", "is not a string"),
        ("\"a\\u0041\"", "escape"),
        ("\"a\",\"id\":\"b\"", "twice"),
    ] {
        let line = request(Set::ALL[0], &format!("\"id\":{id},"), "\"msg\":\"00\"");
        let run = mldsa(&args!["batch-sign -"], line.as_bytes());
        assert!(run.code == 2 && run.stdout.contains(why), "{}", run.stdout);
    }
    // A number of a line is accepted, other numbers are not.
    for (line, code) in [("7", 0), ("\"7\"", 0), ("7.5", 2), ("-7", 2), ("null", 2)] {
        let text = signed
            .stdout
            .lines()
            .next()
            .unwrap()
            .replacen(":1,", &format!(":{line},"), 1);
        assert_eq!(
            mldsa(&args!["batch-verify -"], text.as_bytes()).code,
            code,
            "{line}"
        );
    }
}
