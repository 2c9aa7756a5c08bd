//! The keys and certificates that RFC 9881 publishes, from the folder that the
//! environment variable `MLDSA_VECTORS` names.

use std::path::Path;

use mldsa_core::internals::PrivateKeyChoice;
use mldsa_core::pkcs8::der::asn1::BitStringRef;
use mldsa_core::pkcs8::der::{Decode, Reader, SliceReader, pem};
use mldsa_core::pkcs8::{AlgorithmIdentifierRef, EncodePublicKey, LineEnding, PrivateKeyInfoRef};
use mldsa_core::spki::SignatureAlgorithmIdentifier;
use mldsa_core::{
    Context, KeyError, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey,
    VerifyingKey,
};
use mldsa_kat::vectors::{folder, text};

fn keys<P: ParameterSet>(folder: &Path) {
    let read = |name: &str| text(&folder.join(format!("lamps/{}{name}", P::NAME)));
    let seed = core::array::from_fn(|n| n as u8);
    let expected = SigningKey::<P>::from_seed(&seed);
    for (form, name) in [
        (PrivateKeyForm::Seed, "-seed.priv"),
        (PrivateKeyForm::Expanded, "-expanded.priv"),
        (PrivateKeyForm::Both, "-both.priv"),
    ] {
        let text = read(name);
        let key = SigningKey::<P>::from_pkcs8_pem(&text).expect("a good key");
        assert_eq!(key, expected);
        // The written file is the published one.
        let written = expected
            .to_pkcs8_pem_as(form, LineEnding::LF)
            .expect("writes");
        assert_eq!(written.trim_end(), text.trim_end());
    }
    let text = read(".pub");
    let key = VerifyingKey::<P>::from_public_key_pem(&text).expect("a good key");
    assert_eq!(&key, expected.verifying_key());
    let written = key.to_public_key_pem(LineEnding::LF).expect("writes");
    assert_eq!(written.trim_end(), text.trim_end());
    certificate::<P>(&read(".crt"), expected.verifying_key());
}

/// A self-signed certificate: signed part, algorithm, signature.
fn certificate<P: ParameterSet>(text: &str, key: &VerifyingKey<P>) {
    let (label, der) = pem::decode_vec(text.as_bytes()).expect("PEM");
    assert_eq!(label, "CERTIFICATE");
    let mut reader = SliceReader::new(&der).expect("short");
    let (signed, algorithm, signature) = reader
        .sequence(|reader| {
            let signed = reader.tlv_bytes()?;
            let algorithm = AlgorithmIdentifierRef::decode(reader)?;
            Ok::<_, mldsa_core::pkcs8::der::Error>((
                signed,
                algorithm,
                BitStringRef::decode(reader)?,
            ))
        })
        .expect("a certificate");
    assert_eq!(
        algorithm.oid,
        VerifyingKey::<P>::SIGNATURE_ALGORITHM_IDENTIFIER.oid
    );
    assert!(algorithm.parameters.is_none());
    let signature = signature.as_bytes().expect("whole bytes");
    assert_eq!(
        key.verify_with_context(signed, Context::EMPTY, signature),
        Ok(())
    );
    assert!(
        key.verify_with_context(&signed[1..], Context::EMPTY, signature)
            .is_err()
    );
    let spki = key.to_public_key_der().expect("writes");
    let spki = spki.as_bytes();
    assert!(signed.windows(spki.len()).any(|window| window == spki));
}

#[test]
fn keys_and_certificates() {
    if let Some(folder) = folder("keys and certificates of RFC 9881") {
        keys::<MlDsa44>(&folder);
        keys::<MlDsa65>(&folder);
        keys::<MlDsa87>(&folder);
    }
}

#[test]
fn inconsistent_keys_are_rejected() {
    let Some(folder) = folder("bad keys of RFC 9881") else {
        return;
    };
    for n in 1..=3 {
        let text = text(&folder.join(format!("lamps/bad-ML-DSA-44-{n}.priv")));
        assert!(SigningKey::<MlDsa44>::from_pkcs8_pem(&text).is_err());
        let (_, der) = pem::decode_vec(text.as_bytes()).expect("PEM");
        let info = PrivateKeyInfoRef::try_from(&der[..]).expect("well-formed");
        let choice = PrivateKeyChoice::from_der(info.private_key.as_bytes()).expect("well-formed");
        let error = choice.signing_key::<MlDsa44>().map(|_| ());
        assert_eq!(error, Err(KeyError::Inconsistent), "{n}");
    }
}
