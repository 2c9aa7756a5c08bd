//! Forms and formats of key files.

use super::*;

#[test]
fn keygen_golden() {
    let folder = Folder::new("keygen");
    folder.put("seed.hex", format!("{SEED_HEX}\n").as_bytes());
    folder.put("seed.raw", &published_seed());
    for seed in ["seed.hex", "seed.raw"] {
        for set in ["44", "ML-DSA-44", "ml-dsa-44", "Ml-Dsa-44"] {
            let run = folder.good(&format!("keygen --set {set} --seed-file {seed}"));
            assert_eq!(run.stdout, SEED_PEM);
        }
        let hex = folder.good(&format!("keygen --set 44 --seed-file {seed} --format hex"));
        assert_eq!(hex.stdout, format!("{SEED_HEX}\n"));
    }
    for set in Set::ALL {
        let (pk, sk) = set.keygen(&published_seed());
        let keygen = keygen(set, "--seed-file seed.raw --form expanded");
        let run = folder.good(&format!("{keygen} --format hex"));
        assert_eq!(run.stdout.trim_end(), hex::encode(&sk));
        folder.good(&format!("{keygen} --format der --force -o expanded.der"));
        assert!(folder.get("expanded.der").ends_with(&sk));
        let run = folder.good("pubkey expanded.der --format hex");
        assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
    }
    let both = "keygen --set 44 --form both --format raw";
    folder.unusable(both, b"", "seed and expanded key need PEM or DER");
    folder.put("short", &[7; 31]);
    folder.unusable(
        "keygen --set 44 --seed-file short",
        b"",
        "not 32 bytes of a seed",
    );
    folder.unusable("keygen --set 66", b"", "invalid value");
    // Fresh keys differ.
    let fresh = || folder.good("keygen --set 44 --format hex").stdout;
    assert_ne!(fresh(), fresh());
}

#[test]
fn inspect_golden() {
    let folder = Folder::new("inspect");
    folder.put("key.pem", SEED_PEM.as_bytes());
    let (pk, mut sk) = Set::MlDsa44.keygen(&published_seed());
    let tr = hex::encode(&sk[64..128]);
    folder.put("pk.raw", &pk);
    sk[64] ^= 1;
    folder.put("sk.hex", hex::encode(&sk).as_bytes());
    let unrelated = "private key parts do not belong together";
    let good = format!(
        "consistent:  yes\nfingerprint: {}\ntr:          {tr}",
        &tr[..32]
    );
    let bad = format!("consistent:  no: {unrelated}");
    #[rustfmt::skip]
    let keys = [
        ("key.pem", 0, "private key", "PEM", format!("form:        seed\n{good}")),
        ("pk.raw --set 44", 0, "public key", "raw", good),
        ("sk.hex", 1, "private key", "hex", format!("form:        expanded\n{bad}")),
    ];
    for (args, code, kind, format, rest) in keys {
        let run = folder.run(&format!("inspect {args}"), b"");
        let expected =
            format!("kind:        {kind}\nformat:      {format}\nset:         ML-DSA-44\n{rest}\n");
        assert_eq!((run.code, run.stdout), (code, expected));
    }
    let run = folder.good("inspect --json pk.raw");
    let expected = format!(
        "{{\"kind\":\"public key\",\"format\":\"raw\",\"set\":\"ML-DSA-44\",\
         \"fingerprint\":\"{}\",\"tr\":\"{tr}\",\"consistent\":true}}\n",
        &tr[..32]
    );
    assert_eq!(run.stdout, expected);
    let run = folder.run("inspect --json sk.hex", b"");
    let expected = format!(
        "{{\"kind\":\"private key\",\"format\":\"hex\",\"set\":\"ML-DSA-44\",\
         \"form\":\"expanded\",\"problem\":\"{unrelated}\",\"consistent\":false}}\n"
    );
    assert_eq!((run.code, run.stdout), (1, expected));

    folder.unusable(
        "inspect key.pem --set 65",
        b"",
        "a key of ML-DSA-44, not of ML-DSA-65",
    );
    folder.unusable("inspect missing", b"", "missing");
    let label = SEED_PEM.replace("PRIVATE KEY", "EC PRIVATE KEY");
    for (content, why) in [
        (&b""[..], "not a key"),
        (&[1; 32], "use --set"),
        (
            label.as_bytes(),
            "PEM of EC PRIVATE KEY, not of PRIVATE KEY, ",
        ),
        (&[b'-'; 70_000], "too long"),
    ] {
        folder.put("file", content);
        folder.unusable("inspect file", b"", why);
    }
}

/// The forms and formats of a private key.
const ENCODINGS: [(&str, &str); 13] = [
    ("seed", "pem"),
    ("seed", "der"),
    ("seed", "raw"),
    ("seed", "hex"),
    ("both", "pem"),
    ("both", "der"),
    ("expanded", "pem"),
    ("expanded", "der"),
    ("expanded", "raw"),
    ("expanded", "hex"),
    ("seed", "base64"),
    ("seed", "jwk"),
    ("seed", "cose"),
];

/// Every format is read and written under every set; every pair of formats under one set, and from
/// one format under the others.
#[test]
fn every_format_of_every_key_is_read_and_written() {
    let folder = Folder::new("formats");
    for set in Set::ALL {
        let seed = crate::peer::seed(set.name());
        folder.put("seed", &seed);
        let (pk, _) = set.keygen(&seed);
        for (form, format) in ENCODINGS {
            let to = format!("--form {form} --format {format} --force -o {form}.{format}");
            folder.good(&keygen(set, &format!("--seed-file seed {to}")));
        }
        for (known, encoding) in ENCODINGS {
            let from = format!("{known}.{encoding} --set {}", number(set));
            let all = set == Set::MlDsa44 || (known, encoding) == ("both", "der");
            let formats = ["hex", "pem", "der", "raw", "base64", "jwk", "cose"];
            for format in &formats[..if all { 7 } else { 1 }] {
                folder.good(&format!(
                    "pubkey {from} --format {format} --force -o public"
                ));
                let run = folder.good("pubkey public --format hex");
                assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
            }
            for (form, format) in ENCODINGS.into_iter().filter(|_| all) {
                let args = format!("convert {from} --form {form} --format {format}");
                let args = format!("{args} --force -o converted");
                if known == "expanded" && form != "expanded" {
                    folder.unusable(&args, b"", "the seed of this key is not known");
                } else {
                    folder.good(&args);
                    let expected = folder.get(&format!("{form}.{format}"));
                    assert_eq!(folder.get("converted"), expected);
                }
            }
        }
        folder.unusable("convert public", b"", "a public key");
        let both = "convert seed.der --form both --format raw";
        folder.unusable(both, b"", "need PEM or DER");
    }
}

/// Keys that are padded or cut to the length of a raw public key.
#[test]
fn private_keys_are_not_read_as_raw_public_keys() {
    let folder = Folder::new("padded");
    let seed = published_seed();
    let (pk, _) = Set::MlDsa44.keygen(&seed);
    let pk = format!("{}\n", hex::encode(pk));
    let pad = |bytes: &[u8], len: usize, with: u8| {
        let mut bytes = bytes.to_vec();
        bytes.resize(len, with);
        bytes
    };
    let noise = crate::peer::bytes("noise", 2592);
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let inside = |text: &[u8], at: usize, len: usize| {
        let mut bytes = noise[..len].to_vec();
        bytes[at..at + text.len()].copy_from_slice(text);
        bytes
    };
    let json = format!("{{\"alg\":\"ML-DSA-44\",\"priv\":\"{SEED_HEX}\"}}");
    let mut rejected = 0;
    for len in [1312, 1952, 2592] {
        let attribute = pkcs8_with_attribute(&seed, len);
        let mut malformed = attribute.clone();
        malformed[6] ^= 2;
        for private in [
            attribute,
            malformed,
            pad(&pkcs8_with_attribute(&seed, len - 300), len, 0),
            pad(SEED_PEM.as_bytes(), len, b'\n'),
            [&b"# my key\n"[..], &pad(SEED_PEM.as_bytes(), len - 9, b' ')].concat(),
            pad(json.as_bytes(), len, b' '),
            pad(&wide(SEED_PEM), len, b' '),
            pad(&wide(&format!("\u{feff}{SEED_PEM}")), len, 0),
            inside(&wide(SEED_HEX), 0, len),
            inside(SEED_PEM.as_bytes(), 14, len),
            inside(SEED_HEX.as_bytes(), 100, len),
        ] {
            assert_eq!(private.len(), len);
            for content in [&private[..], hex::encode(&private).as_bytes()] {
                folder.put("key", content);
                // A private key gives its own public key or none.
                let run = folder.run("pubkey key --format hex", b"");
                assert!((run.code == 0 && run.stdout == pk) || run.stdout.is_empty());
                rejected += usize::from(run.code == 2);
                let run = folder.run("inspect key", b"");
                assert!(!run.stdout.contains("public key"), "{}", run.stdout);
            }
        }
    }
    assert!(rejected >= 57, "{rejected}");
    // The noise alone is a public key.
    folder.put("key", &noise[..1952]);
    folder.good("pubkey key");
    // With the attribute the key is an ordinary PKCS#8 file.
    folder.put("key", &pkcs8_with_attribute(&seed, 1952));
    let run = folder.good("inspect key");
    let expected = "private key\nformat:      DER\nset:         ML-DSA-44";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
}

/// PKCS#8 of an ML-DSA-44 seed with one attribute that fills it up to `len` bytes.
fn pkcs8_with_attribute(seed: &[u8], len: usize) -> Vec<u8> {
    let long = |tag: u8, content: &[u8]| {
        let len = content.len();
        [&[tag, 0x82, (len >> 8) as u8, len as u8], content].concat()
    };
    let algorithm = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11";
    let key = [&b"\x04\x22\x80\x20"[..], seed].concat();
    let head = [&b"\x02\x01\x00"[..], algorithm, &key].concat();
    // friendlyName, a BMPString: 4 bytes of header for each of the layers.
    let name = vec![0x20; len - head.len() - 20 - 11];
    let oid = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x14";
    let values = long(0x31, &long(0x04, &name));
    let attribute = long(0x30, &[&oid[..], &values].concat());
    let der = long(0x30, &[head, long(0xa0, &attribute)].concat());
    assert_eq!(der.len(), len);
    der
}

#[test]
fn errors_name_the_kind_of_file() {
    let folder = Folder::new("names");
    let pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (content, why) in [
        (pem.as_bytes(), "openssl pkcs8"),
        // SEQUENCE { SEQUENCE { PBES2 } OCTET STRING }
        (
            b"\x30\x0f\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d\x04\x00",
            "openssl pkcs8",
        ),
        (b"\x30\x00", "of no key that can be used"),
        (&[7; 2420], "as long as a signature"),
        (&[7; 2421], ": not a key"),
    ] {
        folder.put("file", content);
        folder.unusable("inspect file", b"", why);
        folder.unusable("sign -k file", b"", why);
    }
}

/// Digits of half the expected length are not taken as bytes.
#[test]
fn digits_are_never_raw_bytes() {
    let folder = Folder::new("digits");
    folder.put("key", SEED_PEM.as_bytes());
    for text in [
        &SEED_HEX[..32],
        &format!("{}\n", &SEED_HEX[..31]),
        &format!("{}\r\n", &SEED_HEX[..30]).to_uppercase(),
    ] {
        assert_eq!(text.len(), 32);
        folder.put("seed", text.as_bytes());
        folder.unusable("keygen --set 44 --seed-file seed", b"", "64 hex");
        for command in ["pubkey seed", "inspect seed", "sign -k seed"] {
            folder.unusable(&format!("{command} --set 44"), b"m", "64 for a seed");
        }
    }
    for text in [SEED_HEX.into(), format!("{}\n", &SEED_HEX[..63])] {
        folder.unusable("sign -k key --mu --hex", text.as_bytes(), "128 hex");
    }
    // Other bytes are raw, also where DER would begin.
    let der = *b"\x30\x1e..............................";
    for seed in [[0xff; 32], [b' '; 32], der, [b'g'; 32]] {
        folder.put("seed", &seed);
        let run = folder.good("keygen --set 44 --format hex --seed-file seed");
        assert_eq!(run.stdout.trim_end(), hex::encode(seed));
        folder.good("inspect --set 44 seed");
    }
}

/// `xxd -p` breaks lines, `od -An -tx1` writes spaces too.
#[test]
fn digits_may_be_in_lines() {
    let folder = Folder::new("digits-in-lines");
    let (set, seed) = (Set::MlDsa44, published_seed());
    let (pk, sk) = set.keygen(&seed);
    let sig = set.sign(&seed, &[0; 32], &Form::Pure(b"m".to_vec()), b"");
    let mu = crate::peer::mu(&pk, b"m", b"");
    for (columns, space, end) in [(30, "", "\n"), (30, "", "\r\n"), (16, " ", "\n")] {
        let write = |bytes: &[u8]| {
            let mut text = String::new();
            for line in bytes.chunks(columns) {
                text.extend(line.iter().map(|byte| format!("{space}{byte:02x}")));
                text += end;
            }
            text
        };
        for (name, bytes) in [("pk", &pk[..]), ("sk", &sk), ("sig", &sig), ("seed", &seed)] {
            folder.put(name, write(bytes).as_bytes());
        }
        let run = folder.good_with("verify -k pk -s sig", b"m");
        assert_eq!(run.stdout, "valid\n");
        for secret in ["seed", "sk"] {
            let run = folder.good(&format!("pubkey --set 44 {secret} --format hex"));
            assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
        }
        let run = folder.good("keygen --set 44 --seed-file seed");
        assert_eq!(run.stdout, SEED_PEM);
        folder.good_with("verify -k pk -s sig --mu", write(&mu).as_bytes());
        // One digit less.
        folder.put("short", write(&pk).replacen('a', "", 1).as_bytes());
        folder.unusable("inspect short", b"", "as many as no key has");
    }
}

/// The table that all interfaces share: the key, or an error that says why.
#[test]
fn pem_texts_of_the_table() {
    let folder = Folder::new("pem");
    let (pk, _) = Set::MlDsa44.keygen(&published_seed());
    for case in crate::pem_table::cases() {
        folder.put("file", &case.text);
        let command = if case.public { "pubkey" } else { "convert" };
        let run = folder.run(&format!("{command} file --format hex"), b"");
        if case.result == "key" {
            let key = if case.public {
                hex::encode(&pk)
            } else {
                SEED_HEX.into()
            };
            assert_eq!(run.stdout.trim_end(), key, "{}: {}", case.name, run.stderr);
        } else {
            assert_eq!((run.code, run.stdout.len()), (2, 0), "{}", case.name);
            let why = match case.result.split_once(' ') {
                Some(("several", line)) => format!("begins in line {line}"),
                Some(("boundary", line)) => format!("boundary in line {line}"),
                Some(("end-label", line)) => format!("END in line {line}"),
                Some(("base64", place)) => format!("line {}", place.replace(':', ", column ")),
                Some(("label", label)) if !label.ends_with("C KEY") => format!("PEM of {label}"),
                _ => String::new(),
            };
            let reaches =
                !["certificate before the key", "label of a private key"].contains(&case.name);
            assert!(
                !reaches || run.stderr.contains(&why),
                "{}: {}",
                case.name,
                run.stderr
            );
        }
    }
}

/// A byte order mark, or the output of `openssl x509 -text`.
#[test]
fn pem_may_follow_other_text() {
    let folder = Folder::new("before-text");
    let explained = |with: &str| format!("Private-Key: ML-DSA-44\n  {with}\n{SEED_PEM}");
    let marked = |text: &str| format!("\u{feff}{text}");
    folder.put("plain", SEED_PEM.as_bytes());
    let plain = folder.good("pubkey plain").stdout;
    for text in [
        explained("seed:"),
        marked(SEED_PEM),
        marked(&explained("")),
        marked(SEED_HEX),
    ] {
        folder.put("key", text.as_bytes());
        assert_eq!(folder.good("pubkey --set 44 key").stdout, plain);
    }
    let run = folder.good("keygen --set 44 --seed-file key");
    assert_eq!(run.stdout, SEED_PEM);
    folder.put("file", explained(SEED_PEM).as_bytes());
    folder.unusable("pubkey file", b"", "more than one");
    let mu = folder.good_with("mu -k plain", b"message").stdout;
    let sign = "sign -k plain --hex --deterministic";
    let signature = folder.good_with(sign, b"message").stdout;
    folder.put("mu", marked(&mu).as_bytes());
    folder.put("signature", marked(&signature).as_bytes());
    assert_eq!(folder.good(&format!("{sign} --mu mu")).stdout, signature);
    folder.good_with("verify -k plain -s signature", b"message");
}
