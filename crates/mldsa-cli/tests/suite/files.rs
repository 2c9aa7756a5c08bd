//! The commands over files: golden output, exit codes, files and their modes,
//! agreement with the independent implementation.

mod formats;

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
fn external_mu() {
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

/// Under any name: a stream is empty after it was read.
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
    // Another pipe is rejected before the open, which would wait for a writer.
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
fn keygen_writes_both_keys() {
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
