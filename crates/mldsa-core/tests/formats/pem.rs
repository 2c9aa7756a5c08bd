//! PEM: the table of texts that all interfaces share, and every damage of a text.

use base64ct::{Base64, Encoding};
use mldsa_core::{AnySigningKey, AnyVerifyingKey, MlDsa44, PemError, SigningKey, VerifyingKey};

use crate::key;
use crate::pem_table::cases;

/// The table's word for a result.
fn word(error: &PemError) -> String {
    match error {
        PemError::Missing => "missing".into(),
        PemError::Several { line } => format!("several {line}"),
        PemError::Boundary { line } => format!("boundary {line}"),
        PemError::Label { found, .. } => format!("label {found}"),
        PemError::End => "end".into(),
        PemError::EndLabel { line } => format!("end-label {line}"),
        PemError::Headers => "headers".into(),
        PemError::Base64 { line, column } => format!("base64 {line}:{column}"),
        PemError::Padding => "padding".into(),
        PemError::Content(_) => "content".into(),
    }
}

fn private(text: &[u8]) -> Result<(), PemError> {
    let found = SigningKey::<MlDsa44>::from_pkcs8_pem(text);
    let any = AnySigningKey::from_pkcs8_pem(text);
    assert_eq!(
        any.map(|any| any == key::<MlDsa44>().into()),
        found.as_ref().map(|_| true).map_err(Clone::clone)
    );
    if let Ok(text) = core::str::from_utf8(text) {
        assert_eq!(SigningKey::from_pkcs8_pem(text), found);
    }
    assert_eq!(found?, key());
    Ok(())
}

fn public(text: &[u8]) -> Result<(), PemError> {
    let found = VerifyingKey::<MlDsa44>::from_public_key_pem(text);
    let any = AnyVerifyingKey::from_public_key_pem(text);
    assert_eq!(any, found.clone().map(AnyVerifyingKey::from));
    if let Ok(text) = core::str::from_utf8(text) {
        assert_eq!(VerifyingKey::from_public_key_pem(text), found);
    }
    assert_eq!(&found?, key().verifying_key());
    Ok(())
}

#[test]
fn every_text_of_the_table_has_its_result() {
    let cases = cases();
    assert!(cases.len() >= 125, "{}", cases.len());
    for case in &cases {
        let found = if case.public {
            public(&case.text)
        } else {
            private(&case.text)
        };
        let found = found.map_or_else(|error| word(&error), |()| "key".into());
        assert_eq!(found, case.result, "{}", case.name);
    }
}

/// A text that is cut, or has one other byte, gives the key, another key or an error.
#[test]
fn damaged_texts_are_rejected_or_harmless() {
    for case in cases().iter().filter(|case| case.text.len() < 300) {
        for at in 0..case.text.len() {
            let _ = SigningKey::<MlDsa44>::from_pkcs8_pem(&case.text[..at]);
            for byte in *b"\0\n\r -=A:\xef\xff" {
                let mut text = case.text.clone();
                text[at] = byte;
                let _ = SigningKey::<MlDsa44>::from_pkcs8_pem(&text);
                text.insert(at, byte);
                let _ = VerifyingKey::<MlDsa44>::from_public_key_pem(&text);
            }
        }
    }
}

/// Errors say what is wrong, with the label that was found, and never repeat the content.
#[test]
fn errors_name_the_fault() {
    let text = |label: &str, body: &str| {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    };
    let error = |text: &str| {
        SigningKey::<MlDsa44>::from_pkcs8_pem(text)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(&text("RSA PRIVATE KEY", "MAA=")),
        "PEM of RSA PRIVATE KEY, not of PRIVATE KEY"
    );
    let long = error(&text(&"L".repeat(100_000), "MAA="));
    assert_eq!(
        long,
        format!("PEM of {}, not of PRIVATE KEY", "L".repeat(64))
    );
    let bad = error(&text("PRIVATE KEY", "MDQC*QAw"));
    assert_eq!(bad, "PEM with a bad base64 character in line 2, column 5");
    // The structure of RFC 9881 with an algorithm and nothing else, as far as it is read.
    let of_set = |last| {
        let oid = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, last];
        let algorithm = [&[0x30, 11, 6, 9][..], &oid].concat();
        let der = [&[0x30, 18, 2, 1, 0][..], &algorithm, &[4, 0]].concat();
        error(&text("PRIVATE KEY", &Base64::encode_string(&der)))
    };
    assert_eq!(
        of_set(17),
        "PEM: private key in none of the three forms of RFC 9881"
    );
    assert_eq!(of_set(18), "PEM: key of another parameter set");
    assert_eq!(of_set(20), "PEM: not a parameter set of ML-DSA");
}
