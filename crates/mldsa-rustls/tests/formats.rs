//! Keys and signatures outside of a handshake.

#[path = "../examples/tls/issue.rs"]
#[allow(dead_code, reason = "the tests share it")]
mod issue;

use issue::{Chain, Plan};
use mldsa_core::pkcs8::LineEnding;
use mldsa_core::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey};
use mldsa_rustls::with_mldsa;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

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

fn forms<P: ParameterSet>() {
    let provider = with_mldsa(base());
    let key = SigningKey::<P>::generate().unwrap();
    let public = || {
        let key = PrivateKeyDer::Pkcs8(
            key.to_pkcs8_der_as(PrivateKeyForm::Seed)
                .unwrap()
                .as_bytes()
                .to_vec()
                .into(),
        );
        let key = provider.key_provider.load_private_key(key).unwrap();
        key.public_key().unwrap().to_vec()
    };
    for form in [
        PrivateKeyForm::Seed,
        PrivateKeyForm::Expanded,
        PrivateKeyForm::Both,
    ] {
        let pem = key.to_pkcs8_pem_as(form, LineEnding::LF).unwrap();
        let read = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
        let loaded = provider.key_provider.load_private_key(read).unwrap();
        assert_eq!(loaded.public_key().unwrap().to_vec(), public());
        // Every damaged byte is an error or leaves a key; it never reaches the base.
        let der = key.to_pkcs8_der_as(form).unwrap();
        for at in (0..der.as_bytes().len()).step_by(97) {
            let mut bytes = der.as_bytes().to_vec();
            bytes[at] ^= 4;
            let _ = provider
                .key_provider
                .load_private_key(PrivateKeyDer::Pkcs8(bytes.into()));
        }
        let cut = der.as_bytes()[..der.as_bytes().len() - 1].to_vec();
        assert!(
            provider
                .key_provider
                .load_private_key(PrivateKeyDer::Pkcs8(cut.into()))
                .is_err()
        );
    }
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
