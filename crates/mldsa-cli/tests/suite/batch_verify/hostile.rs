//! Unusable and invalid lines.

use super::*;

/// Unusable, invalid and valid lines, each with its own result: `valid`, `invalid` with a reason, or
/// the beginning of an error.
#[test]
fn hostile_lines() {
    let a = Signed::pure(Set::MlDsa44, "a");
    let good = a.line();
    let form = Form::PreHashed("SHA2-512", digest("SHA2-512", b""));
    let hashed = Signed::new(Set::MlDsa87, "h", form, b"");
    let other_len = hex::encode(&Signed::pure(Set::MlDsa65, "a").sig);
    let (long_ctx, mu) = ("00".repeat(256), "00".repeat(64));
    let bad_json = "bad JSON at column";
    let not_object = "not a JSON object";
    let not_string = r#"field "set" is not a string"#;
    let unknown = "unknown field in position";
    let more = r#"more than one of "msg", "mu" and "prehash""#;
    let both = r#""ctx" and "mu", which contains a context already"#;
    #[rustfmt::skip]
    let cases = [
        (good.clone(), "valid"),
        (format!(" \t{good} "), "valid"),
        (format!("{good}\r"), "valid"),
        (good.replace("ML-DSA-44", "ML\\u002dDSA-44"), bad_json),
        (a.with("sig", Some("")), "invalid signature_length"),
        (a.with("sig", Some(&other_len)), "invalid signature_length"),
        (a.with("pk", Some("00")), "invalid public_key_length"),
        (a.with("set", Some("ML-DSA-65")), "invalid public_key_length"),
        (a.with("ctx", Some(&long_ctx)), "invalid context_too_long"),
        (a.with("ctx", Some("00")), "invalid challenge_mismatch"),
        (a.with("msg", Some("")), "invalid challenge_mismatch"),
        (String::new(), "empty line"),
        ("   ".into(), "empty line"),
        ("nonsense".into(), not_object),
        ("[]".into(), not_object),
        ("null".into(), not_object),
        ("\u{feff}{}".into(), not_object),
        ("{".into(), "bad JSON at column 1: EOF while parsing an object"),
        (good[..good.len() - 1].into(), bad_json),
        (format!("{good}{good}"), bad_json),
        (format!("{good},"), bad_json),
        (good.replace("\"}", "\",}"), bad_json),
        ("[".repeat(100_000), not_object),
        (format!("{{\"set\":{}", "[".repeat(100_000)), bad_json),
        (format!("{{\"set\":{}", "{\"a\":".repeat(9999)), bad_json),
        (format!("{{\"set\":{}}}", "9".repeat(5000)), not_string),
        ("{\"set\":1e99999}".into(), not_string),
        ("{\"set\":44}".into(), not_string),
        ("{\"set\":null}".into(), not_string),
        ("{\"set\":\"\\ud800\"}".into(), bad_json),
        (a.with("comment", Some("x")), unknown),
        (a.with("seed", Some("00")), unknown),
        (format!("{{\"{}\":1}}", "x".repeat(900_000)), unknown),
        (good.replace("{", "{\"msg\":\"61\","), r#"field "msg" is given twice"#),
        (a.with("set", Some("ML-DSA-88")), "unknown set, none of ML-DSA-44"),
        (a.with("set", Some("ml-dsa-44")), "unknown set, none of ML-DSA-44"),
        (a.with("set", None), r#"field "set" is missing"#),
        (a.with("pk", None), r#"field "pk" is missing"#),
        (a.with("sig", None), r#"field "sig" is missing"#),
        (a.with("msg", None), r#"none of "msg", "mu" and "prehash""#),
        (a.with("mu", Some(&mu)), more),
        (a.with("digest", Some("00")), r#""digest" without "prehash""#),
        (a.with("msg", Some("0")), r#"field "msg" is not hex: odd number"#),
        (a.with("pk", Some("0g")), r#"field "pk" is not hex: bad character"#),
        (a.with("sig", Some("0x00")), r#"field "sig" is not hex: bad character"#),
        (a.with("ctx", Some("é")), r#"field "ctx" is not hex: bad character"#),
        (a.as_mu().replace("\"}", "00\"}"), r#"field "mu" has 65 bytes, not 64"#),
        (a.as_mu().replace("\"}", "\",\"ctx\":\"\"}"), both),
        (hashed.with("digest", Some("00")), r#"field "digest" has 1 bytes, not the 64 of"#),
        (hashed.with("digest", None), r#"field "digest" is missing"#),
        (hashed.with("prehash", Some("SHA512")), "unknown hash, none of SHA2-256"),
        (hashed.with("prehash", Some("SHA3-512")), "invalid challenge_mismatch"),
        (hashed.line(), "valid"),
    ];
    let cases = cases.map(|(line, answer)| (line.into_bytes(), answer));
    let bytes = [
        (b"\xff\xfe".to_vec(), not_object),
        (b"{\"set\":\"\xff\"}".to_vec(), bad_json),
        (b"{\"\xff\":\"a\"}".to_vec(), bad_json),
        (b"\0\0\0".to_vec(), not_object),
        (b"{\"set\":\"a\0\"}".to_vec(), bad_json),
        // The last line has no end of line.
        (good.into_bytes(), "valid"),
    ];
    let (lines, answers): (Vec<_>, Vec<_>) = cases.into_iter().chain(bytes).unzip();
    let input = lines.join(&b'\n');
    let threads = ["1", "2", "8"].map(|threads| ["--threads", threads]);
    for option in &threads {
        let run = mldsa(&args!["batch-verify -", ..option], &input);
        assert_eq!(run.code, 2);
        assert_eq!(run.lines().len(), answers.len());
        for (n, (answer, line)) in answers.iter().zip(run.lines()).enumerate() {
            let expected = match answer.split_once(' ') {
                None => valid(n + 1),
                Some(("invalid", reason)) => invalid(n + 1, reason),
                Some(_) => {
                    let error: serde_json::Value = serde_json::from_str(line).unwrap();
                    let text = error["error"].as_str().unwrap();
                    assert!(text.starts_with(answer), "{line}\nis not\n{answer}");
                    assert!(line.len() < 250, "{line}");
                    continue;
                }
            };
            assert_eq!(line, expected);
        }
    }
}

#[test]
fn line_lengths() {
    let good = Signed::pure(Set::MlDsa44, "a").line();
    let max = good.len().to_string();
    let too_long = format!("line longer than {max} bytes");
    let lines = [
        good.clone(),
        format!("{good} "),
        good.clone(),
        " ".repeat(20 << 20),
        good,
    ];
    for end in ["\n", "\r\n"] {
        let input = lines.join(end);
        let run = mldsa(&args!["batch-verify - --max-line", &max], input.as_bytes());
        assert_eq!(
            run.lines(),
            [
                valid(1),
                error(2, &too_long),
                valid(3),
                error(4, &too_long),
                valid(5)
            ]
        );
        assert_eq!(run.code, 2);
    }
    // The default is 1 MiB.
    let input = format!("{}\n{}\n", " ".repeat(1 << 20), " ".repeat((1 << 20) + 1));
    let run = mldsa(&args!["batch-verify -"], input.as_bytes());
    assert_eq!(
        run.lines(),
        [
            error(1, "empty line"),
            error(2, "line longer than 1048576 bytes")
        ]
    );
}
