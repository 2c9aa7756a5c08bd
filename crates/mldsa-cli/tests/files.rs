//! The commands over files: golden output, exit codes, files and their modes,
//! agreement with the independent implementation.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::PathBuf;

#[allow(dead_code, reason = "shared with the other tests")]
mod peer;
#[allow(dead_code, reason = "shared with the other tests")]
mod tool;

use peer::{Form, SETS, Set};
use tool::{Run, mldsa};

/// An empty folder of its own for a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of a file, as an argument.
    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn put(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.at(name)
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }
}

fn number(set: Set) -> &'static str {
    &set.name()[7..]
}

fn good(args: &[&str], input: &[u8]) -> Run {
    let run = mldsa(args, input);
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run
}

fn unusable(args: &[&str], input: &[u8], why: &str) {
    let run = mldsa(args, input);
    assert_eq!(run.code, 2, "{args:?}: {} {}", run.stdout, run.stderr);
    assert!(run.stdout.is_empty());
    assert!(run.stderr.contains(why), "{args:?}: {}", run.stderr);
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
        let run = good(&["keygen", "--set", "44", "--seed-file", seed], b"");
        assert_eq!(run.stdout, SEED_PEM);
        let run = good(
            &[
                "keygen",
                "--set",
                "44",
                "--seed-file",
                seed,
                "--format",
                "hex",
            ],
            b"",
        );
        assert_eq!(run.stdout, format!("{SEED_HEX}\n"));
    }
    for set in SETS {
        let (pk, sk) = set.keygen(&hex::decode(SEED_HEX).unwrap().try_into().unwrap());
        let args = [
            "keygen",
            "--set",
            number(set),
            "--seed-file",
            &raw,
            "--form",
            "expanded",
        ];
        let run = good(&[&args[..], &["--format", "hex"]].concat(), b"");
        assert_eq!(run.stdout.trim_end(), hex::encode(&sk));
        let key = folder.at("expanded.der");
        good(
            &[&args[..], &["--format", "der", "--force", "-o", &key]].concat(),
            b"",
        );
        assert!(folder.get("expanded.der").ends_with(&sk));
        let run = good(&["pubkey", &key, "--format", "hex"], b"");
        assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
    }
    let args = ["keygen", "--set", "44", "--form", "both", "--format", "raw"];
    unusable(&args, b"", "seed and expanded key need PEM or DER");
    let short = folder.put("short", &[7; 31]);
    let args = ["keygen", "--set", "44", "--seed-file", &short];
    unusable(&args, b"", "a seed has 32 bytes");
    unusable(&["keygen", "--set", "66"], b"", "invalid value");
    // Fresh keys differ.
    let fresh = || good(&["keygen", "--set", "44", "--format", "hex"], b"").stdout;
    assert_ne!(fresh(), fresh());
}

#[test]
fn inspect_golden() {
    let folder = Folder::new("inspect");
    let key = folder.put("key.pem", SEED_PEM.as_bytes());
    let run = good(&["inspect", &key], b"");
    let tr = run
        .stdout
        .lines()
        .last()
        .unwrap()
        .strip_prefix("tr:         ")
        .unwrap();
    let (pk, mut sk) = Set::MlDsa44.keygen(&hex::decode(SEED_HEX).unwrap().try_into().unwrap());
    assert_eq!(tr, hex::encode(&sk[64..128]));
    let expected = format!(
        "kind:       private key\nformat:     PEM\nset:        ML-DSA-44\nform:       seed\n\
         consistent: yes\ntr:         {tr}\n"
    );
    assert_eq!(run.stdout, expected);

    let public = folder.put("pk.raw", &pk);
    let run = good(&["inspect", &public, "--set", "44"], b"");
    let expected = format!(
        "kind:       public key\nformat:     raw\nset:        ML-DSA-44\n\
         consistent: yes\ntr:         {tr}\n"
    );
    assert_eq!(run.stdout, expected);

    sk[64] ^= 1;
    let bad = folder.put("sk.hex", hex::encode(&sk).as_bytes());
    let run = mldsa(&["inspect", &bad], b"");
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout,
        "kind:       private key\nformat:     hex\nset:        ML-DSA-44\nform:       expanded\n\
         consistent: no: the parts of the private key do not belong together\n"
    );

    let empty = folder.put("empty", b"");
    unusable(&["inspect", &empty], b"", "not a key");
    let bare = folder.put("bare", &[1; 32]);
    unusable(&["inspect", &bare], b"", "use --set");
    unusable(
        &["inspect", &key, "--set", "65"],
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
        let seed = peer::seed(set.name());
        let raw = folder.put("seed", &seed);
        let (pk, _) = set.keygen(&seed);
        for form in ["seed", "expanded", "both"] {
            for format in ["pem", "der", "raw", "hex"] {
                if form == "both" && (format == "raw" || format == "hex") {
                    continue;
                }
                let key = folder.at("key");
                let args = ["keygen", "--set", number(set), "--seed-file", &raw];
                let to = ["--form", form, "--format", format, "--force", "-o", &key];
                good(&[&args[..], &to].concat(), b"");
                for format in ["pem", "der", "raw", "hex"] {
                    let public = folder.at("public");
                    let to = ["--format", format, "--force", "-o", &public];
                    good(
                        &[&["pubkey", &key, "--set", number(set)], &to[..]].concat(),
                        b"",
                    );
                    let run = good(&["pubkey", &public, "--format", "hex"], b"");
                    assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn secret_files_are_private_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("modes");
    let key = folder.at("key.pem");
    let mode = || fs::metadata(&key).unwrap().permissions().mode() & 0o777;
    good(&["keygen", "--set", "65", "--out", &key], b"");
    assert_eq!(mode(), 0o600);
    let before = folder.get("key.pem");
    unusable(&["keygen", "--set", "65", "--out", &key], b"", "--force");
    unusable(&["pubkey", &key, "--out", &key], b"", "--force");
    unusable(&["sign", "--key", &key, "--out", &key], b"", "--force");
    assert_eq!(folder.get("key.pem"), before);

    // Also when what is replaced was open to all.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    good(&["keygen", "--set", "65", "--out", &key, "--force"], b"");
    assert_eq!(mode(), 0o600);
    assert_ne!(folder.get("key.pem"), before);
    // Nothing else is left in the folder, of failures neither.
    let directory = folder.at("directory");
    fs::create_dir(&directory).unwrap();
    for target in [&directory, &folder.at("no/where")] {
        unusable(
            &["keygen", "--set", "65", "--force", "--out", target],
            b"",
            target,
        );
    }
    fs::remove_dir(&directory).unwrap();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    unusable(
        &["keygen", "--set", "65", "--out", &folder.at("no/where")],
        b"",
        "where",
    );
}

#[test]
fn signatures_agree_with_the_peer() {
    let folder = Folder::new("sign");
    for set in SETS {
        let seed = peer::seed(set.name());
        let (pk, _) = set.keygen(&seed);
        let key = folder.put("seed", &seed);
        let public = folder.put("pk", &pk);
        let key_args = ["--key", &key, "--set", number(set)];
        // Longer than any buffer.
        let message = peer::bytes("message", 300_000);
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
                Form::PreHashed(strong, peer::digest(strong, &message)),
                b"x",
            ),
        ] {
            let sign = [&["sign"], &key_args[..], &options, &["--deterministic"]].concat();
            let expected = set.sign(&seed, &[0; 32], &form, ctx);
            let run = good(&[&sign[..], &["--hex"]].concat(), &message);
            assert_eq!(run.stdout.trim_end(), hex::encode(&expected));
            let sig = folder.at("sig");
            good(&[&sign[..], &["--force", "-o", &sig, &file]].concat(), b"");
            assert_eq!(folder.get("sig"), expected);

            // Hedged: another signature every time, good for the peer.
            let hedged = [&["sign"], &key_args[..], &options, &["--hex"]].concat();
            let [a, b] =
                [0, 1].map(|_| hex::decode(good(&hedged, &message).stdout.trim_end()).unwrap());
            assert_ne!(a, b);
            assert!(set.verify(&pk, &a, &form, ctx) && set.verify(&pk, &b, &form, ctx));

            let verify = [&["verify", "-k", &public, "-s", &sig], &options[..]].concat();
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
        let seed = peer::seed(set.name());
        let (pk, _) = set.keygen(&seed);
        let key = folder.put("seed", &seed);
        let public = folder.put("pk", &pk);
        let message = peer::bytes("message", 100_000);
        let digits = good(&["mu", "-k", &public, "--ctx", "c"], &message).stdout;
        assert_eq!(
            digits.trim_end(),
            hex::encode(peer::mu(&pk, &message, b"c"))
        );
        let raw = folder.at("mu");
        good(
            &[
                "mu", "-k", &public, "--ctx", "c", "--raw", "--force", "-o", &raw,
            ],
            &message,
        );
        let sign = [
            "sign",
            "-k",
            &key,
            "--set",
            number(set),
            "--mu",
            "--deterministic",
            "--hex",
        ];
        let a = good(&sign, digits.as_bytes()).stdout;
        assert_eq!(a, good(&[&sign[..], &[&raw]].concat(), b"").stdout);
        let sig = folder.put("sig", a.as_bytes());
        let verify = ["verify", "-k", &public, "-s", &sig];
        good(&[&verify[..], &["--ctx", "c"]].concat(), &message);
        good(&[&verify[..], &["--mu", &raw]].concat(), b"");
        unusable(&sign, &digits.as_bytes()[1..], "not 64 bytes of mu");
        unusable(&sign, &[0; 65], "not 64 bytes of mu");
        unusable(&sign, b"", "not 64 bytes of mu");
        unusable(
            &[&sign[..], &["--ctx", "c"]].concat(),
            b"",
            "cannot be used with",
        );
    }
}

#[test]
fn verdicts_and_unusable_input() {
    let folder = Folder::new("verdicts");
    let set = Set::MlDsa44;
    let seed = peer::seed("verdicts");
    let (pk, _) = set.keygen(&seed);
    let key = folder.put("seed", &seed);
    let public = folder.put("pk", &pk);
    let form = Form::Pure(b"m".to_vec());
    let good_sig = set.sign(&seed, &[0; 32], &form, b"");
    let verify = |sig: &[u8], options: &[&str]| {
        let sig = folder.put("sig", sig);
        let run = mldsa(
            &[&["verify", "-k", &public, "-s", &sig], options].concat(),
            b"m",
        );
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
    let mut bad = good_sig.clone();
    *bad.last_mut().unwrap() = 0xff;
    assert_eq!(verify(&bad, &[]), invalid("hint_encoding"));
    let mut bad = good_sig.clone();
    bad[32..608].fill(0);
    assert_eq!(verify(&bad, &[]), invalid("response_norm"));
    assert_eq!(
        verify(&good_sig, &["--ctx", "x"]),
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
    let sign = ["sign", "-k", &key, "--set", "44"];
    unusable(
        &[&sign[..], &["--ctx-hex", &too_long]].concat(),
        b"",
        "longer than 255",
    );
    unusable(
        &["mu", "-k", &public, "--ctx-hex", &too_long],
        b"",
        "longer than 255",
    );

    unusable(
        &[&sign[..], &["--ctx-hex", "0"]].concat(),
        b"",
        "not hexadecimal",
    );
    unusable(
        &[&sign[..], &["--ctx", "a", "--ctx-hex", "00"]].concat(),
        b"",
        "cannot be used",
    );
    unusable(
        &[&sign[..], &["--prehash", "MD5"]].concat(),
        b"",
        "SHAKE-256",
    );
    unusable(
        &[&sign[..], &["--prehash", "SHA2-224"]].concat(),
        b"",
        "too weak",
    );
    good(
        &[
            &sign[..],
            &["--prehash", "SHA2-224", "--allow-weak-prehash", "--hex"],
        ]
        .concat(),
        b"",
    );
    unusable(&["sign", "-k", &public], b"", "a public key");
    unusable(&["sign", "-k", &key], b"", "use --set");
    let sig = folder.put("sig", &good_sig);
    unusable(&["verify", "-k", &sig, "-s", &sig], b"", "not a key");
    let missing = folder.at("missing");
    unusable(
        &["verify", "-k", &public, "-s", &sig, &missing],
        b"",
        "missing",
    );
    unusable(&["verify", "-k", &public], b"", "--sig");
}
