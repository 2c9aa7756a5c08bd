//! Private keys encrypted with a password.

use std::fs;
use std::process::Command;

use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::{Encode, pem};
use pkcs8::pkcs5::pbes2::{
    EncryptionScheme, Kdf, Parameters, Pbkdf2Params, Pbkdf2Prf, Salt, ScryptParams,
};

use mldsa_core::Set;

use crate::peer::Peer as _;
use crate::tool::Folder;

const PASSWORD: &[u8] = b"secret";

/// The seed of the ML-DSA-44 key in the files of OpenSSL 4.0.3. It encrypted `pbkdf2` in one call and
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
    folder.put("password", PASSWORD);
    let (pk, _) = Set::MlDsa44.keygen(&seed());
    // Those with salts of 64 and 200 bytes are of OpenSSL 3.0.19.
    let mut files = ["pbkdf2", "scrypt", "pbkdf2-salt-64", "scrypt-salt-200"]
        .map(|name| published(name).into_bytes())
        .to_vec();
    let gcm = EncryptionScheme::Aes128Gcm { nonce: [7; 12] };
    for (kdf, encryption) in [(pbkdf2(1), CBC), (scrypt(2, 1, 1), gcm)] {
        files.push(encrypt(kdf, encryption, &plain()));
    }
    for content in files {
        let der = pem::decode_vec(&content).map_or(content.clone(), |(_, der)| der);
        for content in [der, content] {
            folder.put("file", &content);
            let run = folder.good("pubkey --format hex file --password-file password");
            assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
        }
    }
    let run = folder.good("inspect file --password-file password");
    assert!(run.stdout.contains("kind:        private key"));
    folder.good_with(
        "sign -o signature -k file --password-file password",
        b"message",
    );
    let verify = "verify -s signature -k file --password-file password";
    assert_eq!(folder.good_with(verify, b"message").stdout, "valid\n");
}

#[test]
fn passwords() {
    let folder = Folder::new("encrypted-passwords");
    folder.put("file", &encrypt(pbkdf2(1), CBC, &plain()));
    let inspect = "inspect file --password-file";
    // One wrong password of 256 decrypts to valid padding.
    let parameters = Parameters {
        kdf: pbkdf2(1),
        encryption: CBC,
    };
    let data = parameters.encrypt(PASSWORD, &plain()).unwrap();
    let mut wrong = (0..).map(|n| format!("wrong {n}"));
    let padded = wrong.find(|password| parameters.decrypt(password, &data).is_ok());
    for (content, why) in [
        ("secret\n", ""),
        ("secret\r\n", ""),
        ("secret\nanother\n", ""),
        ("\u{feff}secret", ""),
        ("\u{feff}", "no password"),
        ("wrong", "wrong password"),
        ("secret ", "wrong password"),
        (&padded.unwrap(), "wrong password"),
        ("", "no password"),
        ("\nsecret", "no password"),
    ] {
        folder.put("password", content.as_bytes());
        let run = folder.run(&format!("{inspect} password"), b"");
        assert_eq!(run.code, if why.is_empty() { 0 } else { 2 }, "{content:?}");
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    folder.good_with(&format!("{inspect} -"), PASSWORD);
    folder.unusable("inspect - --password-file -", b"", "asked for twice");
    folder.unusable(&format!("{inspect} /nowhere"), b"", "/nowhere");
    for why in ["--password-file", "openssl pkcs8"] {
        folder.unusable("inspect file", b"", why);
    }
    // The option has precedence over the environment.
    folder.put("wrong", b"wrong");
    for (variable, more, code) in [
        ("secret", "", 0),
        ("wrong", "", 2),
        ("", "", 2),
        ("secret", "--password-file wrong", 2),
    ] {
        let mut inspect = Command::new(env!("CARGO_BIN_EXE_mldsa"));
        let inspect = inspect
            .args(["inspect", "file"])
            .args(more.split_whitespace());
        let inspect = inspect
            .current_dir(&folder.0)
            .env("MLDSA_PASSWORD", variable);
        assert_eq!(inspect.output().unwrap().status.code(), Some(code));
    }
}

#[test]
fn malformed_and_costly_files_are_rejected() {
    let folder = Folder::new("encrypted-rejected");
    folder.put("password", PASSWORD);
    let inspect = "inspect file --password-file password";
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
            folder.put("file", content);
            folder.unusable(inspect, b"", why);
        }
    }
    // Truncated to the length of a raw public key: ciphertext is no private key.
    let long = of(&[7; 1400]);
    folder.put("file", &long[..1312]);
    folder.good("pubkey file");
    for len in (0..good_one.len()).step_by(5) {
        folder.put("file", &good_one[..len]);
        let run = folder.run(inspect, b"");
        assert_eq!((run.code, &*run.stdout), (2, ""), "{len}");
    }
    // Never a panic, never another key than one of ours.
    for at in (0..good_one.len()).step_by(2) {
        let mut changed = good_one.clone();
        changed[at] ^= 0x81;
        folder.put("file", &changed);
        let run = folder.run(inspect, b"");
        assert!([0, 1, 2].contains(&run.code), "{at}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{at}: {}", run.stderr);
    }
}

/// Keys that `keygen` and `convert` encrypt are read with the password only.
#[test]
fn keys_are_written_encrypted() {
    let folder = Folder::new("encrypted-written");
    folder.put("seed", &seed());
    folder.put("password", b"a password\n");
    folder.put("other", b"another\n");
    let public = folder.good("keygen --set 44 --seed-file seed --out plain.pem --pub public.pem");
    assert_eq!(public.stderr, "");
    let with = "--encrypt --new-password-file";
    folder.good(&format!(
        "keygen --set 44 --seed-file seed {with} password --out key.pem"
    ));
    folder.good(&format!(
        "convert plain.pem {with} password --form both --format der --out key.der"
    ));
    let text = String::from_utf8(folder.get("key.pem")).unwrap();
    assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
    for key in ["key.pem", "key.der"] {
        let run = folder.good(&format!("pubkey {key} --password-file password"));
        assert_eq!(run.stdout.into_bytes(), folder.get("public.pem"));
        let bytes = folder.get(key);
        assert!(memchr::memmem::find(&bytes, &seed()).is_none());
        folder.unusable(
            &format!("pubkey {key} --password-file other"),
            b"",
            "wrong password",
        );
    }
    let again =
        format!("convert key.pem --password-file password {with} other --format der -o other.der");
    folder.good(&again);
    let plain = folder
        .good("convert other.der --password-file other")
        .stdout;
    assert_eq!(plain.into_bytes(), folder.get("plain.pem"));
    // Two files of one key differ in salt and initial value.
    folder.good(&format!(
        "convert plain.pem {with} password --out second.pem"
    ));
    assert_ne!(folder.get("second.pem"), folder.get("key.pem"));
    for (args, why) in [
        (
            "keygen --set 44 --encrypt",
            "no password: it comes from --new-password-file",
        ),
        (
            "keygen --set 44 --encrypt --format hex --new-password-file other",
            "needs PEM or DER",
        ),
        (
            "keygen --set 44 --encrypt --format jwk --new-password-file other",
            "needs PEM or DER",
        ),
        ("keygen --set 44 --new-password-file other", "--encrypt"),
        (
            "keygen --set 44 --encrypt --new-password-file nowhere",
            "nowhere",
        ),
    ] {
        folder.unusable(args, b"", why);
    }
}
