//! The commands over files: golden output, exit codes, files and their modes,
//! agreement with the independent implementation.

use std::fs;

use crate::peer::{Form, SETS, Set};
use crate::tool::{Folder, args, good, mldsa, unusable};

fn number(set: Set) -> &'static str {
    &set.name()[7..]
}

const SEED_HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// The published key file of RFC 9881 for this seed.
const SEED_PEM: &str = "-----BEGIN PRIVATE KEY-----
MDQCAQAwCwYJYIZIAWUDBAMRBCKAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZ
GhscHR4f
-----END PRIVATE KEY-----
";

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

#[cfg(unix)]
#[test]
fn secret_files_are_private_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("modes");
    let key = folder.at("key.pem");
    let mode = || fs::metadata(&key).unwrap().permissions().mode() & 0o777;
    good(&args!["keygen --set 65 --out", &key], b"");
    assert_eq!(mode(), 0o600);
    let before = folder.get("key.pem");
    unusable(&args!["keygen --set 65 --out", &key], b"", "--force");
    unusable(&["pubkey", &key, "--out", &key], b"", "is an input");
    unusable(
        &args!["sign --key", &key, "--out", &key],
        b"",
        "is an input",
    );
    assert_eq!(folder.get("key.pem"), before);

    // Also when what is replaced was open to all.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    good(&args!["keygen --set 65 --out", &key, "--force"], b"");
    assert_eq!(mode(), 0o600);
    assert_ne!(folder.get("key.pem"), before);
    // Nothing else is left in the folder, of failures neither.
    let directory = folder.at("directory");
    fs::create_dir(&directory).unwrap();
    for target in [&directory, &folder.at("no/where")] {
        unusable(&args!["keygen --set 65 --force --out", target], b"", target);
    }
    fs::remove_dir(&directory).unwrap();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    unusable(
        &args!["keygen --set 65 --out", &folder.at("no/where")],
        b"",
        "where",
    );
}

#[test]
fn signatures_agree_with_the_peer() {
    let folder = Folder::new("sign");
    for set in SETS {
        let seed = crate::peer::seed(set.name());
        let (pk, _) = set.keygen(&seed);
        let key = folder.put("seed", &seed);
        let public = folder.put("pk", &pk);
        let key_args = ["--key", &key, "--set", number(set)];
        // Longer than any buffer.
        let message = crate::peer::bytes("message", 300_000);
        let file = folder.put("message", &message);
        let strong = *set.hashes().last().unwrap();
        for (options, form, ctx) in [
            (vec![], Form::Pure(message.clone()), &b""[..]),
            (
                vec!["--ctx", "net/1"],
                Form::Pure(message.clone()),
                b"net/1",
            ),
            (
                vec!["--ctx-hex", "00fF"],
                Form::Pure(message.clone()),
                &[0, 0xff],
            ),
            (
                vec!["--prehash", strong, "--ctx", "x"],
                Form::PreHashed(strong, crate::peer::digest(strong, &message)),
                b"x",
            ),
        ] {
            let sign = [&["sign"], &key_args[..], &options, &["--deterministic"]].concat();
            let expected = set.sign(&seed, &[0; 32], &form, ctx);
            let run = good(&args![..sign, "--hex"], &message);
            assert_eq!(run.stdout.trim_end(), hex::encode(&expected));
            let sig = folder.at("sig");
            good(&args![..sign, "--force -o", &sig, &file], b"");
            assert_eq!(folder.get("sig"), expected);

            // Hedged: another signature every time, good for the peer.
            let hedged = [&["sign"], &key_args[..], &options, &["--hex"]].concat();
            let [a, b] =
                [0, 1].map(|_| hex::decode(good(&hedged, &message).stdout.trim_end()).unwrap());
            assert_ne!(a, b);
            assert!(set.verify(&pk, &a, &form, ctx) && set.verify(&pk, &b, &form, ctx));

            let verify = args!["verify -k", &public, "-s", &sig, ..options];
            assert_eq!(good(&verify, &message).stdout, "valid\n");
            let run = mldsa(&verify, b"other");
            assert_eq!(
                (run.code, &*run.stdout),
                (1, "invalid: challenge_mismatch\n")
            );
        }
    }
}

#[test]
fn mu_is_made_apart_and_signed_elsewhere() {
    let folder = Folder::new("mu");
    for set in SETS {
        let seed = crate::peer::seed(set.name());
        let (pk, _) = set.keygen(&seed);
        let key = folder.put("seed", &seed);
        let public = folder.put("pk", &pk);
        let message = crate::peer::bytes("message", 100_000);
        let digits = good(&args!["mu -k", &public, "--ctx c"], &message).stdout;
        assert_eq!(
            digits.trim_end(),
            hex::encode(crate::peer::mu(&pk, &message, b"c"))
        );
        let raw = folder.at("mu");
        good(
            &args!["mu -k", &public, "--ctx c --raw --force -o", &raw],
            &message,
        );
        let sign = args![
            "sign -k",
            &key,
            "--set",
            number(set),
            "--mu --deterministic --hex"
        ];
        let a = good(&sign, digits.as_bytes()).stdout;
        assert_eq!(a, good(&args![..sign, &raw], b"").stdout);
        let sig = folder.put("sig", a.as_bytes());
        let verify = args!["verify -k", &public, "-s", &sig];
        good(&args![..verify, "--ctx c"], &message);
        good(&args![..verify, "--mu", &raw], b"");
        // All bytes count, wherever they are.
        for blanks in [1, 127, 128, 200, 5000] {
            let padded = format!("{}{}", digits.trim_end(), " ".repeat(blanks));
            assert_eq!(a, good(&sign, padded.as_bytes()).stdout);
            let more = format!("{padded}x");
            unusable(&sign, more.as_bytes(), "not 64 bytes of mu");
            let verify = args![..verify, "--mu"];
            good(&verify, padded.as_bytes());
            unusable(&verify, more.as_bytes(), "not 64 bytes of mu");
        }
        unusable(&sign, &[b' '; 70_000], "too long");
        unusable(&sign, &digits.as_bytes()[1..], "not 64 bytes of mu");
        unusable(&sign, &[0; 65], "not 64 bytes of mu");
        unusable(&sign, b"", "not 64 bytes of mu");
        unusable(&args![..sign, "--ctx c"], b"", "cannot be used with");
    }
}

#[test]
fn verdicts_and_unusable_input() {
    let folder = Folder::new("verdicts");
    let set = Set::MlDsa44;
    let seed = crate::peer::seed("verdicts");
    let (pk, _) = set.keygen(&seed);
    let key = folder.put("seed", &seed);
    let public = folder.put("pk", &pk);
    let form = Form::Pure(b"m".to_vec());
    let good_sig = set.sign(&seed, &[0; 32], &form, b"");
    let verify = |sig: &[u8], options: &[&str]| {
        let sig = folder.put("sig", sig);
        let run = mldsa(&args!["verify -k", &public, "-s", &sig, ..options], b"m");
        (run.code, run.stdout)
    };
    let invalid = |reason: &str| (1, format!("invalid: {reason}\n"));
    assert_eq!(verify(&good_sig, &[]), (0, "valid\n".into()));
    assert_eq!(
        verify(hex::encode_upper(&good_sig).as_bytes(), &[]),
        (0, "valid\n".into())
    );
    assert_eq!(verify(&good_sig[1..], &[]), invalid("signature_length"));
    assert_eq!(verify(b"", &[]), invalid("signature_length"));
    // For programs, for scripts, for people.
    let json = |text: &str| format!("{{\"set\":\"ML-DSA-44\",\"valid\":{text}}}\n");
    assert_eq!(verify(&good_sig, &["--json"]), (0, json("true")));
    assert_eq!(
        verify(&good_sig[1..], &["--json"]),
        (1, json("false,\"reason\":\"signature_length\""))
    );
    assert_eq!(verify(&good_sig, &["--quiet"]), (0, String::new()));
    assert_eq!(verify(&good_sig[1..], &["-q"]), (1, String::new()));
    let said = |sig: &[u8], options: &[&str]| {
        let sig = folder.put("sig", sig);
        let verify = args!["verify -k", &public, "-s", &sig];
        mldsa(&[&verify[..], options].concat(), b"m").stderr
    };
    assert_eq!(said(&good_sig, &[]), "");
    assert_eq!(said(b"", &["-q"]), "");
    assert!(said(&good_sig, &args!["--ctx x"]).contains("another message, context or key"));
    assert!(said(b"x", &[]).contains("has 2420 bytes, not 1"));
    assert!(said(&[0; 3309], &[]).contains("an ML-DSA-65 signature; the key is of ML-DSA-44"));
    let mut bad = good_sig.clone();
    *bad.last_mut().unwrap() = 0xff;
    assert_eq!(verify(&bad, &[]), invalid("hint_encoding"));
    let mut bad = good_sig.clone();
    bad[32..608].fill(0);
    assert_eq!(verify(&bad, &[]), invalid("response_norm"));
    assert_eq!(
        verify(&good_sig, &args!["--ctx x"]),
        invalid("challenge_mismatch")
    );
    // 255 bytes of context are the most; 256 are no context.
    let at_most = "aa".repeat(255);
    assert_eq!(
        verify(&good_sig, &["--ctx-hex", &at_most]),
        invalid("challenge_mismatch")
    );
    let too_long = "aa".repeat(256);
    assert_eq!(
        verify(&good_sig, &["--ctx-hex", &too_long]),
        invalid("context_too_long")
    );
    let sign = args!["sign -k", &key, "--set 44"];
    unusable(
        &args![..sign, "--ctx-hex", &too_long],
        b"",
        "longer than 255",
    );
    unusable(
        &args!["mu -k", &public, "--ctx-hex", &too_long],
        b"",
        "longer than 255",
    );

    unusable(&args![..sign, "--ctx-hex 0"], b"", "not hexadecimal");
    unusable(
        &args![..sign, "--ctx a --ctx-hex 00"],
        b"",
        "cannot be used",
    );
    unusable(&args![..sign, "--prehash MD5"], b"", "SHAKE-256");
    unusable(&args![..sign, "--prehash SHA2-224"], b"", "too weak");
    good(
        &args![..sign, "--prehash sha2-224 --allow-weak-prehash --hex"],
        b"",
    );
    unusable(&args!["sign -k", &public], b"", "a public key");
    unusable(&args!["sign -k", &key], b"", "use --set");
    let sig = folder.put("sig", &good_sig);
    unusable(&args!["verify -k", &sig, "-s", &sig], b"", "not a key");
    let missing = folder.at("missing");
    unusable(
        &args!["verify -k", &public, "-s", &sig, &missing],
        b"",
        "missing",
    );
    unusable(&args!["verify -k", &public], b"", "--sig");
}

/// A PKCS#8 key of the length of a raw public key, in every way that gets there.
#[test]
fn a_private_key_is_never_taken_for_a_raw_public_key() {
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
            // Something behind the DER, something before it.
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
fn what_is_no_key_is_called_by_its_name() {
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

/// Half as many digits as are wanted are not as many bytes.
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

/// Editors put byte order marks before text, `openssl x509 -text` and others what a PEM is.
#[test]
fn text_may_have_something_before_it() {
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

/// Under whatever name: what is read to its end for one thing is empty for the next.
#[cfg(unix)]
#[test]
fn standard_input_is_read_once_under_any_name() {
    let folder = Folder::new("once");
    let key = folder.put("key", SEED_PEM.as_bytes());
    let input = SEED_PEM.as_bytes();
    let link = folder.at("link");
    std::os::unix::fs::symlink("/dev/stdin", &link).unwrap();
    let names = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", &link];
    for name in names.into_iter().filter(|name| fs::exists(name).unwrap()) {
        let once = "can be read once";
        unusable(
            &args!["sign --key", name, "--deterministic --hex"],
            input,
            once,
        );
        unusable(&args!["sign --key - --hex", name], input, once);
        unusable(&args!["sign --key", name, "--hex", name], input, once);
        unusable(&args!["verify --key", &key, "--sig", name], input, once);
        unusable(&args!["verify --key", name, "--sig -", &key], input, once);
        unusable(&args!["mu --key", name], input, once);
        // For one thing any name will do.
        good(&args!["sign --key", name, "--hex", &key], input);
        good(&args!["sign --key", &key, "--hex", name], input);
        good(&["inspect", name], input);
    }
    // Nor is another pipe. Nobody writes into it: it is refused before it is opened.
    let pipe = folder.at("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    unusable(&args!["sign --key", &pipe, &pipe], b"", "can be read once");
    // The same file twice is no stream.
    good(&args!["sign --key", &key, "--hex", &key], b"");
}

#[test]
fn standard_input_for_any_one_file() {
    let folder = Folder::new("standard");
    let key = folder.put("key", SEED_PEM.as_bytes());
    let message = folder.put("message", b"m");
    let sig = folder.at("sig");
    let sign = args!["sign --deterministic -o", &sig, "--force -k"];
    good(&args![..sign, "-", &message], SEED_PEM.as_bytes());
    let once = folder.get("sig");
    good(&args![..sign, &key, "-"], b"m");
    assert_eq!(folder.get("sig"), once);
    good(&args!["pubkey -"], SEED_PEM.as_bytes());
    good(&args!["inspect -"], SEED_PEM.as_bytes());
    good(&args!["verify -k", &key, "-s -", &message], &once);
    good(&args!["keygen --set 44 --seed-file -"], &[1; 32]);
    for twice in [
        &args!["sign -k -"][..],
        &args!["verify -k - -s -", &message],
        &args!["verify -k", &key, "-s -"],
        &args!["mu -k -"],
    ] {
        unusable(twice, SEED_PEM.as_bytes(), "can be read once");
    }
    unusable(&args!["inspect -"], b"?", "standard input: ");
}

#[test]
fn both_halves_at_once() {
    let folder = Folder::new("halves");
    let (key, public) = (folder.at("key"), folder.at("public"));
    let keygen = args!["keygen --set 65 --out", &key, "--pub"];
    good(&args![..keygen, &public], b"");
    assert_eq!(
        good(&["pubkey", &key], b"").stdout.into_bytes(),
        folder.get("public")
    );
    // Never one over the other, and nothing if one of them cannot be.
    let before = folder.get("key");
    for (target, why) in [(&key, "two results"), (&folder.at("./key"), "two results")] {
        unusable(&args![..keygen, target, "--force"], b"", why);
    }
    let other = folder.at("other");
    let args = args!["keygen --set 65 --out", &other, "--pub", &public];
    unusable(&args, b"", "--force");
    assert_eq!(folder.get("key"), before);
    assert!(!fs::exists(&other).unwrap());
    let twice = args!["keygen --set 65 --pub -"];
    unusable(&twice, b"", "two results");
}

#[test]
fn completions_and_manual_pages() {
    let folder = Folder::new("manual");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = good(&["completions", shell], b"").stdout;
        assert!(text.contains("batch-verify") && text.contains("--seed-file") || shell == "fish");
    }
    let at = folder.0.to_str().unwrap();
    good(&["man", at], b"");
    for page in [
        "mldsa.1",
        "mldsa-keygen.1",
        "mldsa-batch-verify.1",
        "mldsa-aggregate-combine.1",
    ] {
        let text = String::from_utf8(folder.get(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
        assert!(text.contains("\"mldsa 0."), "{page}");
    }
    unusable(&["man", at], b"", "mldsa.1: exists");
}
