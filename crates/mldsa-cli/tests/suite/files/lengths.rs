//! Keys without a structure: every pair of forms with one length is told apart.

use base64ct::{Base64, Base64Url, Encoding};

use super::*;

/// Form of an encoding: its name, whether it has secrets, its bytes.
type Bare = (&'static str, bool, Vec<u8>);

/// Every way in which keys and signatures of a set are written without a structure.
fn bare(set: Set) -> Vec<Bare> {
    let seed = published_seed();
    let (pk, sk) = set.keygen(&seed);
    let sig = set.sign(&seed, &[0; 32], &Form::Pure(b"m".to_vec()), b"");
    let join = |parts: &[&[u8]]| parts.concat();
    let noise = crate::peer::bytes("other", 32);
    vec![
        ("public key", false, pk.clone()),
        ("signature", false, sig),
        ("seed", true, seed.to_vec()),
        ("expanded", true, sk.clone()),
        ("seed, expanded", true, join(&[&seed, &sk])),
        ("expanded, seed", true, join(&[&sk, &seed])),
        ("other seed, expanded", true, join(&[&noise, &sk])),
        ("expanded, other bytes", true, join(&[&sk, &noise])),
        ("zeros, expanded", true, join(&[&[0; 32], &sk])),
        ("expanded, public", true, join(&[&sk, &pk])),
        ("public, expanded", true, join(&[&[0], &pk, &sk])),
        ("seed, public", true, join(&[&seed, &pk])),
        ("public, seed", true, join(&[&pk, &seed])),
        ("seed, expanded, public", true, join(&[&seed, &sk, &pk])),
    ]
}

/// The text forms of bytes, and the bytes.
fn spellings(bytes: &[u8]) -> [Vec<u8>; 6] {
    let mut buffer = vec![0; 2 * bytes.len() + 4];
    let base64 = Base64::encode(bytes, &mut buffer).unwrap().to_owned();
    let lines: Vec<&str> = base64
        .as_bytes()
        .chunks(64)
        .map(|line| core::str::from_utf8(line).unwrap())
        .collect();
    let url = Base64Url::encode(bytes, &mut buffer).unwrap().to_owned();
    [
        bytes.to_vec(),
        hex::encode(bytes).into_bytes(),
        hex::encode_upper(bytes).into_bytes(),
        lines.join("\r\n").into_bytes(),
        url.trim_end_matches('=').into(),
        base64.into_bytes(),
    ]
}

/// Every form in every spelling: what has a secret in it is never called public, and no output has
/// the secret in it.
#[test]
fn a_private_key_is_never_taken_for_a_public_one() {
    let folder = Folder::new("lengths");
    for set in Set::ALL {
        let (pk, sk) = set.keygen(&published_seed());
        // Bytes of the seed, of K, and of s1.
        let secrets = [&published_seed()[..], &sk[32..48], &sk[128..144]];
        for (form, secret, bytes) in bare(set) {
            for (n, spelling) in spellings(&bytes).iter().enumerate() {
                folder.put("file", spelling);
                let named = format!("{} {form}, spelling {n}", set.name());
                let more = if form == "seed" {
                    format!("--set {}", number(set))
                } else {
                    String::new()
                };
                let inspect = folder.run(&format!("inspect file {more}"), b"");
                let pubkey = folder.run(&format!("pubkey file --format hex {more}"), b"");
                let pem = folder.run(&format!("pubkey file {more}"), b"");
                for run in [&inspect, &pubkey, &pem] {
                    for secret in secrets {
                        let shown = [hex::encode(secret), String::from_utf8_lossy(secret).into()];
                        let found = shown
                            .iter()
                            .any(|text| run.stdout.contains(text) || run.stderr.contains(text));
                        assert!(!found, "{named}");
                    }
                }
                let public = format!("{}\n", hex::encode(&pk));
                match form {
                    "public key" => {
                        assert!(inspect.stdout.starts_with("kind:        public key\n"))
                    }
                    "seed" | "expanded" | "seed, expanded" | "expanded, public" => {
                        let expected = "kind:        private key\n";
                        assert!(
                            inspect.stdout.starts_with(expected),
                            "{named}: {}",
                            inspect.stderr
                        );
                    }
                    _ => assert!(inspect.stdout.is_empty(), "{named}: {}", inspect.stdout),
                }
                let read = !inspect.stdout.is_empty();
                assert_eq!(
                    (inspect.code, pubkey.code),
                    if read { (0, 0) } else { (2, 2) },
                    "{named}"
                );
                assert_eq!(pubkey.stdout, if read { &public } else { "" }, "{named}");
                // A key that is read signs, and a public one does not.
                if read {
                    let sign = folder.run(&format!("sign -k file --hex {more}"), b"m");
                    assert_eq!(sign.code, if secret { 0 } else { 2 }, "{named}");
                }
            }
        }
    }
}

/// A private key that is one of the joined forms is written in the others.
#[test]
fn joined_keys_are_converted() {
    let folder = Folder::new("joined");
    for set in Set::ALL {
        let seed = published_seed();
        let (_, sk) = set.keygen(&seed);
        folder.put("joined", &[&seed[..], &sk].concat());
        let run = folder.good("convert joined --format hex");
        assert_eq!(run.stdout.trim_end(), SEED_HEX);
        let run = folder.good("inspect joined");
        assert!(run.stdout.contains("form:        both\n"), "{}", run.stdout);
        let run = folder.good("convert joined --format base64 --form expanded");
        folder.put("expanded", run.stdout.as_bytes());
        folder.good("convert expanded --format raw --form expanded --force -o raw");
        assert_eq!(folder.get("raw"), sk);
        // The seed of another key, and a damaged expanded key after its own seed.
        for (at, code) in [(0, 2), (sk.len() - 1, 1)] {
            let mut joined = [&seed[..], &sk].concat();
            joined[at] ^= 1;
            folder.put("damaged", &joined);
            let run = folder.run("inspect damaged", b"");
            assert_eq!(run.code, code, "{} {}", run.stdout, run.stderr);
            assert!(!run.stdout.contains("public key"));
            folder.unusable("pubkey damaged", b"", "");
        }
    }
}

/// Public keys with unusual content stay public keys: zeros in t1, and one bit of t1.
#[test]
fn unusual_public_keys_are_read() {
    let folder = Folder::new("unusual");
    for set in Set::ALL {
        let (pk, _) = set.keygen(&published_seed());
        for rest in [0, 1, 0x80, 0xff] {
            let mut key = pk.clone();
            key[32..].fill(rest);
            folder.put("key", &key);
            let run = folder.good("pubkey key --format hex");
            assert_eq!(run.stdout.trim_end(), hex::encode(&key));
        }
    }
}
