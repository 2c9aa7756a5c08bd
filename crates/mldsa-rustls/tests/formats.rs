//! Keys and signatures outside of a handshake.

#[path = "../examples/tls/issue.rs"]
#[allow(dead_code, reason = "the example's")]
mod issue;

use issue::{Chain, Plan};
use mldsa_core::pkcs8::{EncodePublicKey, LineEnding};
use mldsa_core::{KeyError, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey};
use mldsa_rustls::with_mldsa;
use rustls::Error;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

type Key44 = SigningKey<MlDsa44>;

fn base() -> CryptoProvider {
    rustls_graviola::default_provider()
}

#[test]
fn code_points_and_identifiers() {
    let provider = with_mldsa(base());
    let schemes = provider
        .signature_verification_algorithms
        .supported_schemes();
    let codes: Vec<u16> = schemes[..3]
        .iter()
        .map(|scheme| u16::from(*scheme))
        .collect();
    assert_eq!(codes, [0x0904, 0x0905, 0x0906]);
    assert!(!provider.fips());
    for (algorithm, last) in [
        mldsa_rustls::ML_DSA_44,
        mldsa_rustls::ML_DSA_65,
        mldsa_rustls::ML_DSA_87,
    ]
    .into_iter()
    .zip([17, 18, 19])
    {
        let id = [6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, last];
        assert_eq!(algorithm.signature_alg_id().as_ref(), id);
        assert_eq!(algorithm.public_key_alg_id().as_ref(), id);
        assert!(!algorithm.fips());
    }
}

fn load(pkcs8: &[u8]) -> Result<Vec<u8>, Error> {
    let key = PrivateKeyDer::Pkcs8(pkcs8.to_vec().into());
    let key = with_mldsa(base()).key_provider.load_private_key(key)?;
    Ok(key.public_key().unwrap().to_vec())
}

fn forms<P: ParameterSet>() {
    let key = SigningKey::<P>::generate().unwrap();
    let public = key.verifying_key().to_public_key_der().unwrap();
    for form in [
        PrivateKeyForm::Seed,
        PrivateKeyForm::Expanded,
        PrivateKeyForm::Both,
    ] {
        let pem = key.to_pkcs8_pem_as(form, LineEnding::LF).unwrap();
        let read = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).unwrap();
        let der = read.secret_pkcs8_der();
        assert_eq!(load(der).unwrap(), public.as_bytes());
        // A damaged byte is an error or leaves a key.
        for at in (0..der.len()).step_by(97) {
            let mut bytes = der.to_vec();
            bytes[at] ^= 4;
            let _ = load(&bytes);
        }
        for cut in [der.len() - 1, 40, 25] {
            assert_eq!(load(&der[..cut]), refused(KeyError::Structure));
        }
    }
}

fn refused(why: KeyError) -> Result<Vec<u8>, Error> {
    Err(Error::General(why.to_string()))
}

#[test]
fn reasons_of_private_keys() {
    let key = Key44::from_seed(&[7; 32]);
    let der = key.to_pkcs8_der_as(PrivateKeyForm::Seed).unwrap();
    let der = der.as_bytes();
    // The outer length, and what follows the outer header.
    let with = |bytes: &[u8]| load(&[&[0x30, u8::try_from(bytes.len()).unwrap()], bytes].concat());
    let content = &der[2..];
    assert!(with(content).is_ok());
    let changed = |from: &[u8], to: &[u8]| {
        let at = content
            .windows(from.len())
            .position(|part| part == from)
            .unwrap();
        with(&[&content[..at], to, &content[at + from.len()..]].concat())
    };
    let after = |bytes: &[u8]| with(&[content, bytes].concat());
    let id = [6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17];
    let null = [&[0x30, 13], &id[..], &[5, 0]].concat();
    assert_eq!(
        changed(&[&[0x30, 11], &id[..]].concat(), &null),
        refused(KeyError::AlgorithmParameters)
    );
    assert_eq!(changed(&[0x80, 32], &[0x81, 32]), refused(KeyError::Form));
    assert_eq!(changed(&[2, 1, 0], &[2, 1, 1]), refused(KeyError::Version));
    // Attributes that are none, and a public key of nobody.
    assert_eq!(after(&[0xa0, 1, 0]), refused(KeyError::Attributes));
    assert_eq!(after(&[0x81, 2, 0, 0]), refused(KeyError::Version));
    assert_eq!(after(&[5, 0]), refused(KeyError::Structure));
    assert_eq!(load(&[der, &[0]].concat()), refused(KeyError::Structure));
    // Another algorithm's key goes to the base, which says so.
    let mut unknown = id;
    unknown[10] = 20;
    let key = PrivateKeyDer::Pkcs8(der.to_vec().into());
    let theirs = base().key_provider.load_private_key(key).map(|_| vec![]);
    assert_eq!(changed(&id, &unknown), theirs);
}

#[test]
fn three_forms_of_private_keys() {
    forms::<MlDsa44>();
    forms::<MlDsa65>();
    forms::<MlDsa87>();
}

#[test]
fn remembered_keys_take_less_than_stated() {
    fn bytes<P: ParameterSet>() -> usize {
        let key = SigningKey::<P>::from_seed(&[1; 32]);
        P::PK_LEN + key.verifying_key().prepare().memory_bytes()
    }
    let all = bytes::<MlDsa44>() + bytes::<MlDsa65>() + bytes::<MlDsa87>();
    assert!(32 * all < 4_200_000, "{all}");
}

#[test]
fn hostile_messages_never_pass() {
    let chain = Chain::new::<Key44, Key44>(&Plan::default()).unwrap();
    let certificate = &chain.chain[0];
    // The content, which the authority has signed, begins after the outer header.
    let content = &certificate[4..];
    let length = 4 + usize::from(u16::from_be_bytes([content[2], content[3]]));
    let (content, rest) = content.split_at(length);
    let signature = &rest[rest.len() - 2420..];
    let key = {
        let authority = &chain.chain[1];
        let at = authority
            .windows(4)
            .position(|bytes| bytes == [0x03, 0x82, 0x05, 0x21])
            .unwrap()
            + 5;
        &authority[at..at + 1312]
    };
    let verify = |key: &[u8], message: &[u8], signature: &[u8]| {
        mldsa_rustls::ML_DSA_44
            .verify_signature(key, message, signature)
            .is_ok()
    };
    for _ in 0..2 {
        assert!(verify(key, content, signature));
    }
    for at in 0..content.len() {
        let mut changed = content.to_vec();
        changed[at] ^= 1 << (at % 8);
        assert!(!verify(key, &changed, signature));
        if at % 16 == 0 {
            assert!(!verify(key, &content[..at], signature));
        }
    }
    for length in [0, 1, 1311, 1313, 1952, 2592, 100_000] {
        assert!(!verify(&vec![0x30; length], content, signature));
        assert!(!verify(key, content, &vec![0; length]));
        assert!(!verify(key, &vec![0x30; length], signature));
    }
}
