//! JWS and COSE_Sign1 (RFC 9964) and CMS SignedData (RFC 9882) with ML-DSA: which bytes are signed, with the field's
//! crates around them. No other implementation checks the CMS message.

use base64ct::{Base64UrlUnpadded as Base64, Encoding};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use coset::{
    CborSerializable, CoseSign1, CoseSign1Builder, HeaderBuilder, KeyType, Label, iana,
    iana::EnumI64,
};
use mldsa_core::{AnySigningKey, AnyVerifyingKey, Context, Set, VerifyError};
use sha2::{Digest, Sha512};
use x509_cert::attr::Attribute;
use x509_cert::der::asn1::{Any, ObjectIdentifier, OctetString, SetOfVec};
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectKeyIdentifier;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfo};

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

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SHA_512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");

fn algorithm_of(key: &AnyVerifyingKey) -> AlgorithmIdentifierOwned {
    SubjectPublicKeyInfo::from_key(key).unwrap().algorithm
}

fn octets(bytes: &[u8]) -> OctetString {
    OctetString::new(bytes).unwrap()
}

/// Makes the signed attributes of a content, the type and the digest. Their DER as a SET is what is signed.
fn attributes(content: &[u8]) -> SetOfVec<Attribute> {
    let attribute = |oid, value: Any| Attribute {
        oid,
        values: vec![value].try_into().unwrap(),
    };
    let digest = octets(&Sha512::digest(content));
    let list = vec![
        attribute(CONTENT_TYPE, Any::encode_from(&DATA).unwrap()),
        attribute(MESSAGE_DIGEST, Any::encode_from(&digest).unwrap()),
    ];
    list.try_into().unwrap()
}

fn sign_cms(key: &AnySigningKey, content: &[u8]) -> Vec<u8> {
    let signed_attrs = attributes(content);
    let signed = signed_attrs.to_der().unwrap();
    let digest_alg = AlgorithmIdentifierOwned {
        oid: SHA_512,
        parameters: None,
    };
    let info = SignerInfo {
        version: CmsVersion::V3,
        sid: SignerIdentifier::SubjectKeyIdentifier(SubjectKeyIdentifier(octets(b"key 1"))),
        digest_alg: digest_alg.clone(),
        signed_attrs: Some(signed_attrs),
        signature_algorithm: algorithm_of(&key.verifying_key()),
        signature: octets(&key.sign_hedged(&signed, Context::EMPTY).unwrap()),
        unsigned_attrs: None,
    };
    let data = SignedData {
        version: CmsVersion::V3,
        digest_algorithms: vec![digest_alg].try_into().unwrap(),
        encap_content_info: EncapsulatedContentInfo {
            econtent_type: DATA,
            econtent: Some(Any::encode_from(&octets(content)).unwrap()),
        },
        certificates: None,
        crls: None,
        signer_infos: SignerInfos::try_from(vec![info]).unwrap(),
    };
    let message = ContentInfo {
        content_type: SIGNED_DATA,
        content: Any::encode_from(&data).unwrap(),
    };
    message.to_der().unwrap()
}

/// Returns the content of a message with one signer and no other attributes, if `key` has signed it.
fn verify_cms(key: &AnyVerifyingKey, message: &[u8]) -> Option<Vec<u8>> {
    let message = ContentInfo::from_der(message).ok()?;
    let data: SignedData = message.content.decode_as().ok()?;
    let [info] = data.signer_infos.0.as_slice() else {
        return None;
    };
    let content: OctetString = data.encap_content_info.econtent?.decode_as().ok()?;
    let signed = attributes(content.as_bytes());
    let accepted = message.content_type == SIGNED_DATA
        && data.encap_content_info.econtent_type == DATA
        && info.digest_alg.oid == SHA_512
        && info.signature_algorithm == algorithm_of(key)
        && info.signed_attrs.as_ref() == Some(&signed);
    verify(key, &signed.to_der().ok()?, info.signature.as_bytes()).ok()?;
    accepted.then(|| content.into_bytes().into_vec())
}

#[test]
fn cms() {
    for set in Set::ALL {
        let (one, other) = (key(set), key(set));
        let message = sign_cms(&one, b"content");
        let public = one.verifying_key();
        assert_eq!(verify_cms(&public, &message).unwrap(), b"content");
        assert!(verify_cms(&other.verifying_key(), &message).is_none());
        for at in 0..message.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            if let Some(content) = verify_cms(&public, &changed) {
                // The name of the key, for one, is not signed.
                assert_eq!(content, b"content", "{at}");
            }
        }
    }
}
