//! Public keys from certificates; damaged and other certificates are rejected.

use core::time::Duration;
use std::fs;
use std::time::SystemTime;

use mldsa_core::pkcs8::der::pem;
use mldsa_core::{AnyVerifyingKey, Context, Set};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_cert::der::{Decode, Encode, referenced::OwnedToRef};
use x509_cert::request::CertReq;

use crate::peer::Peer as _;
use crate::tool::Folder;

/// Certificates by OpenSSL 4.0.3, signed by an ECDSA key. The first is of the ML-DSA-44 key of the seed
/// 00 01 .. 1f; its subject has control characters that turn the direction of writing and clear a
/// terminal.
fn published(name: &str) -> (String, Vec<u8>) {
    let path = format!("{}/tests/data/{name}.crt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let (_, der) = pem::decode_vec(text.as_bytes()).unwrap();
    (text, der)
}

fn keys() -> (Vec<u8>, Vec<u8>) {
    Set::MlDsa44.keygen(&core::array::from_fn(|n| n as u8))
}

#[test]
fn inspect_prints_unverified_fields() {
    let folder = Folder::new("certificate-inspect");
    let (text, der) = published("ml-dsa-44");
    let (_, sk) = keys();
    let tr = hex::encode(&sk[64..128]);
    for (content, format) in [(text.as_bytes(), "PEM"), (&der, "DER")] {
        folder.put("file", content);
        let expected = format!(
            "kind:        certificate\nformat:      {format}\nset:         ML-DSA-44\n\
             consistent:  yes\nfingerprint: {}\ntr:          {tr}\n\
             subject:     CN=Prüfer \\e2\\80\\ae \\\"1\\\"\\1b[2J,C=DE\n\
             issuer:      CN=Test CA,C=DE\n\
             not_before:  2026-01-01T00:00:00Z\nnot_after:   2060-01-01T00:00:00Z\n\
             unchecked:   signature, names, dates and extensions of the certificate\n",
            &tr[..32]
        );
        assert_eq!(folder.good("inspect file").stdout, expected);
        let json = folder.good("inspect --json file").stdout;
        let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(facts["kind"], "certificate");
        assert_eq!(facts["tr"], tr);
        assert_eq!(facts["subject"], r#"CN=Prüfer \e2\80\ae \"1\"\1b[2J,C=DE"#);
        assert_eq!(facts["consistent"], true);
    }
}

#[test]
fn certificate_key_verifies() {
    let folder = Folder::new("certificate-verify");
    let (text, der) = published("ml-dsa-44");
    let (pk, sk) = keys();
    folder.put("certificate", text.as_bytes());
    folder.put("private", &sk);
    let run = folder.good("pubkey certificate --format hex");
    assert_eq!(run.stdout.trim_end(), hex::encode(&pk));
    folder.good_with("sign -k private -o signature", b"message");
    let verify = "verify -k certificate -s signature";
    assert_eq!(folder.good_with(verify, b"message").stdout, "valid\n");
    assert_eq!(folder.run(verify, b"another").code, 1);
    let mu = |key: &str| folder.good_with(&format!("mu -k {key}"), b"message").stdout;
    assert_eq!(mu("certificate"), mu("private"));
    folder.unusable("sign -k certificate", b"message", "a public key");
    let other_set = "inspect certificate --set 65";
    folder.unusable(other_set, b"", "of ML-DSA-44, not of ML-DSA-65");

    let signature = hex::encode(folder.get("signature"));
    let [pk, der, foreign] = [&pk, &der, &published("ecdsa").1].map(hex::encode);
    let cert = |der: &str| format!("\"cert\":\"{der}\"");
    let line = |set: &str, key: &str, message: &str| {
        let message = hex::encode(message);
        format!("{{\"set\":\"{set}\",{key},\"sig\":\"{signature}\",\"msg\":\"{message}\"}}\n")
    };
    let pk = format!("\"pk\":\"{pk}\"");
    let both = format!("{},{pk}", cert(&der));
    let answers = [
        (line("ML-DSA-44", &cert(&der), "message"), "\"valid\":true"),
        (
            line("ML-DSA-44", &cert(&der), "another"),
            "\"reason\":\"challenge_mismatch\"",
        ),
        (line("ML-DSA-44", &pk, "message"), "\"valid\":true"),
        (
            line("ML-DSA-65", &cert(&der), "message"),
            "of an ML-DSA-44 key",
        ),
        (line("ML-DSA-44", &both, "message"), "and \\\"pk"),
        (line("ML-DSA-44", &cert(&der[2..]), "message"), "malformed"),
        (
            line("ML-DSA-44", &cert(&foreign), "message"),
            "not an ML-DSA key",
        ),
        (line("ML-DSA-44", "\"ctx\":\"\"", "message"), "is missing"),
    ];
    let input: String = answers.iter().map(|(line, _)| line.as_str()).collect();
    let run = folder.run("batch-verify -", input.as_bytes());
    assert_eq!((run.code, run.lines().len()), (2, answers.len()));
    for (n, (line, (_, answer))) in run.lines().into_iter().zip(&answers).enumerate() {
        assert!(line.contains(answer), "{line}");
        assert_eq!(line.contains("error"), n > 2, "{line}");
    }
}

#[test]
fn other_certificates_are_rejected() {
    let folder = Folder::new("certificate-rejected");
    let (text, der) = published("ml-dsa-44");
    let (foreign, foreign_der) = published("ecdsa");
    let pem = |label: &str, der: &[u8]| {
        let ending = pem::LineEnding::LF;
        pem::encode_string(label, ending, der).unwrap().into_bytes()
    };
    let mut long = der.clone();
    long.push(0);
    // A certificate with another public key algorithm, of ML-DSA's arc but not assigned.
    let mut unassigned = der.clone();
    let oid = b"\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x11";
    let at = memchr::memmem::find(&der, oid).unwrap();
    unassigned[at + oid.len() - 1] = 0x7f;
    // A key of ML-DSA-44 that says that it is of ML-DSA-65.
    let mut mistaken = der.clone();
    mistaken[at + oid.len() - 1] = 0x12;
    let not_ml_dsa = "not an ML-DSA key";
    let malformed = "malformed, if it is a certificate";
    for (content, why) in [
        (foreign.clone().into_bytes(), not_ml_dsa),
        (foreign_der, not_ml_dsa),
        (unassigned, not_ml_dsa),
        (mistaken, "malformed public key"),
        (pem("CERTIFICATE", &long), malformed),
        (long, "not a key in"),
        (pem("CERTIFICATE", &der[..der.len() - 1]), malformed),
        (pem("PUBLIC KEY", &der), "malformed"),
        (
            pem("CERTIFICATE REQUEST", &der),
            "PEM of CERTIFICATE REQUEST",
        ),
        (pem("TRUSTED CERTIFICATE", &der), "openssl x509"),
        (format!("{text}{foreign}").into_bytes(), "more than one"),
        (format!("{text}{text}").into_bytes(), "more than one"),
        // SEQUENCE { SEQUENCE { [0] { INTEGER 2 } } }
        (
            b"\x30\x07\x30\x05\xa0\x03\x02\x01\x02".to_vec(),
            "openssl x509",
        ),
    ] {
        folder.put("file", &content);
        folder.unusable("inspect file", b"", why);
        folder.unusable("verify -k file -s file", b"", why);
    }
    let mut positions = (0..der.len()).step_by(61).collect::<Vec<_>>();
    positions.extend([1, 2, 3, 4, 5, der.len() - 1]);
    for end in positions {
        folder.put("file", &der[..end]);
        folder.unusable("inspect file", b"", "");
    }

    // One of version 1 has no version, and no extensions; these are not looked for.
    assert_eq!(&der[8..13], b"\xa0\x03\x02\x01\x02");
    let mut first = [&der[..8], &der[13..]].concat();
    for at in [2, 6] {
        let len = u16::from_be_bytes([der[at], der[at + 1]]) - 5;
        first[at..at + 2].copy_from_slice(&len.to_be_bytes());
    }
    folder.put("file", &first);
    let run = folder.good("inspect file");
    assert!(run.stdout.contains("kind:        certificate"));
}

/// Verifies an issued certificate with webpki: chain, name, dates and usages.
fn check_issued(folder: &Folder, name: &str, seconds: u64) -> Result<(), webpki::Error> {
    let read = |file| pem::decode_vec(&folder.get(file)).unwrap().1.into();
    let (root, leaf): (CertificateDer<'_>, CertificateDer<'_>) = (read("root"), read("leaf"));
    let anchor = webpki::anchor_from_trusted_cert(&root)?;
    let leaf = webpki::EndEntityCert::try_from(&leaf)?;
    let algorithms = [
        mldsa_rustls::ML_DSA_44,
        mldsa_rustls::ML_DSA_65,
        mldsa_rustls::ML_DSA_87,
    ];
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = UnixTime::since_unix_epoch(time.unwrap() + Duration::from_secs(seconds));
    for usage in [
        webpki::KeyUsage::server_auth(),
        webpki::KeyUsage::client_auth(),
    ] {
        let anchors = core::slice::from_ref(&anchor);
        leaf.verify_for_usage(&algorithms, anchors, &[], time, usage, None, None)?;
    }
    leaf.verify_is_valid_for_subject_name(&ServerName::try_from(name).unwrap())
}

#[test]
fn issued_certificates_and_requests() {
    let folder = Folder::new("certificate-issue");
    for (set, number) in [(Set::MlDsa44, 44), (Set::MlDsa65, 65), (Set::MlDsa87, 87)] {
        folder.good(&format!("keygen --set {number} --out key --force"));
        let issue = "certificate issue key --name localhost --days 2 --root root --out leaf";
        folder.good(&format!("{issue} --force"));
        check_issued(&folder, "localhost", 0).unwrap();
        let day = 86_400;
        check_issued(&folder, "localhost", day).unwrap();
        assert!(check_issued(&folder, "localhost", 3 * day).is_err());
        assert!(check_issued(&folder, "other", 0).is_err());
        let root = folder.get("root");
        folder.good(&format!("{issue} --force"));
        folder.put("root", &root);
        assert!(
            check_issued(&folder, "localhost", 0).is_err(),
            "another root"
        );
        let public = |file| folder.good(&format!("pubkey {file}")).stdout;
        assert_eq!(public("leaf"), public("key"));
        folder.unusable(issue, b"", "exists");

        let request = folder
            .good("certificate request key --name localhost")
            .stdout;
        let request = CertReq::from_der(&pem::decode_vec(request.as_bytes()).unwrap().1).unwrap();
        let key = AnyVerifyingKey::try_from(request.info.public_key.owned_to_ref()).unwrap();
        let signed = request.info.to_der().unwrap();
        let signature = request.signature.raw_bytes();
        assert_eq!(key.set(), set);
        assert_eq!(
            key.verify_with_context(&signed, Context::EMPTY, signature),
            Ok(())
        );
        assert_eq!(request.info.subject.to_string(), "CN=localhost");
        assert_eq!(request.algorithm, request.info.public_key.algorithm);
    }
    folder.good("pubkey key --out public");
    folder.unusable(
        "certificate request public --name localhost",
        b"",
        "a public key",
    );
    folder.unusable(
        "certificate request key --name a,O=b",
        b"",
        "not a DNS name",
    );
    let nobody = format!("certificate request key --name {}", "a".repeat(65));
    folder.unusable(&nobody, b"", "not a DNS name");
}
