//! Checkpoints of logs: keys, cosignatures, policies and proofs.

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};

use crate::tool::Folder;

/// A log with one entry, so that the leaf is the root.
const ENTRY: &[u8] = b"entry";

fn checkpoint() -> String {
    let leaf = Sha256::new().chain_update([0]).chain_update(ENTRY);
    let root = Base64::encode_string(&leaf.finalize());
    format!("example.com/log\n1\n{root}\n")
}

/// A folder with keys of a log and a witness, a policy of both, and a checkpoint.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let log = folder
        .good("note keygen example.com/log --out log.pem")
        .stdout;
    let witness = folder
        .good("note keygen witness/1 --out witness.pem")
        .stdout;
    let policy = format!("log {log}witness w {witness}quorum w\n");
    folder.put("policy", policy.as_bytes());
    folder.put("checkpoint", checkpoint().as_bytes());
    folder.put("entry", ENTRY);
    folder
}

#[test]
fn notes_of_a_log_and_a_witness() {
    let folder = folder("note-cosign");
    let verify = |note: &[u8]| folder.run("note verify --policy policy", note);
    let signed = folder
        .good("note cosign example.com/log -k log.pem checkpoint")
        .stdout;
    let run = verify(signed.as_bytes());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert_eq!(run.stdout, "invalid: too few witnesses have signed\n");

    let cosign = "note cosign witness/1 -k witness.pem";
    folder.good_with(&format!("{cosign} --out note"), signed.as_bytes());
    let note = folder.get("note");
    let run = verify(&note);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rest = run.stdout.strip_prefix("valid\n").unwrap();
    let witness = rest.strip_prefix(&*checkpoint()).unwrap();
    let time: u64 = witness
        .trim_end()
        .strip_prefix("witness/1 ")
        .unwrap()
        .parse()
        .unwrap();
    assert!(time > 1_700_000_000);

    // The proof of the only entry has no hashes.
    let proof = [&b"c2sp.org/tlog-proof@v1\nindex 0\n\n"[..], &note].concat();
    folder.put("proof", &proof);
    let prove = "note verify --policy policy proof --entry";
    assert_eq!(folder.good(&format!("{prove} entry")).stdout, run.stdout);
    let other = folder.run(&format!("{prove} checkpoint"), b"");
    assert_eq!(
        (other.code, &*other.stdout),
        (1, "invalid: the proof does not lead to the root\n")
    );

    // Another size under the same signatures, and a text without them.
    let text = String::from_utf8(note).unwrap();
    let run = verify(text.replacen("\n1\n", "\n2\n", 1).as_bytes());
    assert_eq!(
        (run.code, &*run.stdout),
        (1, "invalid: an invalid signature of a known key\n")
    );
    folder.unusable(
        "note verify --policy policy checkpoint",
        b"",
        "malformed note",
    );
    folder.unusable(&format!("{cosign} note"), b"", "is signed by this key");
}

#[test]
fn unusable_names_keys_and_inputs() {
    let folder = folder("note-unusable");
    folder.unusable("note keygen name", b"", "is named for two results");
    folder.unusable("note keygen a+b --out new.pem", b"", "malformed name");
    assert!(!folder.0.join("new.pem").exists());
    folder.unusable("note keygen name --out log.pem", b"", "exists");
    folder.good("keygen --set 65 --out other.pem");
    folder.unusable(
        "note cosign name -k other.pem checkpoint",
        b"",
        "not a key of ML-DSA-44",
    );
    let cosign = "note cosign name -k log.pem";
    let extended = format!("{}extension\n", checkpoint());
    folder.unusable(
        cosign,
        extended.as_bytes(),
        "a checkpoint with extension lines",
    );
    folder.unusable(cosign, b"\xff", "malformed checkpoint");
    folder.unusable(cosign, b"\n\n", "malformed note");
    folder.unusable(cosign, &[b'a'; 1_000_001], "more than 1 MB");
    folder.unusable(
        "note verify --policy entry checkpoint",
        b"",
        "line 1: malformed",
    );

    // A note may have 100 signatures.
    let line = "\u{2014} other AAAAAAA=\n".repeat(100);
    let full = format!("{}\n{line}", checkpoint());
    folder.unusable(
        cosign,
        full.as_bytes(),
        "more bytes or signatures than the bound",
    );
}
