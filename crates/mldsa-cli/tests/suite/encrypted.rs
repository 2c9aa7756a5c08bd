//! Private keys that a password encrypts.

use std::fs;
use std::process::Command;

use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::{Encode, pem};
use pkcs8::pkcs5::pbes2::{
    EncryptionScheme, Kdf, Parameters, Pbkdf2Params, Pbkdf2Prf, Salt, ScryptParams,
};

use crate::peer::Set;
use crate::tool::{Folder, args, good, mldsa, unusable};

const PASSWORD: &[u8] = b"secret";

/// Of the ML-DSA-44 key in the files, which OpenSSL 4.0.3 encrypted, `pbkdf2` in one call,
/// `scrypt` in two, one for the KDF and one for AES.
fn seed() -> [u8; 32] {
    core::array::from_fn(|n| n as u8)
}

fn published(name: &str) -> String {
    let path = format!("{}/tests/data/{name}.pem", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// PKCS#8 of the seed.
fn plain() -> Vec<u8> {
    let algorithm = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11";
    [
        &b"\x30\x34\x02\x01\x00"[..],
        algorithm,
        b"\x04\x22\x80\x20",
        &seed(),
    ]
    .concat()
}

fn pbkdf2(iteration_count: u32) -> Kdf {
    Kdf::Pbkdf2(Pbkdf2Params {
        salt: Salt::new(b"salt of the test").unwrap(),
        iteration_count,
        key_length: None,
        prf: Pbkdf2Prf::HmacWithSha256,
    })
}

fn scrypt(cost_parameter: u64, block_size: u16, parallelization: u16) -> Kdf {
    Kdf::Scrypt(ScryptParams {
        salt: Salt::new(b"salt of the test").unwrap(),
        cost_parameter,
        block_size,
        parallelization,
        key_length: None,
    })
}

/// EncryptedPrivateKeyInfo with these parameters.
fn structure(parameters: &Parameters, data: &[u8]) -> Vec<u8> {
    EncryptedPrivateKeyInfoRef {
        encryption_algorithm: parameters.clone().into(),
        encrypted_data: OctetStringRef::new(data).unwrap(),
    }
    .to_der()
    .unwrap()
}

fn encrypt(kdf: Kdf, encryption: EncryptionScheme, content: &[u8]) -> Vec<u8> {
    let parameters = Parameters { kdf, encryption };
    structure(&parameters, &parameters.encrypt(PASSWORD, content).unwrap())
}

const CBC: EncryptionScheme = EncryptionScheme::Aes256Cbc { iv: [7; 16] };

#[test]
fn reads_files_of_other_implementations() {
    let folder = Folder::new("encrypted");
    let password = folder.put("password", PASSWORD);
    let (pk, _) = Set::MlDsa44.keygen(&seed());
    let mut files = vec![
        published("pbkdf2").into_bytes(),
        published("scrypt").into_bytes(),
    ];
    let gcm = EncryptionScheme::Aes128Gcm { nonce: [7; 12] };
    for (kdf, encryption) in [(pbkdf2(1), CBC), (scrypt(2, 1, 1), gcm)] {
        files.push(encrypt(kdf, encryption, &plain()));
    }
    let parts = |file: &[u8]| match pem::decode_vec(file) {
        Ok((_, der)) => der,
        Err(_) => file.to_vec(),
    };
    let file = folder.at("file");
    let options = [&file, "--password-file", &password];
    for content in files {
        for content in [parts(&content), content] {
            folder.put("file", &content);
            let run = good(&args!["pubkey --format hex", ..options], b"");
            assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
        }
    }
    let run = good(&[&["inspect"], &options[..]].concat(), b"");
    assert!(run.stdout.contains("kind:        private key"));
    let signature = folder.at("signature");
    good(&args!["sign -o", &signature, "-k", ..options], b"message");
    let verify = args!["verify -s", &signature, "-k"];
    let run = good(&[&verify, &options[..]].concat(), b"message");
    assert_eq!(run.stdout, "valid\n");
}

#[test]
fn passwords() {
    let folder = Folder::new("encrypted-passwords");
    let file = folder.put("file", &encrypt(pbkdf2(1), CBC, &plain()));
    let inspect =
        |password: &str| ["inspect", &file, "--password-file", password].map(String::from);
    let put = |content: &[u8]| inspect(&folder.put("password", content));
    for content in [
        "secret\n",
        "secret\r\n",
        "secret\nanother\n",
        "\u{feff}secret",
    ] {
        let args = put(content.as_bytes());
        good(&args.each_ref().map(|arg| &**arg), b"");
    }
    for (content, why) in [
        ("\u{feff}", "no password"),
        ("wrong", "wrong password"),
        ("secret ", "wrong password"),
        ("", "no password"),
        ("\nsecret", "no password"),
    ] {
        let args = put(content.as_bytes());
        unusable(&args.each_ref().map(|arg| &**arg), b"", why);
    }
    let standard = inspect("-");
    good(&standard.each_ref().map(|arg| &**arg), PASSWORD);
    unusable(
        &args!["inspect - --password-file -"],
        b"",
        "asked for twice",
    );
    unusable(
        &args!["inspect", &file, "--password-file /nowhere"],
        b"",
        "/nowhere",
    );
    unusable(&["inspect", &file], b"", "--password-file");
    unusable(&["inspect", &file], b"", "openssl pkcs8");
    // A file is what was asked for, whatever the environment says.
    let wrong = folder.put("wrong", b"wrong");
    for (variable, more, code) in [
        ("secret", None, 0),
        ("wrong", None, 2),
        ("", None, 2),
        ("secret", Some(["--password-file", &wrong]), 2),
    ] {
        let mut inspect = Command::new(env!("CARGO_BIN_EXE_mldsa"));
        inspect
            .args(["inspect", &file])
            .env("MLDSA_PASSWORD", variable);
        let run = inspect.args(more.iter().flatten()).output().unwrap();
        assert_eq!(run.status.code(), Some(code));
    }
    // One wrong password of 256 leads to something with good padding.
    let parameters = Parameters {
        kdf: pbkdf2(1),
        encryption: CBC,
    };
    let data = parameters.encrypt(PASSWORD, &plain()).unwrap();
    let lucky = (0..)
        .map(|n| format!("wrong {n}"))
        .find(|password| parameters.decrypt(password, &data).is_ok())
        .unwrap();
    let args = put(lucky.as_bytes());
    unusable(&args.each_ref().map(|arg| &**arg), b"", "wrong password");
}

#[test]
fn malformed_and_costly_files_are_rejected() {
    let folder = Folder::new("encrypted-refused");
    let password = folder.put("password", PASSWORD);
    let parameters = |kdf| Parameters {
        kdf,
        encryption: CBC,
    };
    let costly = "too costly";
    let unknown = "malformed or not of PBES2";
    let wrong = "wrong password, or damaged";
    let mut cases = vec![];
    for (kdf, why) in [
        (pbkdf2(0), unknown),
        (pbkdf2(10_000_001), costly),
        (pbkdf2(u32::MAX), costly),
        (scrypt(0, 8, 1), unknown),
        (scrypt(1, 8, 1), unknown),
        (scrypt(3, 8, 1), unknown),
        (scrypt(2, 0, 1), unknown),
        (scrypt(2, 8, 0), unknown),
        (scrypt(1 << 19, 8, 1), costly),
        (scrypt(1 << 18, 8, 5), costly),
        // Few blocks of a megabyte, but 512 to begin with.
        (scrypt(2, 1 << 13, 512), costly),
        (scrypt(u64::MAX, u16::MAX, u16::MAX), costly),
        (scrypt(1 << 63, 8, 1), costly),
        (scrypt(2, 1, 3), wrong),
    ] {
        cases.push((structure(&parameters(kdf), &[7; 64]), why));
    }
    let of = |content: &[u8]| encrypt(pbkdf2(1), CBC, content);
    // An RSA key, a public key, nothing.
    let mut rsa = plain();
    rsa[7..18].copy_from_slice(b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01");
    cases.push((of(&rsa), "not an ML-DSA key"));
    cases.push((of(&plain()[..20]), wrong));
    cases.push((of(&[plain(), vec![0]].concat()), wrong));
    cases.push((of(b""), wrong));
    // Ciphertexts of no and of half a block, a key length that is not the cipher's.
    cases.push((structure(&parameters(pbkdf2(1)), b""), wrong));
    cases.push((structure(&parameters(pbkdf2(1)), &[7; 24]), wrong));
    let mut short = pbkdf2(1);
    if let Kdf::Pbkdf2(parameters) = &mut short {
        parameters.key_length = Some(16);
    }
    cases.push((structure(&parameters(short), &[7; 64]), unknown));
    // PBES1, and PBKDF2 with an HMAC of SHA-1.
    let pbes1 = b"\x30\x0f\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0a\x04\x00";
    cases.push((pbes1.to_vec(), unknown));
    let mut sha1 = pbkdf2(1);
    if let Kdf::Pbkdf2(parameters) = &mut sha1 {
        parameters.prf = Pbkdf2Prf::HmacWithSha1;
    }
    cases.push((structure(&parameters(sha1), &[7; 64]), unknown));
    let good_one = of(&plain());
    for (der, why) in &cases {
        let text = pem::encode_string("ENCRYPTED PRIVATE KEY", pem::LineEnding::LF, der).unwrap();
        for content in [der, text.as_bytes()] {
            let file = folder.put("file", content);
            let options = ["inspect", &file, "--password-file", &password];
            unusable(&options, b"", why);
        }
    }
    // Truncated to the length of a raw public key: ciphertext is no private key.
    let long = of(&[7; 1400]);
    let file = folder.put("file", &long[..1312]);
    good(&["pubkey", &file], b"");
    for len in (0..good_one.len()).step_by(5) {
        let file = folder.put("file", &good_one[..len]);
        let run = mldsa(&["inspect", &file, "--password-file", &password], b"");
        assert_eq!((run.code, &*run.stdout), (2, ""), "{len}");
    }
    // Never a panic, never another key than one of ours.
    for at in (0..good_one.len()).step_by(2) {
        let mut changed = good_one.clone();
        changed[at] ^= 0x81;
        let file = folder.put("file", &changed);
        let run = mldsa(&["inspect", &file, "--password-file", &password], b"");
        assert!([0, 1, 2].contains(&run.code), "{at}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{at}: {}", run.stderr);
    }
}
