//! The commands over files: signatures, verdicts, modes of files, standard input. The independent
//! implementation agrees.

mod formats;
mod lengths;
mod older;

use std::fs;

use mldsa_core::Set;

use crate::peer::{Form, Peer as _};
use crate::tool::Folder;

fn number(set: Set) -> &'static str {
    &set.name()[7..]
}

fn keygen(set: Set, more: &str) -> String {
    format!("keygen --set {} {more}", number(set))
}

const SEED_HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn published_seed() -> [u8; 32] {
    core::array::from_fn(|n| n as u8)
}

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
    let mode = || {
        fs::metadata(folder.0.join("key"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    folder.good("keygen --set 65 --out key");
    assert_eq!(mode(), 0o600);
    let before = folder.get("key");
    folder.unusable("keygen --set 65 --out key", b"", "--force");
    folder.unusable("pubkey key --out key", b"", "is an input");
    folder.unusable("sign --key key --out key", b"", "is an input");
    assert_eq!(folder.get("key"), before);

    // A replaced file with mode 644 too.
    fs::set_permissions(folder.0.join("key"), fs::Permissions::from_mode(0o644)).unwrap();
    folder.good("keygen --set 65 --out key --force");
    assert_eq!(mode(), 0o600);
    assert_ne!(folder.get("key"), before);
    fs::create_dir(folder.0.join("directory")).unwrap();
    for target in ["directory", "no/where"] {
        let args = format!("keygen --set 65 --force --out {target}");
        folder.unusable(&args, b"", target);
    }
    folder.unusable("keygen --set 65 --out no/where", b"", "where");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[test]
fn signatures_agree_with_the_peer() {
    let folder = Folder::new("sign");
    for set in Set::ALL {
        let seed = crate::peer::seed(set.name());
        let (pk, _) = set.keygen(&seed);
        folder.put("seed", &seed);
        folder.put("pk", &pk);
        // Longer than any buffer.
        let message = crate::peer::bytes("message", 300_000);
        folder.put("message", &message);
        let pure = Form::Pure(message.clone());
        let strong = *set.hashes().last().unwrap();
        let hashed = Form::PreHashed(strong, crate::peer::digest(strong, &message));
        let prehash = format!("--prehash {strong} --ctx x");
        for (options, form, ctx) in [
            ("", &pure, &b""[..]),
            ("--ctx net/1", &pure, b"net/1"),
            ("--ctx-hex 00fF", &pure, &[0, 0xff]),
            (&prehash, &hashed, b"x"),
        ] {
            let sign = format!("sign --key seed --set {} {options}", number(set));
            let expected = set.sign(&seed, &[0; 32], form, ctx);
            let run = folder.good_with(&format!("{sign} --deterministic --hex"), &message);
            assert_eq!(run.stdout.trim_end(), hex::encode(&expected));
            folder.good(&format!("{sign} --deterministic --force -o sig message"));
            assert_eq!(folder.get("sig"), expected);

            // Hedged: another signature every time.
            let [a, b] = [0, 1].map(|_| {
                let run = folder.good_with(&format!("{sign} --hex"), &message);
                hex::decode(run.stdout.trim_end()).unwrap()
            });
            assert_ne!(a, b);
            assert!(set.verify(&pk, &a, form, ctx) && set.verify(&pk, &b, form, ctx));

            let verify = format!("verify -k pk -s sig {options}");
            assert_eq!(folder.good_with(&verify, &message).stdout, "valid\n");
            let run = folder.run(&verify, b"other");
            let expected = (1, "invalid: challenge_mismatch\n");
            assert_eq!((run.code, &*run.stdout), expected);
        }
    }
}

#[test]
fn external_mu() {
    let folder = Folder::new("mu");
    for set in Set::ALL {
        let seed = crate::peer::seed(set.name());
        let (pk, _) = set.keygen(&seed);
        folder.put("seed", &seed);
        folder.put("pk", &pk);
        let message = crate::peer::bytes("message", 100_000);
        let mu = folder.good_with("mu -k pk --ctx c", &message).stdout;
        let digits = mu.trim_end();
        assert_eq!(digits, hex::encode(crate::peer::mu(&pk, &message, b"c")));
        folder.good_with("mu -k pk --ctx c --raw --force -o mu", &message);
        let sign = format!(
            "sign -k seed --set {} --mu --deterministic --hex",
            number(set)
        );
        let signature = folder.good_with(&sign, mu.as_bytes()).stdout;
        assert_eq!(folder.good(&format!("{sign} mu")).stdout, signature);
        folder.put("sig", signature.as_bytes());
        let verify = "verify -k pk -s sig";
        folder.good_with(&format!("{verify} --ctx c"), &message);
        folder.good(&format!("{verify} --mu mu"));
        // All bytes count, also after white space.
        let not_mu = "not 64 bytes of mu";
        let verify = format!("{verify} --mu");
        for blanks in [1, 127, 128, 200, 5000] {
            let padded = format!("{digits}{}", " ".repeat(blanks));
            assert_eq!(folder.good_with(&sign, padded.as_bytes()).stdout, signature);
            folder.good_with(&verify, padded.as_bytes());
            let more = format!("{padded}x");
            folder.unusable(&sign, more.as_bytes(), not_mu);
            folder.unusable(&verify, more.as_bytes(), not_mu);
        }
        for input in [&mu.as_bytes()[1..], &[0; 65], b""] {
            folder.unusable(&sign, input, not_mu);
        }
        folder.unusable(&sign, &[b' '; 70_000], "too long");
        folder.unusable(&format!("{sign} --ctx c"), b"", "cannot be used with");
    }
}

#[test]
fn verdicts_and_unusable_input() {
    let folder = Folder::new("verdicts");
    let set = Set::MlDsa44;
    let seed = crate::peer::seed("verdicts");
    let (pk, _) = set.keygen(&seed);
    folder.put("seed", &seed);
    folder.put("pk", &pk);
    let signature = set.sign(&seed, &[0; 32], &Form::Pure(b"m".to_vec()), b"");
    let mut bad_hint = signature.clone();
    *bad_hint.last_mut().unwrap() = 0xff;
    let mut bad_norm = signature.clone();
    bad_norm[32..608].fill(0);
    let json = |text: &str| format!("{{\"set\":\"ML-DSA-44\",\"valid\":{text}}}\n");
    let invalid = |reason: &str| format!("invalid: {reason}\n");
    let upper = hex::encode_upper(&signature).into_bytes();
    // 255 bytes of context are the most.
    let [at_most, too_long] = [255, 256].map(|len| format!("--ctx-hex {}", "aa".repeat(len)));
    let other = "another message, context or key";
    let short = json("false,\"reason\":\"signature_length\"");
    #[rustfmt::skip]
    let cases = [
        (&signature[..], "", 0, "valid\n".into(), ""),
        (&upper, "", 0, "valid\n".into(), ""),
        (&signature, "--json", 0, json("true"), ""),
        (&signature, "--quiet", 0, String::new(), ""),
        (&signature[1..], "", 1, invalid("signature_length"), "not 2419"),
        (&signature[1..], "--json", 1, short, "not 2419"),
        (&signature[1..], "-q", 1, String::new(), ""),
        (b"", "", 1, invalid("signature_length"), "not 0"),
        (b"x", "", 1, invalid("signature_length"), "has 2420 bytes, not 1"),
        (&[0; 3309], "", 1, invalid("signature_length"), "an ML-DSA-65 signature; the key"),
        (&bad_hint, "", 1, invalid("hint_encoding"), "no signature of any message"),
        (&bad_norm, "", 1, invalid("response_norm"), "no signature of any message"),
        (&signature, "--ctx x", 1, invalid("challenge_mismatch"), other),
        (&signature, &at_most, 1, invalid("challenge_mismatch"), other),
        (&signature, &too_long, 1, invalid("context_too_long"), "at most"),
    ];
    for (sig, options, code, stdout, stderr) in cases {
        folder.put("sig", sig);
        let run = folder.run(&format!("verify -k pk -s sig {options}"), b"m");
        assert_eq!((run.code, run.stdout), (code, stdout), "{options}");
        assert!(run.stderr.contains(stderr), "{}", run.stderr);
        assert_eq!(run.stderr.is_empty(), stderr.is_empty(), "{}", run.stderr);
    }
    for prefix in ["0x", "0X"] {
        folder.put("sig", &[prefix.as_bytes(), &upper].concat());
        folder.unusable("verify -k pk -s sig", b"m", "leave 0x out");
    }
    folder.put("sig", &signature);
    let sign = "sign -k seed --set 44";
    for (args, why) in [
        (format!("{sign} {too_long}"), "longer than 255"),
        (format!("mu -k pk {too_long}"), "longer than 255"),
        (format!("{sign} --ctx-hex 0"), "not hexadecimal"),
        (format!("{sign} --ctx a --ctx-hex 00"), "cannot be used"),
        (format!("{sign} --prehash MD5"), "SHAKE-256"),
        (format!("{sign} --prehash SHA2-224"), "too weak"),
        ("sign -k pk".into(), "a public key"),
        ("sign -k seed".into(), "use --set"),
        ("verify -k sig -s sig".into(), "not a key"),
        ("verify -k pk -s sig missing".into(), "missing"),
        ("verify -k pk".into(), "--sig"),
    ] {
        folder.unusable(&args, b"", why);
    }
    folder.good(&format!(
        "{sign} --prehash sha2-224 --allow-weak-prehash --hex"
    ));
}

/// Under any name: a stream is empty after it was read.
#[cfg(unix)]
#[test]
fn standard_input_is_read_once_under_any_name() {
    let folder = Folder::new("once");
    let input = SEED_PEM.as_bytes();
    folder.put("key", input);
    std::os::unix::fs::symlink("/dev/stdin", folder.0.join("link")).unwrap();
    let names = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "link"];
    let exists = |name: &&str| fs::exists(folder.0.join(name)).unwrap();
    for name in names.into_iter().filter(exists) {
        for twice in [
            format!("sign --key {name} --deterministic --hex"),
            format!("sign --key - --hex {name}"),
            format!("sign --key {name} --hex {name}"),
            format!("verify --key key --sig {name}"),
            format!("verify --key {name} --sig - key"),
            format!("mu --key {name}"),
        ] {
            folder.unusable(&twice, input, "can be read once");
        }
        folder.good_with(&format!("sign --key {name} --hex key"), input);
        folder.good_with(&format!("sign --key key --hex {name}"), input);
        folder.good_with(&format!("inspect {name}"), input);
    }
    // Another pipe is rejected before the open, which would wait for a writer.
    folder.mkfifo("pipe");
    folder.unusable("sign --key pipe pipe", b"", "can be read once");
    // A regular file can be read twice.
    folder.good("sign --key key --hex key");
}

#[test]
fn standard_input_for_any_one_file() {
    let folder = Folder::new("standard");
    let key = SEED_PEM.as_bytes();
    folder.put("key", key);
    folder.put("message", b"m");
    let sign = "sign --deterministic -o sig --force -k";
    folder.good_with(&format!("{sign} - message"), key);
    let signature = folder.get("sig");
    folder.good_with(&format!("{sign} key -"), b"m");
    assert_eq!(folder.get("sig"), signature);
    folder.good_with("pubkey -", key);
    folder.good_with("inspect -", key);
    folder.good_with("verify -k key -s - message", &signature);
    folder.good_with("keygen --set 44 --seed-file -", &[1; 32]);
    for twice in [
        "sign -k -",
        "verify -k - -s - message",
        "verify -k key -s -",
        "mu -k -",
    ] {
        folder.unusable(twice, key, "can be read once");
    }
    folder.unusable("inspect -", b"?", "standard input: ");
}

#[test]
fn keygen_writes_both_keys() {
    let folder = Folder::new("halves");
    folder.good("keygen --set 65 --out key --pub public");
    let public = folder.good("pubkey key").stdout;
    assert_eq!(public.into_bytes(), folder.get("public"));
    // No file has two results, and no file is changed if one of them exists.
    let before = folder.get("key");
    for target in ["key", "./key"] {
        let args = format!("keygen --set 65 --out key --force --pub {target}");
        folder.unusable(&args, b"", "two results");
    }
    folder.unusable("keygen --set 65 --pub -", b"", "two results");
    folder.unusable("keygen --set 65 --out other --pub public", b"", "--force");
    assert_eq!(folder.get("key"), before);
    assert!(!folder.0.join("other").exists());
}

#[test]
fn completions_and_manual_pages() {
    let folder = Folder::new("manual");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = folder.good(&format!("completions {shell}")).stdout;
        assert!(text.contains("batch-verify") && text.contains("--seed-file") || shell == "fish");
    }
    folder.good("man .");
    for page in ["mldsa", "mldsa-keygen", "mldsa-batch-verify"] {
        let text = String::from_utf8(folder.get(&format!("{page}.1"))).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
        assert!(text.contains("\"mldsa 0."), "{page}");
    }
    let text = String::from_utf8(folder.get("mldsa-batch-verify.1")).unwrap();
    assert!(
        text.contains("[\\-\\-threads <N>]") && text.contains(" <FILE>"),
        "{text}"
    );
    // The examples have equal indentation.
    let (_, examples) = text.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    let (examples, _) = examples.split_once(".fi").unwrap();
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let lines = examples.lines();
    assert_eq!(
        lines.map(indent).collect::<Vec<_>>(),
        [2, 4, 2, 4],
        "{examples}"
    );
    folder.unusable("man .", b"", "mldsa.1: exists");
}
