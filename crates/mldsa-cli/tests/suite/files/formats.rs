//! Forms and formats of key files.

use super::*;

#[test]
fn keygen_golden() {
    let folder = Folder::new("keygen");
    let digits = folder.put("seed.hex", format!("{SEED_HEX}\n").as_bytes());
    let raw = folder.put("seed.raw", &hex::decode(SEED_HEX).unwrap());
    for seed in [&digits, &raw] {
        for set in ["44", "ML-DSA-44", "ml-dsa-44", "Ml-Dsa-44"] {
            let run = good(&args!["keygen --set", set, "--seed-file", seed], b"");
            assert_eq!(run.stdout, SEED_PEM);
        }
        let run = good(
            &args!["keygen --set 44 --seed-file", seed, "--format hex"],
            b"",
        );
        assert_eq!(run.stdout, format!("{SEED_HEX}\n"));
    }
    for set in SETS {
        let (pk, sk) = set.keygen(&hex::decode(SEED_HEX).unwrap().try_into().unwrap());
        let args = args![
            "keygen --set",
            number(set),
            "--seed-file",
            &raw,
            "--form expanded"
        ];
        let run = good(&args![..args, "--format hex"], b"");
        assert_eq!(run.stdout.trim_end(), hex::encode(&sk));
        let key = folder.at("expanded.der");
        good(&args![..args, "--format der --force -o", &key], b"");
        assert!(folder.get("expanded.der").ends_with(&sk));
        let run = good(&args!["pubkey", &key, "--format hex"], b"");
        assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
    }
    let args = args!["keygen --set 44 --form both --format raw"];
    unusable(&args, b"", "seed and expanded key need PEM or DER");
    let short = folder.put("short", &[7; 31]);
    let args = args!["keygen --set 44 --seed-file", &short];
    unusable(&args, b"", "not 32 bytes of a seed");
    unusable(&args!["keygen --set 66"], b"", "invalid value");
    // Fresh keys differ.
    let fresh = || good(&args!["keygen --set 44 --format hex"], b"").stdout;
    assert_ne!(fresh(), fresh());
}

#[test]
fn inspect_golden() {
    let folder = Folder::new("inspect");
    let key = folder.put("key.pem", SEED_PEM.as_bytes());
    let (pk, mut sk) = Set::MlDsa44.keygen(&hex::decode(SEED_HEX).unwrap().try_into().unwrap());
    let tr = hex::encode(&sk[64..128]);
    let short = &tr[..32];
    let run = good(&["inspect", &key], b"");
    let expected = format!(
        "kind:        private key\nformat:      PEM\nset:         ML-DSA-44\nform:        seed\n\
         consistent:  yes\nfingerprint: {short}\ntr:          {tr}\n"
    );
    assert_eq!(run.stdout, expected);

    let public = folder.put("pk.raw", &pk);
    let run = good(&args!["inspect", &public, "--set 44"], b"");
    let expected = format!(
        "kind:        public key\nformat:      raw\nset:         ML-DSA-44\n\
         consistent:  yes\nfingerprint: {short}\ntr:          {tr}\n"
    );
    assert_eq!(run.stdout, expected);
    let run = good(&args!["inspect --json", &public], b"");
    let expected = format!(
        "{{\"kind\":\"public key\",\"format\":\"raw\",\"set\":\"ML-DSA-44\",\
         \"fingerprint\":\"{short}\",\"tr\":\"{tr}\",\"consistent\":true}}\n"
    );
    assert_eq!(run.stdout, expected);

    sk[64] ^= 1;
    let bad = folder.put("sk.hex", hex::encode(&sk).as_bytes());
    let run = mldsa(&["inspect", &bad], b"");
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout,
        "kind:        private key\nformat:      hex\nset:         ML-DSA-44\nform:        expanded\n\
         consistent:  no: the parts of the private key do not belong together\n"
    );
    let run = mldsa(&args!["inspect --json", &bad], b"");
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout,
        "{\"kind\":\"private key\",\"format\":\"hex\",\"set\":\"ML-DSA-44\",\"form\":\"expanded\",\
         \"problem\":\"the parts of the private key do not belong together\",\"consistent\":false}\n"
    );

    let empty = folder.put("empty", b"");
    unusable(&["inspect", &empty], b"", "not a key");
    let bare = folder.put("bare", &[1; 32]);
    unusable(&["inspect", &bare], b"", "use --set");
    unusable(
        &args!["inspect", &key, "--set 65"],
        b"",
        "a key of ML-DSA-44, not of ML-DSA-65",
    );
    let label = folder.put(
        "label.pem",
        SEED_PEM.replace("PRIVATE KEY", "EC PRIVATE KEY").as_bytes(),
    );
    unusable(&["inspect", &label], b"", "something else than PRIVATE KEY");
    let long = folder.put("long", &vec![b'-'; 70_000]);
    unusable(&["inspect", &long], b"", "too long");
    unusable(&["inspect", &folder.at("missing")], b"", "missing");
}

#[test]
fn every_format_of_every_key_reads_back() {
    let folder = Folder::new("formats");
    for set in SETS {
        let seed = crate::peer::seed(set.name());
        let raw = folder.put("seed", &seed);
        let (pk, _) = set.keygen(&seed);
        for form in ["seed", "expanded", "both"] {
            for format in ["pem", "der", "raw", "hex"] {
                if form == "both" && (format == "raw" || format == "hex") {
                    continue;
                }
                let key = folder.at("key");
                let args = args!["keygen --set", number(set), "--seed-file", &raw];
                let to = args!["--form", form, "--format", format, "--force -o", &key];
                good(&[&args[..], &to].concat(), b"");
                for format in ["pem", "der", "raw", "hex"] {
                    let public = folder.at("public");
                    let to = args!["--format", format, "--force -o", &public];
                    good(
                        &[&["pubkey", &key, "--set", number(set)], &to[..]].concat(),
                        b"",
                    );
                    let run = good(&args!["pubkey", &public, "--format hex"], b"");
                    assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
                }
            }
        }
    }
}

#[test]
fn convert_writes_every_form_and_format() {
    let folder = Folder::new("convert");
    for set in SETS {
        let seed = crate::peer::seed(set.name());
        let raw = folder.put("seed", &seed);
        let encodings = [
            ("seed", "pem"),
            ("seed", "der"),
            ("seed", "raw"),
            ("seed", "hex"),
            ("both", "pem"),
            ("both", "der"),
            ("expanded", "pem"),
            ("expanded", "raw"),
            ("expanded", "hex"),
        ];
        let files = encodings.map(|(form, format)| {
            let name = folder.at(&format!("{form}.{format}"));
            let args = args!["keygen --set", number(set), "--seed-file", &raw];
            let to = args!["--form", form, "--format", format, "--force -o", &name];
            good(&[&args[..], &to].concat(), b"");
            name
        });
        for (from, (known, _)) in files.iter().zip(&encodings) {
            for ((form, format), expected) in encodings.iter().zip(&files) {
                let to = folder.at("converted");
                let args = args!["convert --set", number(set), from, "--form", form];
                let args = args![..args, "--format", format, "--force -o", &to];
                if *known == "expanded" && *form != "expanded" {
                    unusable(&args, b"", "the seed of this key is not known");
                } else {
                    good(&args, b"");
                    assert_eq!(folder.get("converted"), fs::read(expected).unwrap());
                }
            }
        }
        let public = folder.put("public", &set.keygen(&seed).0);
        unusable(&["convert", &public], b"", "a public key");
        let args = args!["convert", &files[1], "--form both --format raw"];
        unusable(&args, b"", "need PEM or DER");
    }
}

/// A PKCS#8 key of the length of a raw public key, in every way that gets there.
#[test]
fn private_keys_are_not_read_as_raw_public_keys() {
    let folder = Folder::new("padded");
    let seed = hex::decode(SEED_HEX).unwrap();
    let mut refused = 0;
    for len in [1312, 1952, 2592] {
        for padded in [
            pkcs8_with_attribute(&seed, len),
            // One bit of the version: malformed, and secret still.
            {
                let mut der = pkcs8_with_attribute(&seed, len);
                der[6] ^= 2;
                der
            },
            // Bytes after the DER, bytes before it.
            pad(&pkcs8_with_attribute(&seed, len - 300), len, 0),
            pad(SEED_PEM.as_bytes(), len, b'\n'),
            [&b"# my key\n"[..], &pad(SEED_PEM.as_bytes(), len - 9, b' ')].concat(),
            pad(
                format!("{{\"alg\":\"ML-DSA-44\",\"priv\":\"{SEED_HEX}\"}}").as_bytes(),
                len,
                b' ',
            ),
        ] {
            assert_eq!(padded.len(), len);
            for file in [
                folder.put("key", &padded),
                folder.put("key.hex", hex::encode(&padded).as_bytes()),
            ] {
                let run = mldsa(&args!["pubkey", &file, "--format hex"], b"");
                let (pk, _) = Set::MlDsa44.keygen(&seed.clone().try_into().unwrap());
                // A private key gives its own public key or none.
                if run.code == 0 {
                    assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
                } else {
                    assert_eq!((run.code, &*run.stdout), (2, ""));
                    refused += 1;
                }
                let run = mldsa(&["inspect", &file], b"");
                assert!(!run.stdout.contains("public key"), "{}", run.stdout);
            }
        }
    }
    assert!(refused >= 27, "{refused}");
    // Text of a private key in UTF-16, or in other bytes.
    let noise = crate::peer::bytes("noise", 2592);
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let inside = |text: &[u8], at: usize, len: usize| {
        let mut bytes = noise[..len].to_vec();
        bytes[at..at + text.len()].copy_from_slice(text);
        bytes
    };
    for secret in [
        pad(&wide(SEED_PEM), 1312, b' '),
        pad(&wide(&format!("\u{feff}{SEED_PEM}")), 1952, 0),
        inside(&wide(SEED_HEX), 0, 1312),
        inside(SEED_PEM.as_bytes(), 14, 1952),
        inside(SEED_HEX.as_bytes(), 100, 2592),
    ] {
        for file in [
            folder.put("key", &secret),
            folder.put("key.hex", hex::encode(&secret).as_bytes()),
        ] {
            for command in ["pubkey", "inspect"] {
                let run = mldsa(&[command, &file], b"");
                assert_eq!((run.code, &*run.stdout), (2, ""), "{}", run.stderr);
            }
        }
    }
    // The noise alone is a public key.
    let file = folder.put("key", &noise[..1952]);
    good(&["pubkey", &file], b"");
    // As published, with the attribute, it is the key that it is.
    let file = folder.put("key", &pkcs8_with_attribute(&seed, 1952));
    let run = good(&["inspect", &file], b"");
    assert!(
        run.stdout
            .contains("private key\nformat:      DER\nset:         ML-DSA-44")
    );
}

fn pad(bytes: &[u8], len: usize, with: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(len, with);
    bytes
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
    let pem = |label: &str| format!("-----BEGIN {label}-----\nMAA=\n-----END {label}-----\n");
    for (content, why) in [
        (pem("ENCRYPTED PRIVATE KEY").into_bytes(), "openssl pkcs8"),
        // SEQUENCE { SEQUENCE { PBES2 } OCTET STRING }
        (
            b"\x30\x0f\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d\x04\x00".to_vec(),
            "openssl pkcs8",
        ),
        (b"\x30\x00".to_vec(), "of no key that can be used"),
        (vec![7; 2420], "as long as a signature"),
        (vec![7; 2421], ": not a key"),
    ] {
        let file = folder.put("file", &content);
        unusable(&["inspect", &file], b"", why);
        unusable(&args!["sign -k", &file], b"", why);
    }
    // A byte order mark before PEM or hex is nothing.
    for text in [SEED_PEM, SEED_HEX] {
        let file = folder.put("file", format!("\u{feff}{text}").as_bytes());
        good(&args!["inspect --set 44", &file], b"");
    }
}

/// Digits of half the expected length are not taken as bytes.
#[test]
fn digits_are_never_raw_bytes() {
    let folder = Folder::new("digits");
    let key = folder.put("key", SEED_PEM.as_bytes());
    for text in [
        &SEED_HEX[..32],
        &format!("{}\n", &SEED_HEX[..31]),
        &format!("{}\r\n", &SEED_HEX[..30]).to_uppercase(),
    ] {
        assert_eq!(text.len(), 32);
        let file = folder.put("seed", text.as_bytes());
        unusable(&args!["keygen --set 44 --seed-file", &file], b"", "64 hex");
        for command in ["pubkey", "inspect"] {
            unusable(&args![command, "--set 44", &file], b"", "64 for a seed");
        }
        unusable(&args!["sign -k", &file, "--set 44"], b"m", "64 for a seed");
    }
    for text in [SEED_HEX.into(), format!("{}\n", &SEED_HEX[..63])] {
        let sign = args!["sign -k", &key, "--mu --hex"];
        unusable(&sign, text.as_bytes(), "128 hex");
    }
    // Any other bytes are what they are, also where DER would begin.
    for seed in [
        [0xff; 32],
        [b' '; 32],
        *b"\x30\x1e..............................",
        [b'g'; 32],
    ] {
        let file = folder.put("seed", &seed);
        let args = args!["keygen --set 44 --format hex --seed-file", &file];
        assert_eq!(good(&args, b"").stdout.trim_end(), hex::encode(seed));
        good(&args!["inspect --set 44", &file], b"");
    }
}

/// `xxd -p` breaks lines, `od -An -tx1` writes spaces too.
#[test]
fn digits_may_be_in_lines() {
    let folder = Folder::new("digits-in-lines");
    let set = Set::MlDsa44;
    let seed = hex::decode(SEED_HEX).unwrap().try_into().unwrap();
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
        let put = |name: &str, bytes: &[u8]| folder.put(name, write(bytes).as_bytes());
        let public = put("pk", &pk);
        let sig = put("sig", &sig);
        let verify = args!["verify -k", &public, "-s", &sig];
        assert_eq!(good(&verify, b"m").stdout, "valid\n");
        for secret in [put("seed", &seed), put("sk", &sk)] {
            let run = good(&args!["pubkey --set 44", &secret, "--format hex"], b"");
            assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
        }
        let seed = folder.at("seed");
        let keygen = args!["keygen --set 44 --seed-file", &seed];
        assert_eq!(good(&keygen, b"").stdout, SEED_PEM);
        good(&args![..verify, "--mu"], write(&mu).as_bytes());
        // One digit less.
        let short = write(&pk).replacen('a', "", 1);
        let short = folder.put("short", short.as_bytes());
        unusable(&["inspect", &short], b"", "as many as no key has");
    }
}

/// A byte order mark, or the output of `openssl x509 -text`.
#[test]
fn pem_may_follow_other_text() {
    let folder = Folder::new("before-text");
    let explained = |with: &str| format!("Private-Key: ML-DSA-44\n  {with}\n{SEED_PEM}");
    let key = folder.put("key", explained("seed:").as_bytes());
    let marked = |text: &str| folder.put("marked", format!("\u{feff}{text}").as_bytes());
    let plain = good(&["pubkey", &folder.put("plain", SEED_PEM.as_bytes())], b"").stdout;
    let raw = good(
        &args!["keygen --set 44 --seed-file", &marked(SEED_HEX)],
        b"",
    );
    assert_eq!(raw.stdout, SEED_PEM);
    for file in [&key, &marked(SEED_PEM), &marked(&explained(""))] {
        assert_eq!(good(&["pubkey", file], b"").stdout, plain);
    }
    assert_eq!(
        good(&args!["pubkey --set 44", &marked(SEED_HEX)], b"").stdout,
        plain
    );
    for (before, why) in [("\0", "malformed PEM"), (SEED_PEM, "more than one")] {
        let file = folder.put("file", explained(before).as_bytes());
        unusable(&["pubkey", &file], b"", why);
    }
    let mu = good(&args!["mu -k", &key], b"message").stdout;
    let sign = args!["sign -k", &key, "--hex --deterministic"];
    let signature = good(&sign, b"message").stdout;
    let mu = marked(&mu);
    let sign_mu = args![..sign, "--mu", &mu];
    assert_eq!(good(&sign_mu, b"").stdout, signature);
    good(
        &args!["verify -k", &key, "-s", &marked(&signature)],
        b"message",
    );
}
