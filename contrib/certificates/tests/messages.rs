//! JWS and COSE_Sign1 with ML-DSA (RFC 9964): which bytes are signed, with the field's crates around them.

use base64ct::{Base64UrlUnpadded as Base64, Encoding};
use coset::{
    CborSerializable, CoseSign1, CoseSign1Builder, HeaderBuilder, KeyType, Label, iana,
    iana::EnumI64,
};
use mldsa_core::{AnySigningKey, AnyVerifyingKey, Context, Set, VerifyError};

fn key(set: Set) -> AnySigningKey {
    AnySigningKey::generate(set).unwrap()
}

fn verify(key: &AnyVerifyingKey, message: &[u8], signature: &[u8]) -> Result<(), VerifyError> {
    key.verify_with_context(message, Context::EMPTY, signature)
}

/// A compact JWS: the signature covers the ASCII bytes `header.payload`.
#[test]
fn jws() {
    for set in Set::ALL {
        let key = key(set);
        let header = format!(r#"{{"alg":"{}"}}"#, set.name());
        let part = |bytes: &[u8]| Base64::encode_string(bytes);
        let signed = format!(
            "{}.{}",
            part(header.as_bytes()),
            part(br#"{"sub":"someone"}"#)
        );
        let signature = key.sign_hedged(signed.as_bytes(), Context::EMPTY).unwrap();
        let token = format!("{signed}.{}", part(&signature));
        // The other side: the algorithm is that of the key, not the one that the token asks for.
        let public = key.verifying_key();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let header = Base64::decode_vec(signed.split_once('.').unwrap().0).unwrap();
        let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header["alg"], public.set().name());
        let signature = Base64::decode_vec(signature).unwrap();
        verify(&public, signed.as_bytes(), &signature).unwrap();
        assert!(verify(&public, &signed.as_bytes()[1..], &signature).is_err());
    }
}

fn algorithm(set: Set) -> iana::Algorithm {
    match set {
        Set::MlDsa44 => iana::Algorithm::ML_DSA_44,
        Set::MlDsa65 => iana::Algorithm::ML_DSA_65,
        Set::MlDsa87 => iana::Algorithm::ML_DSA_87,
    }
}

/// COSE_Sign1, and a private key of type AKP, whose `priv` is the seed: what an authenticator stores.
#[test]
fn cose() {
    for (set, number) in Set::ALL.into_iter().zip([-48, -49, -50]) {
        let key = key(set);
        let header = HeaderBuilder::new().algorithm(algorithm(set)).build();
        let message = CoseSign1Builder::new()
            .protected(header)
            .payload(b"payload".to_vec())
            .create_signature(b"external", |bytes| {
                key.sign_hedged(bytes, Context::EMPTY).unwrap()
            })
            .build();
        let bytes = message.to_vec().unwrap();
        let public = key.verifying_key();
        let read = CoseSign1::from_slice(&bytes).unwrap();
        assert_eq!(
            read.protected.header.alg,
            Some(coset::Algorithm::Assigned(algorithm(set)))
        );
        let check = |external: &[u8]| {
            read.verify_signature(external, |signature, data| verify(&public, data, signature))
        };
        check(b"external").unwrap();
        assert_eq!(check(b"other"), Err(VerifyError::ChallengeMismatch));
        // {1: 7, 3: alg, -1: pub, -2: priv}.
        let parameter = |label, bytes: &[u8]| (Label::Int(label), coset::cbor::Value::from(bytes));
        let stored = coset::CoseKey {
            kty: KeyType::Assigned(iana::KeyType::AKP),
            alg: Some(coset::Algorithm::Assigned(
                iana::Algorithm::from_i64(number).unwrap(),
            )),
            params: vec![
                parameter(-1, public.as_ref()),
                parameter(-2, key.seed().unwrap()),
            ],
            ..Default::default()
        };
        let stored = coset::CoseKey::from_slice(&stored.to_vec().unwrap()).unwrap();
        assert_eq!(stored.kty, KeyType::Assigned(iana::KeyType::AKP));
        let seed = stored
            .params
            .iter()
            .find(|(label, _)| *label == Label::Int(-2))
            .unwrap();
        let seed: [u8; 32] = seed.1.as_bytes().unwrap()[..].try_into().unwrap();
        assert_eq!(AnySigningKey::from_seed(set, &seed).verifying_key(), public);
    }
}
