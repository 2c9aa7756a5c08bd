//! The keys and certificates that RFC 9881 publishes, from the folder that the
//! environment variable `MLDSA_VECTORS` names.

use std::path::PathBuf;
use std::{env, fs};

use mldsa_core::internals::PrivateKeyChoice;
use mldsa_core::pkcs8::der::asn1::BitStringRef;
use mldsa_core::pkcs8::der::{Decode, Reader, SliceReader, pem};
use mldsa_core::pkcs8::{
    AlgorithmIdentifierRef, DecodePrivateKey, DecodePublicKey, EncodePublicKey, LineEnding,
    PrivateKeyInfoRef,
};
use mldsa_core::spki::SignatureAlgorithmIdentifier;
use mldsa_core::{
    Context, KeyError, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey,
    VerifyingKey,
};

fn folder() -> Option<PathBuf> {
    let folder = env::var_os("MLDSA_VECTORS").map(|root| PathBuf::from(root).join("lamps"));
    if folder.is_none() {
        println!("not run: MLDSA_VECTORS unset");
    }
    folder
}

fn read(name: &str) -> Option<String> {
    Some(fs::read_to_string(folder()?.join(name)).expect("a published example"))
}

fn keys<P: ParameterSet>() -> usize {
    let seed = core::array::from_fn(|n| n as u8);
    let expected = SigningKey::<P>::from_seed(&seed);
    let mut read_files = 0;
    for (form, name) in [
        (PrivateKeyForm::Seed, "seed"),
        (PrivateKeyForm::Expanded, "expanded"),
        (PrivateKeyForm::Both, "both"),
    ] {
        let Some(text) = read(&format!("{}-{name}.priv", P::NAME)) else {
            continue;
        };
        let key = SigningKey::<P>::from_pkcs8_pem(&text).expect("a good key");
        assert_eq!(key, expected);
        // The written file is the published one.
        let written = expected
            .to_pkcs8_pem_as(form, LineEnding::LF)
            .expect("writes");
        assert_eq!(written.trim_end(), text.trim_end());
        read_files += 1;
    }
    if let Some(text) = read(&format!("{}.pub", P::NAME)) {
        let key = VerifyingKey::<P>::from_public_key_pem(&text).expect("a good key");
        assert_eq!(&key, expected.verifying_key());
        let written = key.to_public_key_pem(LineEnding::LF).expect("writes");
        assert_eq!(written.trim_end(), text.trim_end());
        read_files += 1;
    }
    if let Some(text) = read(&format!("{}.crt", P::NAME)) {
        certificate::<P>(&text, expected.verifying_key());
        read_files += 1;
    }
    read_files
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
    assert_eq!(key.verify(signed, Context::EMPTY, signature), Ok(()));
    assert!(key.verify(&signed[1..], Context::EMPTY, signature).is_err());
    let spki = key.to_public_key_der().expect("writes");
    let spki = spki.as_bytes();
    assert!(signed.windows(spki.len()).any(|window| window == spki));
}

#[test]
fn keys_and_certificates() {
    let read_files = keys::<MlDsa44>() + keys::<MlDsa65>() + keys::<MlDsa87>();
    assert_eq!(read_files, if folder().is_some() { 15 } else { 0 });
}

#[test]
fn inconsistent_keys_are_rejected() {
    let mut rejected = 0;
    for n in 1..=3 {
        let Some(text) = read(&format!("bad-ML-DSA-44-{n}.priv")) else {
            continue;
        };
        assert!(SigningKey::<MlDsa44>::from_pkcs8_pem(&text).is_err());
        let (_, der) = pem::decode_vec(text.as_bytes()).expect("PEM");
        let info = PrivateKeyInfoRef::try_from(&der[..]).expect("well-formed");
        let choice = PrivateKeyChoice::from_der(info.private_key.as_bytes()).expect("well-formed");
        let error = choice.signing_key::<MlDsa44>().map(|_| ());
        assert_eq!(error, Err(KeyError::Inconsistent), "{n}");
        rejected += 1;
    }
    assert_eq!(rejected, if folder().is_some() { 3 } else { 0 });
}
