//! Private keys in forms from before RFC 9881, JSON Web Keys and COSE keys.

use super::*;

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let head = match len {
        0..=0x7f => vec![tag, len as u8],
        0x80..=0xff => vec![tag, 0x81, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [head, content.to_vec()].concat()
}

/// PKCS#8 with the given content of `privateKey`.
fn pkcs8(set: Set, inner: &[u8]) -> Vec<u8> {
    let mut algorithm = *b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11";
    algorithm[12] += set as u8;
    let content = [&b"\x02\x01\x00"[..], &algorithm, &der(4, inner)].concat();
    der(0x30, &content)
}

/// The forms that OpenSSL 3.5 reads beside those of the RFC, and that of Bouncy Castle 1.79.
#[test]
fn older_private_keys_are_read() {
    let folder = Folder::new("older");
    for set in Set::ALL {
        let seed = published_seed();
        let (pk, sk) = set.keygen(&seed);
        let [mut other_pk, mut other_sk] = [pk.clone(), sk.clone()];
        *other_pk.last_mut().unwrap() ^= 1;
        *other_sk.last_mut().unwrap() ^= 1;
        let join = |parts: &[&[u8]]| parts.concat();
        let tagged = |content: &[u8]| der(4, content);
        let forms = [
            (seed.to_vec(), "seed", "seed without a tag"),
            (sk.clone(), "expanded", "expanded key without a tag"),
            (tagged(&seed), "seed", "seed as an OCTET STRING"),
            (
                tagged(&join(&[&sk, &pk])),
                "expanded",
                "expanded and public key, joined",
            ),
            (
                tagged(&join(&[&seed, &sk])),
                "both",
                "seed and expanded key, joined",
            ),
            (
                join(&[&sk, &pk]),
                "expanded",
                "two keys, joined, without a tag",
            ),
            (
                join(&[&seed, &sk]),
                "both",
                "two keys, joined, without a tag",
            ),
        ];
        let modern = [
            der(0x80, &seed),
            tagged(&sk),
            der(0x30, &join(&[&tagged(&seed), &tagged(&sk)])),
        ];
        for (inner, form, name) in forms {
            folder.put("key", &pkcs8(set, &inner));
            let run = folder.good("inspect key");
            assert!(
                run.stdout
                    .contains(&format!("form:        {form}\nolder_form:  {name}\n")),
                "{}",
                run.stdout
            );
            let run = folder.good("pubkey key --format hex");
            assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
            folder.good(&format!(
                "convert key --form {form} --format der --force -o new"
            ));
            let expected = match form {
                "seed" => &modern[0],
                "expanded" => &modern[1],
                _ => &modern[2],
            };
            assert_eq!(folder.get("new"), pkcs8(set, expected), "{name}");
            let run = folder.good("inspect new");
            assert!(!run.stdout.contains("older_form"));
        }
        for inner in [
            tagged(&join(&[&other_sk, &pk])),
            tagged(&join(&[&sk, &other_pk])),
            join(&[&seed, &other_sk]),
            other_sk.clone(),
        ] {
            folder.put("key", &pkcs8(set, &inner));
            let run = folder.run("inspect key", b"");
            assert!(
                run.code == 1 && run.stdout.contains("consistent:  no"),
                "{}",
                run.stdout
            );
            folder.unusable("pubkey key", b"", "");
        }
        for inner in [
            vec![],
            vec![7; 31],
            vec![7; 33],
            sk[1..].to_vec(),
            tagged(&seed[1..]),
            join(&[&pk, &[0]]),
        ] {
            folder.put("key", &pkcs8(set, &inner));
            let run = folder.run("convert key", b"");
            assert_eq!((run.code, run.stdout.len()), (2, 0));
        }
    }
}

/// What the structure of a file is refused for.
#[test]
fn refusals_say_what_is_wrong() {
    let folder = Folder::new("refusals");
    let (pk, _) = Set::MlDsa44.keygen(&published_seed());
    let seed = der(0x80, &published_seed());
    let public = der(0x81, &[&[0][..], &pk].concat());
    let with = |version: u8, tail: &[u8]| {
        let algorithm = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11";
        let head = [&[2, 1, version], &algorithm[..]].concat();
        der(0x30, &[&head[..], &der(4, &seed), tail].concat())
    };
    for (content, why) in [
        (with(0, &public), "of version 0 with a public key"),
        (with(1, &[]), "of version 1 without one"),
        (with(0, &[0xa0, 1, 0xff]), "malformed attributes of PKCS#8"),
        (
            with(0, &der(0xa0, &[0; 144])),
            "malformed attributes of PKCS#8",
        ),
        (
            with(1, &[&public[..], &[0xa0, 0]].concat()),
            "malformed PKCS#8",
        ),
        (with(2, &[]), "malformed PKCS#8"),
        (pkcs8(Set::MlDsa44, &[5, 0]), "none of the three forms"),
    ] {
        folder.put("key", &content);
        folder.unusable("inspect key", b"", why);
        folder.unusable("convert key", b"", why);
    }
    folder.put("key", &with(1, &public));
    folder.good("inspect key");
}

fn url(bytes: &[u8]) -> String {
    use base64ct::{Base64UrlUnpadded, Encoding};
    let mut buffer = vec![0; 2 * bytes.len()];
    Base64UrlUnpadded::encode(bytes, &mut buffer)
        .unwrap()
        .to_owned()
}

#[test]
fn json_web_keys() {
    let folder = Folder::new("jwk");
    for set in Set::ALL {
        let (pk, _) = set.keygen(&published_seed());
        let (name, public, seed) = (set.name(), url(&pk), url(&published_seed()));
        folder.put("seed", &published_seed());
        let run = folder.good(&keygen(set, "--seed-file seed --format jwk"));
        let expected = format!(
            "{{\"kty\":\"AKP\",\"alg\":\"{name}\",\"pub\":\"{public}\",\"priv\":\"{seed}\"}}\n"
        );
        assert_eq!(run.stdout, expected);
        folder.put("key", expected.as_bytes());
        let run = folder.good("pubkey key --format jwk");
        let half = format!("{{\"kty\":\"AKP\",\"alg\":\"{name}\",\"pub\":\"{public}\"}}\n");
        assert_eq!(run.stdout, half);
        // Another order, other members, white space.
        let other = format!(
            "\u{feff} {{\n \"kid\" : \"a\\u0041\", \"x\": [1, {{}}], \"priv\":\"{seed}\",\n\"pub\":\"{public}\",\"alg\":\"{name}\",\"kty\":\"AKP\" }}\n\n"
        );
        folder.put("other", other.as_bytes());
        assert_eq!(folder.good("convert other --format jwk").stdout, expected);
        let mut damaged = pk.clone();
        damaged[40] ^= 1;
        folder.put(
            "damaged",
            expected.replace(&public, &url(&damaged)).as_bytes(),
        );
        assert_eq!(folder.run("inspect damaged", b"").code, 1);
        folder.unusable("convert damaged", b"", "do not belong together");
        for (change, why) in [
            (
                expected.replace("AKP", "OKP"),
                "not a JSON Web Key of type AKP",
            ),
            (
                expected.replace("\"kty\":\"AKP\",", ""),
                "not a JSON Web Key of type AKP",
            ),
            (
                expected.replace(name, "ML-DSA-66"),
                "is not an ML-DSA parameter set",
            ),
            (expected.replace("\"pub\"", "\"bup\""), "without \"pub\""),
            (
                expected.replace(&seed, &seed[1..]),
                "base64url of the right length",
            ),
            (
                expected.replace(&seed, &format!("{seed}=")),
                "base64url of the right length",
            ),
            (
                expected.replace(&public, &public[4..]),
                "base64url of the right length",
            ),
            (
                expected.replace(&seed, &format!("\\u0041{}", &seed[1..])),
                "not those of a JSON Web Key",
            ),
            (
                expected.replace("\"alg\"", "\"kty\":\"AKP\",\"alg\""),
                "not those of a JSON Web Key",
            ),
            (
                format!("{{\"keys\":[{expected}]}}"),
                "a set of JSON Web Keys",
            ),
            ("{}".into(), "not a JSON Web Key of type AKP"),
            (
                expected.trim_end().trim_end_matches('}').into(),
                "not a key",
            ),
        ] {
            folder.put("changed", change.as_bytes());
            let run = folder.run("convert changed", b"");
            assert!(
                run.code == 2 && run.stderr.contains(why),
                "{change}: {}",
                run.stderr
            );
            assert!(!run.stderr.contains(&seed[1..20]));
        }
    }
    folder.unusable(
        "keygen --set 44 --format jwk --form both",
        b"",
        "form seed only",
    );
}

/// Appendix A.1 of RFC 9964, the keys of the seed of zeros: key identifiers, which are thumbprints
/// (RFC 7638), and the challenge hash of the signature of the example.
#[test]
fn published_json_web_keys() {
    use sha2::Digest;

    let folder = Folder::new("rfc9964");
    folder.put("seed", &[0; 32]);
    let examples = [
        (
            "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o",
            "92723543ff422332c7e57cbde0a91ced654aa9970082d27798d7f41948f5b8b0",
        ),
        (
            "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM",
            "ce63bdff46cb80901e82854dca67d1a389c63cae6556d4851a70dbcdfcd8003e\
             665045e9681520e22b6f67cac05198b8",
        ),
        (
            "tRn1JNIkgMsABVQBlXeDHxAIcclh-2IX0UdDEzPt5XU",
            "86632b2a452067018f415fd65285d456afd9f5639e9c365b7cc987a4aae2b65d\
             1bb568b6f530bc788c90c93d4502e5b6920de1e802ecbc2ae35f9b67dd028541",
        ),
    ];
    for (set, (kid, c_tilde)) in Set::ALL.into_iter().zip(examples) {
        let key = folder
            .good(&keygen(set, "--seed-file seed --format jwk"))
            .stdout;
        assert!(key.contains(&format!("\"priv\":\"{}\"", "A".repeat(43))));
        let members: serde_json::Value = serde_json::from_str(&key).unwrap();
        let thumbprint = format!(
            r#"{{"alg":{},"kty":{},"pub":{}}}"#,
            members["alg"], members["kty"], members["pub"]
        );
        assert_eq!(url(&sha2::Sha256::digest(thumbprint)), kid);
        folder.put("key", key.as_bytes());
        let header = format!(r#"{{"alg":"{}","kid":"{kid}"}}"#, set.name());
        // The payload of the examples, as it is published: encoded.
        let payload = "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4";
        let input = format!("{}.{payload}", url(header.as_bytes()));
        let run = folder.good_with("sign -k key --hex --deterministic", input.as_bytes());
        assert!(run.stdout.starts_with(c_tilde), "{}", set.name());
    }
}

#[test]
fn cose_keys() {
    let folder = Folder::new("cose");
    for set in Set::ALL {
        let (pk, _) = set.keygen(&published_seed());
        let alg = 0x2f + set as u8;
        let len = (pk.len() as u16).to_be_bytes();
        let public = [&b"\x20\x59"[..], &len, &pk].concat();
        let private = [&b"\x21\x58\x20"[..], &published_seed()].concat();
        let head = [1, 7, 3, 0x38, alg];
        let key = [&[0xa4][..], &head, &public, &private].concat();
        folder.put("seed", &published_seed());
        folder.good(&keygen(
            set,
            "--seed-file seed --format cose --force -o key",
        ));
        assert_eq!(folder.get("key"), key);
        folder.good("pubkey key --format cose --force -o half");
        assert_eq!(folder.get("half"), [&[0xa3][..], &head, &public].concat());
        // Another order, other labels, a map without a length.
        let kid = b"\x02\x43kid\x63abc\x82\x01\xf5";
        let other = [
            &[0xbf][..],
            &private,
            kid,
            &public,
            &head[2..],
            &head[..2],
            &[0xff],
        ]
        .concat();
        folder.put("other", &other);
        let run = folder.good("convert other --format hex");
        assert_eq!(run.stdout.trim_end(), SEED_HEX);
        for end in (0..key.len()).step_by(97) {
            folder.put("cut", &key[..end]);
            assert_eq!(folder.run("convert cut", b"").code, 2, "{end}");
        }
        let long = [&key[..], &[0]].concat();
        let twice = [&[0xa5][..], &head, &public, &private, &[1, 7]].concat();
        let mut foreign = key.clone();
        foreign[5] = 0x40;
        let mut damaged = key.clone();
        damaged[50] ^= 1;
        for (content, why) in [
            (long, "not a key"),
            (twice, "not a key"),
            (foreign, "not an ML-DSA parameter set"),
            (damaged, "do not belong together"),
            ([&[0xa2][..], &head].concat(), "without its public key"),
        ] {
            folder.put("changed", &content);
            folder.unusable("convert changed", b"", why);
        }
    }
}

/// Errors of `--json` are JSON on standard output, with the exit code of an error.
#[test]
fn json_errors_are_on_standard_output() {
    let folder = Folder::new("json-errors");
    folder.good("keygen --set 44 --out key");
    folder.put("junk", b"junk");
    for args in [
        "inspect --json junk",
        "inspect --json nowhere",
        "verify --json -k junk -s junk",
        "verify --json -k key -s nowhere",
        "verify --json -k key -s junk nowhere",
    ] {
        let run = folder.run(args, b"");
        assert_eq!((run.code, &*run.stderr), (2, ""), "{args}");
        let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(answer["error"].is_string(), "{}", run.stdout);
        assert_eq!(run.stdout.lines().count(), 1);
    }
}

/// `keygen` has a default set, and says which.
#[test]
fn keygen_has_a_default_set() {
    let folder = Folder::new("default-set");
    let run = folder.good("keygen --out key");
    assert_eq!(
        run.stderr,
        "mldsa: a key of ML-DSA-65, the default of --set\n"
    );
    let run = folder.good("inspect key");
    assert!(run.stdout.contains("set:         ML-DSA-65\n"));
}

/// Base64 of keys and signatures, in lines too.
#[test]
fn base64_signatures() {
    let folder = Folder::new("base64");
    for set in Set::ALL {
        folder.good(&keygen(set, "--force --out key"));
        let run = folder.good_with("sign -k key --base64 --deterministic", b"m");
        let hex = folder.good_with("sign -k key --hex --deterministic", b"m");
        let text = run.stdout.trim_end();
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(76)
            .map(|line| core::str::from_utf8(line).unwrap())
            .collect();
        let unpadded = text
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_");
        for content in [text, &lines.join("\r\n"), &unpadded, &hex.stdout] {
            folder.put("sig", content.as_bytes());
            assert_eq!(
                folder.good_with("verify -k key -s sig", b"m").stdout,
                "valid\n"
            );
        }
        folder.put("sig", &text.as_bytes()[..text.len() - 4]);
        assert_eq!(folder.run("verify -k key -s sig", b"m").code, 1);
    }
}
